#include "tests/bench/tracing/bench_tracing.h"

#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/model/strings.h"
#include "core/trace/tracer.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace tilescope::bench {

namespace {

class NullSink final : public TraceSink {
public:
    void consume(TraceBatch&& /*batch*/) override {}
};

/// Median over 40 runs of the mean time of a call, in nanoseconds; each run starts on an idle device.
template <class Call> double nanosecondsOfACall(int count, Call&& call)
{
    std::vector<double> times;
    for (int run = 0; run < 40; ++run) {
        cudaDeviceSynchronize();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i)
            call();
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
        times.push_back(time.count() / count);
    }
    std::ranges::nth_element(times, times.begin() + 20);
    return times[20];
}

nlohmann::json callCosts()
{
    const at::TensorOptions options = at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);
    const at::Tensor vector = at::ones({64}, options);
    const at::Tensor matrix = at::ones({64, 64}, options);
    at::Tensor product = at::ones({64, 64}, options);
    at::Tensor sum = at::ones({64}, options);
    int device = 0;
    nlohmann::json costs;
    // Queries that LibTorch sends to the runtime thousands of times per step. A tracer must not slow them.
    costs["get_device_ns"] = nanosecondsOfACall(200, [&] { cudaGetDevice(&device); });
    costs["view_ns"] = nanosecondsOfACall(100, [&] { at::alias(vector); });
    costs["block_ns"] = nanosecondsOfACall(100, [&] { at::empty({64}, options); });
    costs["kernel_ns"] = nanosecondsOfACall(100, [&] { sum.add_(1); });
    costs["matmul_ns"] = nanosecondsOfACall(100, [&] { at::mm_out(product, matrix, matrix); });
    costs["synchronize_ns"] = nanosecondsOfACall(20, [] { cudaDeviceSynchronize(); });
    return costs;
}

nlohmann::json tracedCosts(TraceLevel level)
{
    StringTable strings;
    NullSink sink;
    trace::Tracer tracer({.level = level, .cuda = true, .device = DeviceIndex{0}}, strings, sink);
    nlohmann::json costs;
    for (const trace::Recording recording : {trace::Recording::ReferenceStep, trace::Recording::Events}) {
        tracer.start(recording);
        if (!tracer.untracedReason().empty())
            throw Error{.what = tracer.untracedReason(), .where = "CUPTI", .kind = ErrorKind::Environment};
        tracer.setStep(0);
        costs = callCosts();
        tracer.setStep(kNoStep);
        tracer.stop();
    }
    return costs; // of the recording; a reference step may cost what it likes
}

} // namespace

nlohmann::json deviceCosts()
{
    engine::initializeCuda();
    callCosts();
    nlohmann::json costs;
    costs["bare"] = callCosts();
    costs["kernels"] = tracedCosts(TraceLevel::Kernels);
    costs["full"] = tracedCosts(TraceLevel::Full);
    costs["after"] = callCosts();
    return costs;
}

} // namespace tilescope::bench
