#include "core/engine/studies/ceilings.h"

#include "core/engine/attention/attention.h"
#include "core/engine/common/device.h"
#include "core/engine/common/failure.h"
#include "core/engine/lm/fp8_product.h"
#include "core/engine/studies/stopwatch.h"
#include "core/model/calibration.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr int kSamples = 9;

struct Rate {
    double perSecond = 0;
    double spread = 0;
};

/// How many times per second `work` runs back to back.
Rate rateOf(const Device& device, const std::function<void()>& work)
{
    std::vector<double> rates;
    for (const double seconds : Stopwatch(device).secondsPerCall(work, kSamples).seconds)
        rates.push_back(1 / seconds);
    std::sort(rates.begin(), rates.end());
    const double mean = std::accumulate(rates.begin(), rates.end(), 0.0) / kSamples;
    double squares = 0;
    for (const double rate : rates)
        squares += (rate - mean) * (rate - mean);
    return {rates[kSamples / 2], std::sqrt(squares / (kSamples - 1))};
}

/// Allows TF32 in fp32 products for a scope.
class Tf32Scope {
public:
    explicit Tf32Scope(bool allowed) : before_(at::globalContext().allowTF32CuBLAS())
    {
        at::globalContext().setAllowTF32CuBLAS(allowed);
    }
    ~Tf32Scope() { at::globalContext().setAllowTF32CuBLAS(before_); }
    Tf32Scope(const Tf32Scope&) = delete;
    Tf32Scope& operator=(const Tf32Scope&) = delete;

private:
    bool before_;
};

Ceiling ceilingOf(std::string kind, const Rate& rate, double amount, std::string unit)
{
    Ceiling ceiling;
    ceiling.kind = std::move(kind);
    ceiling.value = rate.perSecond * amount;
    ceiling.unit = std::move(unit);
    ceiling.n = kSamples;
    ceiling.spread = rate.spread * amount;
    return ceiling;
}

/// Random values: products of zeros draw less power and run at higher clocks than real ones.
Ceiling matmul(const Device& device, const std::string& kind, at::ScalarType type, std::int64_t size,
               bool tf32)
{
    const Tf32Scope scope(tf32);
    const auto options = at::device(device.torch()).dtype(at::kFloat);
    const Tensor a = at::randn({size, size}, options).to(type);
    const Tensor b = at::randn({size, size}, options).to(type);
    Tensor c = at::empty({size, size}, options.dtype(type));
    const Rate rate = rateOf(device, [&] { at::mm_out(c, a, b); });
    const auto n = static_cast<double>(size);
    return ceilingOf(kind, rate, 2 * n * n * n, "FLOP/s");
}

/// A product with one scale per row of the left factor, as in precision: fp8.
Ceiling fp8Matmul(const Device& device, std::int64_t size)
{
    const auto options = at::device(device.torch()).dtype(at::kFloat);
    const QuantizedRows a = quantizedRows(at::randn({size, size}, options));
    const QuantizedWeight b(at::randn({size, size}, options).t());
    const Rate rate = rateOf(device, [&] { fp8Product(a, b); });
    const auto n = static_cast<double>(size);
    return ceilingOf("matmul_fp8", rate, 2 * n * n * n, "FLOP/s");
}

Ceiling copy(const Device& device, std::int64_t bytes)
{
    const Tensor from = at::ones({bytes}, at::device(device.torch()).dtype(at::kByte));
    Tensor to = at::zeros_like(from);
    const Rate rate = rateOf(device, [&] { to.copy_(from); });
    return ceilingOf("copy", rate, 2 * static_cast<double>(bytes), "B/s");
}

/// Measures a copy to the next GPU of the host, by copy engine or NVLink, as LibTorch copies between devices.
void addPeerCopy(std::vector<Ceiling>& ceilings, const Device& device, std::int64_t bytes)
{
    const int count = c10::cuda::device_count();
    if (count < 2)
        return;
    const int other = (device.torch().index() + 1) % count;
    std::size_t free = 0;
    std::size_t total = 0;
    {
        const c10::DeviceGuard there(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(other)));
        if (cudaMemGetInfo(&free, &total) != cudaSuccess || static_cast<std::int64_t>(free) < 2 * bytes)
            return;
    }
    const Tensor from = at::ones({bytes}, at::device(device.torch()).dtype(at::kByte));
    Tensor to = at::empty({bytes}, from.options().device(at::kCUDA, static_cast<c10::DeviceIndex>(other)));
    const Rate rate = rateOf(device, [&] { to.copy_(from, /*non_blocking=*/true); });
    ceilings.push_back(ceilingOf("peer_copy", rate, static_cast<double>(bytes), "B/s"));
}

Ceiling launch(const Device& device)
{
    Tensor value = at::zeros({1}, at::device(device.torch()).dtype(at::kFloat));
    const Rate rate = rateOf(device, [&] { value.add_(1); });
    return ceilingOf("launch", rate, 1, "1/s");
}

/// The host's speed drifts by more than the deviation of the samples, so the first measurement is repeated at
/// the end and the better one counts.
void measureLaunchAgain(std::vector<Ceiling>& ceilings, const Device& device)
{
    const Ceiling again = launch(device);
    for (Ceiling& ceiling : ceilings)
        if (ceiling.kind == again.kind && again.value > ceiling.value)
            ceiling = again;
}

