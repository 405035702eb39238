#include "core/engine/attention/attention.h"
#include "core/engine/common/failure.h"
#include "core/model/attention_backend.h"
#include "kernels/include/kernel_set.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/util/StringUtil.h>

namespace tilescope::engine {
namespace {

// tilescope::attention_fp8: rounds q, k and v to E4M3 and multiplies the rounded values.
class Fp8Attention final : public AttentionBackend {
public:
    Fp8Attention(const AttentionSpec& spec, const c10::OperatorHandle& op) : spec_(spec), op_(op) {}

    at::Tensor apply(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override
    {
        torch::jit::Stack stack{q, k, v, spec_.causal, spec_.scale};
        op_.callBoxed(stack);
        return std::move(stack.front()).toTensor();
    }

private:
    AttentionSpec spec_;
    c10::OperatorHandle op_;
};

void requireDevice(const at::Device& device)
{
    if (!device.is_cuda())
        throw Unsupported{"flash-fp8 is a CUDA kernel and this point runs on the CPU"};
    const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(device.index());
    if (gpu.major != 9)
        throw Unsupported{c10::str("flash-fp8 needs a GPU of compute capability 9.0; ", gpu.name, " has ",
                                   gpu.major, ".", gpu.minor)};
    if (!kernels::hasFp8AttentionKernel())
        throw Unsupported{"this program was built without the kernel of flash-fp8"};
}

} // namespace

std::unique_ptr<AttentionBackend> makeFp8Attention(const AttentionSpec& spec, const at::TensorOptions& inputs)
{
    requireDevice(inputs.device());
    if (inputs.dtype() != at::kBFloat16)
        throw Unsupported{"flash-fp8 takes bf16 inputs and this point has another precision"};
    const HeadDims& headDims = traitsOf(Backend::FlashFp8).headDims;
    if (!headDims.take(spec.headDim, true))
        throw Unsupported{
            c10::str("flash-fp8 supports head dims 64 and 128 and this point has ", spec.headDim)};
    if (spec.needsGrad)
        throw Unsupported{"flash-fp8 has no backward and this point keeps a graph"};
    const auto op = c10::Dispatcher::singleton().findSchema({"tilescope::attention_fp8", ""});
    if (!op)
        throw Unsupported{"this program was built without Tilescope's attention kernels"};
    return std::make_unique<Fp8Attention>(spec, *op);
}

} // namespace tilescope::engine
