// Preloaded into engines: makes the rank on GPU 1 late by LATE_US microseconds at the beginning of each forward pass, which
// starts with an embedding. Compiled on the machine with the GPUs against its LibTorch.
#include <ATen/ops/embedding_ops.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>

namespace at::_ops {

at::Tensor embedding::call(const at::Tensor& weight, const at::Tensor& indices, c10::SymInt padding,
                           bool scale, bool sparse)
{
    using Clock = std::chrono::steady_clock;
    using Call = at::Tensor (*)(const at::Tensor&, const at::Tensor&, c10::SymInt, bool, bool);
    int device = 0;
    if (const char* late = std::getenv("LATE_US");
        late && cudaGetDevice(&device) == cudaSuccess && device == 1) {
        const Clock::time_point until = Clock::now() + std::chrono::microseconds(std::atol(late));
        while (Clock::now() < until) {
        }
    }
    static const auto next = reinterpret_cast<Call>(
        dlsym(RTLD_NEXT, "_ZN2at4_ops9embedding4callERKNS_6TensorES4_N3c106SymIntEbb"));
    return next(weight, indices, std::move(padding), scale, sparse);
}

} // namespace at::_ops
