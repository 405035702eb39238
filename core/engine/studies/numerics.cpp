#include "core/engine/studies/numerics.h"

#include "core/engine/common/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>

namespace tilescope::engine {
namespace {

// LibTorch rejects deterministic matrix products unless this variable sets cuBLAS's workspace to one of two
// sizes.
constexpr const char* kCublasWorkspace = "CUBLAS_WORKSPACE_CONFIG";

} // namespace

Numerics::Numerics(const ExperimentSpec& spec, const Device& device, int defaultThreads)
    : defaultThreads_(defaultThreads), deterministic_(spec.deterministic)
{
    auto& context = at::globalContext();
    const bool tf32 = spec.precision == Precision::Tf32;
    context.setAllowTF32CuBLAS(tf32);
    context.setAllowTF32CuDNN(tf32);
    if (deterministic_) {
        if (device.isCuda() && std::getenv(kCublasWorkspace) == nullptr) {
            workspaceSet_ = true;
            setenv(kCublasWorkspace, ":4096:8", 1);
        }
        context.setDeterministicAlgorithms(true, false);
        context.setDeterministicCuDNN(true);
        // Filling new memory is a debugging aid that costs one kernel per allocation.
        context.setDeterministicFillUninitializedMemory(false);
    }
    const int threads = spec.threads.value_or(defaultThreads_);
    if (threads != at::get_num_threads())
        at::set_num_threads(threads);
}

Numerics::~Numerics()
{
    auto& context = at::globalContext();
    context.setAllowTF32CuBLAS(false);
    context.setAllowTF32CuDNN(false);
    if (deterministic_) {
        context.setDeterministicAlgorithms(false, false);
        context.setDeterministicCuDNN(false);
        context.setDeterministicFillUninitializedMemory(true);
    }
    if (workspaceSet_)
        unsetenv(kCublasWorkspace);
    if (at::get_num_threads() != defaultThreads_)
        at::set_num_threads(defaultThreads_);
}

} // namespace tilescope::engine
