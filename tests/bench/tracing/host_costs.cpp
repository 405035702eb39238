#include "tests/bench/tracing/bench_tracing.h"

#include "core/trace/allocators/cpu_allocator.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/op_recorder.h"
#include "core/trace/host/range.h"
#include "core/trace/tracer.h"
#include "tests/support/fake_cupti.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace tilescope::bench {

namespace {

using namespace trace;

/// The least mean time of `body` over some runs of `count`: what it costs when nothing else interferes.
template <class Body> double nanosecondsEach(int count, Body&& body, int runs = 15)
{
    double least = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i)
            body();
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
        least = std::min(least, time.count() / count);
    }
    return least;
}

class NullSink final : public TraceSink {
public:
    void consume(TraceBatch&& batch) override
    {
        events += static_cast<std::int64_t>(batch.deviceEvents.size() + batch.ranges.size());
    }
    std::int64_t events = 0;
};

double rangeCost()
{
    return nanosecondsEach(1000, [] { const ScopedRange range("layers.3"); });
}

double opCost(const at::Tensor& tensor)
{
    return nanosecondsEach(1000, [&] { tensor.size(0), at::alias(tensor); });
}

/// The time that LibTorch needs to notify a listener of an op that does nothing.
double observedOpCost(const at::Tensor& tensor)
{
    const auto begin = [](const at::RecordFunction&) { return std::unique_ptr<at::ObserverContext>(); };
    const auto end = [](const at::RecordFunction&, at::ObserverContext*) {};
    const at::CallbackHandle handle =
        at::addGlobalCallback(at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
    const double cost = opCost(tensor);
    at::removeCallback(handle);
    return cost;
}

double blockCost()
{
    return nanosecondsEach(1000, [] { at::empty({4}, at::kByte); });
}

/// The rate of conversion from records in CUPTI's buffers to batches, on one thread: kernels per second.
double decodeRate()
{
    FakeCupti cupti;
    StringTable strings;
    NullSink sink;
    constexpr int kKernels = 70'000;
    Tracer tracer({.memory = false, .cuda = true, .device = DeviceIndex{0}, .ringCapacity = 1 << 17}, strings,
                  sink, cupti);
    double best = 0;
    for (int run = 0; run < 5; ++run) {
        // Filled while nothing is decoded, so that only decoding is timed.
        tracer.start();
        std::vector<std::uint32_t> launches;
        for (int i = 0; i < 1000; ++i)
            launches.push_back(cupti.launch());
        for (int i = 0; i < kKernels; ++i)
            cupti.kernel(launches[static_cast<std::size_t>(i) % launches.size()],
                         "_ZN2at6native4copyIfEEvPT_");
        const std::int64_t before = sink.events;
        const auto start = std::chrono::steady_clock::now();
        tracer.stop();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        best = std::max(best, static_cast<double>(sink.events - before) / time.count());
    }
    return best;
}

} // namespace

nlohmann::json hostCosts()
{
    const at::Tensor tensor = at::ones({4});
    nlohmann::json costs;
    costs["range_off_ns"] = rangeCost();
    costs["clock_ns"] = nanosecondsEach(1000, [] { TraceClock::now(); });
    costs["op_bare_ns"] = opCost(tensor);
    costs["op_observed_ns"] = observedOpCost(tensor);
    costs["block_bare_ns"] = blockCost();
    CpuAllocator::install();
    costs["block_counted_ns"] = blockCost();

    HostLogs& logs = HostLogs::instance();
    OpRecorder::installProbe();
    logs.start(1 << 16, 0);
    const auto drained = [&](auto&& measure) {
        const double cost = measure();
        logs.drain([](const ThreadLog&, const HostRecord&) {});
        return cost;
    };
    costs["range_on_ns"] = drained(rangeCost);
    costs["launch_ns"] = drained([&] {
        ThreadLog& log = *HostLogs::mine();
        return nanosecondsEach(1000, [&] { log.noteLaunch(1, 1); });
    });
    costs["place_ns"] = drained([] { return nanosecondsEach(1000, [] { HostLogs::here(); }); });
    recordCpuAllocations(true);
    costs["block_traced_ns"] = drained(blockCost);
    recordCpuAllocations(false);
    OpRecorder::enable(false, true);
    costs["op_traced_ns"] = drained([&] { return opCost(tensor); });
    OpRecorder::disable();
    logs.stop();
    costs["op_after_ns"] = opCost(tensor);
    costs["kernels_decoded_per_second"] = decodeRate();
    return costs;
}

} // namespace tilescope::bench
