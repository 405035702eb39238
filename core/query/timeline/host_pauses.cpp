#include "core/query/timeline/host_pauses.h"

#include "core/analysis/waiting/host_cause.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::HostCause;

constexpr Nanoseconds kLongestPeriod{50'000'000};
constexpr Nanoseconds kLeastFirst{2'000'000};
constexpr std::int64_t kLeastFactor = 10;
constexpr std::ptrdiff_t kLeastLater = 3;

class PausesOfThread {
public:
    PausesOfThread(const HostSamples& samples, const analysis::HostCauses& causes, ThreadId thread,
                   std::vector<HostPause>& pauses)
        : samples_(samples), causes_(causes), thread_(thread), pauses_(pauses)
    {
    }

    void add(const HostSample& sample)
    {
        if (open_ && sample.time - last_ > kLongestPeriod)
            close(last_);
        const HostCause cause = causes_.of(sample);
        if (open_ && *open_ != cause)
            close(sample.time);
        last_ = sample.time;
        if (open_ || (cause != HostCause::GarbageCollection && cause != HostCause::Import &&
                      cause != HostCause::Compilation))
            return;
        open_ = cause;
        pauses_.push_back({.thread = thread_,
                           .start = sample.time,
                           .end = sample.time,
                           .name = nameOf(cause, sample.stack),
                           .hue = hueOfCause(cause)});
        at_ = pauses_.size() - 1;
    }
    void end()
    {
        if (open_)
            close(last_);
    }

private:
    void close(Timestamp end)
    {
        pauses_[at_].end = end;
        open_.reset();
    }

    std::string nameOf(HostCause cause, std::uint32_t stack) const
    {
        if (cause == HostCause::GarbageCollection)
            return "garbage collection";
        if (cause == HostCause::Compilation)
            return "compilation";
        // The module that the program imports, rather than those that it imports in turn.
        std::string_view outermost;
        std::string_view inner;
        for (; stack != kNoStack; stack = samples_.stacks[stack].caller) {
            const analysis::FunctionParts parts = analysis::partsOf(samples_.stacks[stack].function);
            if (parts.name == "<module>")
                inner = parts.file;
            else if (parts.name.starts_with("_find_and_load"))
                outermost = inner;
        }
        return outermost.empty() ? "import" : "import " + std::string(outermost);
    }

    const HostSamples& samples_;
    const analysis::HostCauses& causes_;
    ThreadId thread_;
    std::vector<HostPause>& pauses_;
    std::optional<HostCause> open_;
    std::size_t at_ = 0; ///< of the open one
    Timestamp last_{};
};

/// Adds the times between launches that took much longer the first time.
void addFirstTimes(const HostSamples& samples, const SampledHostThread& thread,
                   const std::vector<std::uint32_t>& programCalls, std::vector<HostPause>& pauses)
{
    struct Between {
        Timestamp start{};
        Timestamp end{};
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Between>> places;
    const HostSample* before = nullptr;
    for (const HostSample& sample : thread.samples) {
        if (!sample.isLaunch() || sample.stack == kNoStack)
            continue;
        if (before != nullptr)
            places[{before->stack, sample.stack}].push_back({before->time, sample.time});
        before = &sample;
    }
    for (const auto& [stacks, times] : places) {
        if (std::ssize(times) <= kLeastLater)
            continue;
        const Between& first = times.front();
        std::vector<Nanoseconds> later;
        for (std::size_t i = 1; i < times.size(); ++i)
            later.push_back(times[i].end - times[i].start);
        const auto middle = later.begin() + std::ssize(later) / 2;
        std::ranges::nth_element(later, middle);
        const Nanoseconds took = first.end - first.start;
        if (took < kLeastFirst || took < kLeastFactor * *middle)
            continue;
        const HostStack& call = samples.stacks[programCalls[stacks.second]];
        pauses.push_back({.thread = thread.thread,
                          .start = first.start,
                          .end = first.end,
                          .name = "first time at " + std::string(analysis::partsOf(call.function).file) +
                                  (call.line > 0 ? ":" + std::to_string(call.line) : std::string()),
                          .hue = hueOfCause(HostCause::Launching)});
    }
}

} // namespace

std::vector<HostPause> hostPauses(const HostSamples& samples)
{
    const analysis::HostCauses causes(samples.stacks);
    const std::vector<std::uint32_t> programCalls = analysis::programCalls(samples.stacks);
    std::vector<HostPause> pauses;
    for (const SampledHostThread& thread : samples.threads) {
        PausesOfThread own(samples, causes, thread.thread, pauses);
        for (const HostSample& sample : thread.samples)
            if (!sample.isLaunch())
                own.add(sample);
        own.end();
        addFirstTimes(samples, thread, programCalls, pauses);
    }
    std::erase_if(pauses, [](const HostPause& pause) { return pause.end <= pause.start; });
    std::ranges::stable_sort(pauses, [](const HostPause& a, const HostPause& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    return pauses;
}

} // namespace tilescope::query
