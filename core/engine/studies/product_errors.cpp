#include "core/engine/common/device.h"
#include "core/engine/common/inspection.h"
#include "core/engine/lm/fp8_product.h"
#include "core/engine/lm/lm.h"
#include "core/engine/lm/split_product.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/util/StringUtil.h>

#include <array>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr std::int64_t kWidth = 128; ///< rows and columns of the product
constexpr std::array<std::int64_t, 3> kTerms{64, 1024, 16'384};

/// A distribution of the factors' elements.
struct Distribution {
    const char* name;
    Tensor (*draw)(at::IntArrayRef sizes, at::Generator source);
};

Tensor normal(at::IntArrayRef sizes, at::Generator source)
{
    return at::empty(sizes, at::kFloat).normal_(0, 1, source);
}

/// All terms of a sum have one sign, so that nothing cancels.
Tensor positive(at::IntArrayRef sizes, at::Generator source)
{
    return at::empty(sizes, at::kFloat).uniform_(0, 1, source);
}

/// Magnitudes from 2^-20 to 2^20, all equally frequent.
Tensor wide(at::IntArrayRef sizes, at::Generator source)
{
    constexpr double kLargest = 20;
    const Tensor magnitude = at::exp2(at::empty(sizes, at::kFloat).uniform_(-kLargest, kLargest, source));
    return at::mul(magnitude, at::sign(normal(sizes, source)));
}

constexpr std::array kDistributions{Distribution{"normal", normal}, Distribution{"positive", positive},
                                    Distribution{"wide", wide}};

Tensor inTf32(const Tensor& a, const Tensor& b)
{
    auto& context = at::globalContext();
    context.setAllowTF32CuBLAS(true);
    Tensor product = at::mm(a, b);
    context.setAllowTF32CuBLAS(false);
    return product;
}

Tensor inBf16(const Tensor& a, const Tensor& b)
{
    return at::mm(a.to(at::kBFloat16), b.to(at::kBFloat16));
}

enum class Needs { Nothing, Gpu, E4m3 };

struct Product {
    const char* precision;
    Tensor (*compute)(const Tensor& a, const Tensor& b);
    Needs needs;
};

Tensor inFp32(const Tensor& a, const Tensor& b)
{
    return at::mm(a, b);
}

QuantizedWeight asWeight(const Tensor& b)
{
    return QuantizedWeight(b.t().contiguous().t());
}

/// One scale per row of the left factor, one for the right factor, as in precision: fp8.
Tensor inFp8(const Tensor& a, const Tensor& b)
{
    return fp8Product(quantizedRows(a), asWeight(b));
}

/// Like inFp8(), but with the sums of input gradients.
Tensor inFp8AsGradient(const Tensor& a, const Tensor& b)
{
    return fp8InputGradient(quantizedRows(a), QuantizedWeight(b.t()));
}

/// One scale per factor.
Tensor inFp8ByMatrix(const Tensor& a, const Tensor& b)
{
    const QuantizedWeight left = asWeight(a.t());
    const Tensor scales = left.scales.narrow(0, 0, 1).expand({a.size(0)}).contiguous().view({a.size(0), 1});
    return fp8Product({left.values, scales}, asWeight(b));
}

constexpr std::array kProducts{Product{"fp32", inFp32, Needs::Nothing},
                               Product{"fp32x6", splitMm, Needs::Nothing},
                               Product{"tf32", inTf32, Needs::Gpu},
                               Product{"bf16", inBf16, Needs::Nothing},
                               Product{"fp8", inFp8, Needs::E4m3},
                               Product{"fp8_gradient", inFp8AsGradient, Needs::E4m3},
                               Product{"fp8_by_matrix", inFp8ByMatrix, Needs::E4m3}};

bool has(const Device& device, Needs needs)
{
    if (needs == Needs::Gpu)
        return device.isCuda();
    if (needs == Needs::Nothing || !device.isCuda())
        return true; // a CPU computes with any factors
    const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(device.torch().index());
    return multipliesE4m3(gpu.major, gpu.minor);
}

} // namespace

std::vector<EnvironmentEntry> inspectProducts(const Device& device, std::int64_t seed)
{
    const at::NoGradGuard noGrad;
    at::Generator source = *weightSource(at::Device(at::kCPU), seed); // the same numbers on all devices
    std::vector<EnvironmentEntry> facts;
    for (const Distribution& distribution : kDistributions)
        for (const std::int64_t terms : kTerms) {
            const Tensor a = distribution.draw({kWidth, terms}, source).to(device.torch());
            const Tensor b = distribution.draw({terms, kWidth}, source).to(device.torch());
            const Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
            const Tensor absolute = at::mm(a.to(at::kDouble).abs(), b.to(at::kDouble).abs());
            for (const Product& product : kProducts) {
                if (!has(device, product.needs))
                    continue;
                const Tensor error = at::div(product.compute(a, b).to(at::kDouble) - exact, absolute);
                facts.push_back(
                    {c10::str("result.product.", distribution.name, ".", terms, ".", product.precision),
                     threeDigits(error.square().mean().sqrt().item<double>())});
            }
        }
    return facts;
}

} // namespace tilescope::engine
