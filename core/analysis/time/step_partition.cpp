#include "core/analysis/time/step_partition.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace tilescope::analysis {

namespace {

constexpr double kGpuBoundShare = 0.85;

template <class Event> Interval within(const Interval& wall, const Event& event)
{
    return {std::max(wall.start, event.start), std::min(wall.end, event.end)};
}

/// The latest instant at which the host is known to have prepared work for the GPU: the start of a device
/// event's launch, the end of a recorded launch, or the start of a waiting call, after which the host had no
/// more work for the step.
Timestamp lastErrand(const Interval& wall, std::span<const DeviceEvent> device,
                     std::span<const ApiCall> calls)
{
    Timestamp last = wall.start;
    for (const DeviceEvent& event : device)
        if (event.launched < wall.end)
            last = std::max(last, event.launched);
    for (const ApiCall& call : calls) {
        if (call.start >= wall.end)
            continue;
        if (call.kind == ApiKind::Launch)
            last = std::max(last, std::min(call.end, wall.end));
        else if (call.kind == ApiKind::Synchronize)
            last = std::max(last, call.start);
    }
    return last;
}

/// Whether the recording shows what the host does for the GPU: a launch, or a call that waits, before the end of the step.
bool isHostRecorded(const Interval& wall, std::span<const DeviceEvent> device, std::span<const ApiCall> calls)
{
    const auto isErrand = [&wall](const ApiCall& call) {
        return call.start < wall.end && (call.kind == ApiKind::Launch || call.kind == ApiKind::Synchronize);
    };
    return std::ranges::any_of(calls, isErrand) ||
           std::ranges::any_of(device, [&wall](const DeviceEvent& event) {
               return event.launched != Timestamp{} && event.launched < wall.end;
           });
}

double shareOf(Nanoseconds part, const StepPartition& step)
{
    const auto wall = static_cast<double>(step.wall.length().count());
    return wall > 0 ? static_cast<double>(part.count()) / wall : 0;
}

struct IdlePart {
    Nanoseconds time;
    StepVerdict verdict;
    const char* reason;
};

/// The part with the largest idle time.
IdlePart largestIdlePart(const StepPartition& step)
{
    const std::array parts{
        IdlePart{step.launching, StepVerdict::LaunchBound, "while the host prepares launches"},
        IdlePart{step.synchronizing, StepVerdict::SyncBound, "while the host waits in synchronization"},
        IdlePart{step.tracing, StepVerdict::TracingBound, "while tracing does its own work"},
        IdlePart{step.unexplained, StepVerdict::Unexplained, "unexplained"}};
    return *std::max_element(parts.begin(), parts.end(),
                             [](const IdlePart& a, const IdlePart& b) { return a.time < b.time; });
}

} // namespace

StepPartition partitionStep(Interval wall, std::span<const DeviceEvent> device,
                            std::span<const ApiCall> calls, std::span<const Interval> unrecorded,
                            std::optional<Timestamp> done)
{
    std::vector<Interval> running;
    for (const DeviceEvent& event : device)
        running.push_back(within(wall, event));
    std::vector<Interval> overheads;
    std::vector<Interval> waits;
    for (const ApiCall& call : calls) {
        if (call.kind == ApiKind::Overhead)
            overheads.push_back(within(wall, call));
        else if (call.kind == ApiKind::Synchronize || call.kind == ApiKind::Wait)
            waits.push_back(within(wall, call));
    }
    const std::vector<Interval> busy = unionOf(std::move(running));
    const std::vector<Interval> traced = unionOf(std::move(overheads));
    const std::vector<Interval> waiting = unionOf(std::move(waits));
    std::vector<Interval> launching{{wall.start, lastErrand(wall, device, calls)}};
    // What the step started has ended, and the host has not come to its next launch.
    if (isHostRecorded(wall, device, calls))
        launching.push_back(
            {std::max(wall.start, done.value_or(busy.empty() ? wall.start : busy.back().end)), wall.end});

    StepPartition step{.wall = wall, .gpuBusy = lengthOf(busy)};
    std::vector<Interval> idle = complement(wall, busy);
    const auto take = [&idle](std::span<const Interval> reason) {
        const Nanoseconds taken = lengthOf(intersection(idle, reason));
        idle = difference(idle, reason);
        return taken;
    };
    step.unexplained = take(unrecorded);
    step.tracing = take(traced);
    step.synchronizing = take(waiting);
    step.launching = take(unionOf(std::move(launching)));
    step.unexplained += lengthOf(idle);
    return step;
}

std::string_view wordOf(StepVerdict verdict)
{
    static constexpr std::array<std::string_view, 9> words{"GPU-bound",     "launch-bound", "sync-bound",
                                                           "tracing-bound", "unexplained",  "CPU",
                                                           "not judged",    "data-bound",   "rank-bound"};
    return words[static_cast<std::size_t>(verdict)];
}

StepVerdict verdictOf(const StepPartition& step)
{
    if (step.gpuBusy == Nanoseconds(0))
        return StepVerdict::Unjudged;
    if (shareOf(step.gpuBusy, step) >= kGpuBoundShare)
        return StepVerdict::GpuBound;
    return largestIdlePart(step).verdict;
}

std::string explain(const StepPartition& step)
{
    const IdlePart idle = largestIdlePart(step);
    std::array<char, 120> text{};
    std::snprintf(text.data(), text.size(), "GPU busy %.1f %%, idle %.1f %% %s",
                  100 * shareOf(step.gpuBusy, step), 100 * shareOf(idle.time, step), idle.reason);
    return text.data();
}

} // namespace tilescope::analysis
