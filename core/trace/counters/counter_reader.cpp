#include "core/trace/counters/counter_reader.h"

#include "core/base/plural.h"
#include "core/trace/counters/counter_plan.h"
#include "core/trace/tracer.h"

namespace tilescope::trace {

namespace {

// Some 35 KB of memory each.
constexpr std::size_t kMostKernels = 20'000;
// More would mean that the profiler never completes.
constexpr int kMostPasses = 64;

/// Closes what was opened, whatever happens in between.
class Opened {
public:
    explicit Opened(CounterApi& api) : api_(api) {}
    ~Opened() { api_.close(); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

private:
    CounterApi& api_;
};

std::string runPasses(CounterApi& api, const std::function<void()>& step, std::int64_t& passes)
{
    for (bool complete = false; !complete; ++passes) {
        if (passes == kMostPasses)
            return "the counters need more than " + std::to_string(kMostPasses) + " passes; request fewer";
        std::string whyNot = api.beginPass();
        if (!whyNot.empty())
            return whyNot;
        step();
        whyNot = api.endPass(complete);
        if (!whyNot.empty())
            return whyNot;
    }
    return {};
}

} // namespace

CounterReading readCounters(std::span<const std::string> counters, Tracer& tracer,
                            const std::function<void()>& step, CounterApi& api)
{
    tracer.start(Recording::Launches);
    try {
        tracer.setStep(0);
        step();
        tracer.setStep(kNoStep);
    } catch (...) {
        tracer.stop();
        throw;
    }
    tracer.stop();
    if (!tracer.untracedReason().empty())
        return {.values = {}, .whyNot = tracer.untracedReason()};
    const LaunchList launches = tracer.launches();
    if (launches.paths.empty())
        return {.values = {}, .whyNot = "the step launches no kernels"};
    if (launches.paths.size() > kMostKernels) {
        return {.values = {},
                .whyNot = "the step launches " + std::to_string(launches.paths.size()) +
                          " kernels, and counters are stored for " + std::to_string(kMostKernels) +
                          " at most"};
    }

    const CounterPlan plan(counters);
    const Opened opened(api);
    std::int64_t passes = 0;
    std::vector<std::vector<double>> values;
    std::string whyNot = api.open(plan.metrics(), launches.paths.size());
    if (whyNot.empty())
        whyNot = runPasses(api, step, passes);
    if (whyNot.empty())
        whyNot = api.read(values);
    if (whyNot.empty() && values.size() != launches.paths.size()) {
        whyNot = "counters were read for " + counted(static_cast<std::int64_t>(values.size()), "kernel") +
                 ", and the step launches " + std::to_string(launches.paths.size());
    }
    if (!whyNot.empty())
        return {.values = {}, .whyNot = whyNot};

    std::vector<KernelCounters> kernels;
    for (std::size_t i = 0; i < values.size(); ++i)
        kernels.push_back({launches.paths[i], std::move(values[i])});
    return {.values = plan.values(kernels, launches.instances, passes), .whyNot = {}};
}

} // namespace tilescope::trace