/// The number of multiprocessors. It is not a rate, but predictions for this device on another machine need
/// it.
Ceiling multiprocessors(const Device& device)
{
    Ceiling ceiling;
    ceiling.kind = "multiprocessors";
    ceiling.value = at::cuda::getDeviceProperties(device.torch().index())->multiProcessorCount;
    ceiling.unit = "1";
    ceiling.n = 1;
    return ceiling;
}

/// Attention in one kernel: FLOP/s of the visible pairs, counting two products forward and five backward.
/// Adds nothing if this build or device has no such kernel.
void addAttention(std::vector<Ceiling>& ceilings, const Device& device, Backend backend,
                  const std::string& kernel, at::ScalarType type, bool tf32 = false)
{
    const CalibrationAttention shape = calibrationAttention(device.isCuda());
    AttentionSpec problem;
    problem.batch = shape.batch;
    problem.heads = problem.kvHeads = shape.heads;
    problem.queries = problem.keys = shape.length;
    problem.headDim = shape.headDim;
    problem.allowTf32 = tf32;
    problem.needsGrad = true;
    std::unique_ptr<AttentionBackend> attention;
    try {
        attention = makeAttention(backend, problem, at::device(device.torch()).dtype(type));
    } catch (const Unsupported&) {
        return;
    }
    const auto values = [&] {
        const std::array sizes{problem.batch, problem.heads, problem.queries, problem.headDim};
        return at::randn(sizes, at::device(device.torch())).to(type).requires_grad_();
    };
    const Tensor q = values();
    const Tensor k = values();
    const Tensor v = values();
    const auto length = static_cast<double>(problem.queries);
    const double pairs = static_cast<double>(problem.batch * problem.heads) * length * (length + 1) / 2;
    const double product = 2 * pairs * static_cast<double>(problem.headDim);
    const std::string kind =
        "attention_" + kernel + (type == at::kFloat ? (tf32 ? "_tf32" : "_fp32") : "_bf16");
    ceilings.push_back(ceilingOf(kind + "_forward", rateOf(device, [&] { attention->apply(q, k, v); }),
                                 2 * product, "FLOP/s"));
    const at::AutoGradMode grad(true);
    const Tensor o = attention->apply(q, k, v);
    const Tensor gradO = at::ones_like(o);
    ceilings.push_back(
        ceilingOf(kind + "_backward",
                  rateOf(device,
                         [&] {
                             torch::autograd::grad({o}, {q, k, v}, {gradO}, /*retain_graph=*/true);
                         }),
                  5 * product, "FLOP/s"));
}

/// The kernels that the attention backends `flash` and `sdpa` use on the device.
void addAttention(std::vector<Ceiling>& ceilings, const Device& device)
{
    if (!device.isCuda()) {
        addAttention(ceilings, device, Backend::Flash, "flash", at::kFloat);
        addAttention(ceilings, device, Backend::Sdpa, "processor", at::kFloat);
        return;
    }
    cudaDeviceProp properties{};
    const bool hasCudnn =
        cudaGetDeviceProperties(&properties, device.torch().index()) == cudaSuccess && properties.major >= 9;
    addAttention(ceilings, device, Backend::Flash, "flash", at::kFloat, true);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        addAttention(ceilings, device, Backend::Flash, "flash", type);
        const std::string half = hasCudnn ? "cudnn" : "flash2";
        addAttention(ceilings, device, Backend::Sdpa, type == at::kFloat ? "efficient" : half, type);
    }
}

std::int64_t freeBytes(const Device& device)
{
    const DeviceScope scope(device);
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess)
        return 0;
    return static_cast<std::int64_t>(free);
}

} // namespace

std::vector<Ceiling> measureCeilings(const Device& device)
{
    const at::NoGradGuard noGrad;
    std::vector<Ceiling> ceilings;
    if (!device.isCuda()) {
        // Larger than any cache, small enough for a laptop. A CPU has no TF32, and half precision without
        // native instructions would take minutes.
        ceilings.push_back(matmul(device, "matmul_fp32", at::kFloat, 1024, false));
        ceilings.push_back(matmul(device, "matmul_bf16", at::kBFloat16, 512, false));
        ceilings.push_back(copy(device, std::int64_t{256} << 20));
        ceilings.push_back(launch(device));
        addAttention(ceilings, device);
        measureLaunchAgain(ceilings, device);
        return ceilings;
    }
    const DeviceScope scope(device);
    // Three fp32 matrices and two copy buffers fit into a quarter of the free memory.
    const std::int64_t budget = freeBytes(device) / 4;
    std::int64_t size = 8192;
    while (size > 1024 && 3 * size * size * 4 > budget)
        size /= 2;
    ceilings.push_back(matmul(device, "matmul_fp32", at::kFloat, size, false));
    ceilings.push_back(matmul(device, "matmul_tf32", at::kFloat, size, true));
    ceilings.push_back(matmul(device, "matmul_bf16", at::kBFloat16, size, false));
    ceilings.push_back(matmul(device, "matmul_fp16", at::kHalf, size, false));
    const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(device.torch().index());
    if (multipliesE4m3(gpu.major, gpu.minor))
        ceilings.push_back(fp8Matmul(device, size));
    ceilings.push_back(copy(device, std::min(std::int64_t{2} << 30, budget / 2)));
    addPeerCopy(ceilings, device, std::min(std::int64_t{512} << 20, budget / 2));
    ceilings.push_back(launch(device));
    ceilings.push_back(multiprocessors(device));
    addAttention(ceilings, device);
    measureLaunchAgain(ceilings, device);
    return ceilings;
}

} // namespace tilescope::engine
