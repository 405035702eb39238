#include "core/analysis/path/what_if.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

bool isHostWork(PathPart part)
{
    return part == PathPart::Host || part == PathPart::Launch;
}

/// Maps instants of the recording to instants after a change: when a thread or device has done the same work.
class ChangedInstants {
public:
    ChangedInstants(const RecordedGraph& recorded, std::span<const Interval> times)
        : recorded_(recorded), times_(times)
    {
    }

    Timestamp of(ProcessIndex process, ThreadId thread, Timestamp instant) const
    {
        // A step of the device ends when the work of the next one begins.
        if (const auto next = thread ? std::nullopt : recorded_.startingAt(process, instant))
            return times_[*next].start;
        const auto last = recorded_.lastOf(process, thread, instant);
        if (!last)
            return instant;
        return times_[*last].end + (instant - recorded_.graph.activities()[*last].time.end);
    }

private:
    const RecordedGraph& recorded_;
    std::span<const Interval> times_;
};

} // namespace

std::vector<bool> removedActivities(const RecordedGraph& recorded,
                                    const std::function<bool(const PathSource&)>& isLeftOut,
                                    std::span<const Timestamp> steps)
{
    enum class Launch : std::uint8_t { None, LeftOut, Kept };
    const std::span<const Activity> activities = recorded.graph.activities();
    std::vector<bool> removed(activities.size(), false);
    std::vector<Launch> launches(activities.size(), Launch::None); // by activity: the launch at its end
    for (std::uint32_t i = 0; i < activities.size(); ++i) {
        removed[i] = isLeftOut(recorded.sourceOf(i));
        for (const ActivityGraph::Constraint& each : recorded.graph.constraintsOf(i))
            if (each.cause == Cause::Launch && launches[each.from] != Launch::Kept)
                launches[each.from] = removed[i] ? Launch::LeftOut : Launch::Kept;
    }
    for (const auto& [thread, ends] : recorded.byThread) {
        std::vector<std::uint32_t> sinceLaunch;
        auto step = steps.begin();
        for (const auto& [end, i] : ends) {
            for (; step != steps.end() && *step <= activities[i].time.start; ++step)
                sinceLaunch.clear();
            if (isHostWork(activities[i].part))
                sinceLaunch.push_back(i);
            else
                sinceLaunch.clear();
            if (launches[i] == Launch::None)
                continue;
            if (launches[i] == Launch::LeftOut)
                for (const std::uint32_t each : sinceLaunch)
                    removed[each] = true;
            sinceLaunch.clear();
        }
    }
    return removed;
}

std::vector<Interval> changedTimes(const RecordedGraph& recorded, const PathChange& change)
{
    const std::span<const Activity> activities = recorded.graph.activities();
    const auto isRemoved = [&](std::uint32_t i) { return !change.removed.empty() && change.removed[i]; };
    const auto duration = [&](std::uint32_t i) {
        const Activity& activity = activities[i];
        const PathSource& source = recorded.sourceOf(i);
        if (isRemoved(i) || (change.freeLaunches && source.thread && isHostWork(activity.part)) ||
            (change.freeCommunication && activity.part == PathPart::Communication))
            return Nanoseconds(0);
        const double factor = change.factorOf(source);
        return factor == 1
                   ? activity.time.length()
                   : Nanoseconds(std::llround(factor * static_cast<double>(activity.time.length().count())));
    };
    const auto lag = [&](const ActivityGraph::Constraint& constraint, std::uint32_t to) {
        // From one activity of the host to the next, and from thread to thread, the host takes the time.
        const bool isOfHost = constraint.cause == Cause::Program || constraint.cause == Cause::HandOver;
        const bool isFree =
            constraint.cause == Cause::Launch ? change.freeLaunches || isRemoved(to)
            : isOfHost                        ? change.freeLaunches
                       : isOrderOnDevice(constraint.cause) && (change.freeGaps || isRemoved(constraint.from));
        return isFree ? std::min(constraint.lag, Nanoseconds(0)) : constraint.lag;
    };
    return recorded.graph.simulate(duration, lag);
}

std::vector<Interval> changedWalls(const RecordedGraph& recorded, std::span<const RecordedStep> steps,
                                   std::span<const Interval> times)
{
    const std::span<const Activity> activities = recorded.graph.activities();
    std::unordered_map<std::int32_t, std::size_t> byNumber;
    for (std::size_t i = 0; i < steps.size(); ++i)
        byNumber.emplace(steps[i].step, i);
    // By step: when the device has finished the work that the step launched.
    std::vector<Timestamp> device(steps.size(), Timestamp::min());
    for (std::uint32_t i = 0; i < activities.size(); ++i) {
        const PathSource& source = recorded.sourceOf(i);
        if (source.thread || steps.empty() || source.process != steps.front().process)
            continue;
        const auto step = byNumber.find(steps.front().step == kNoStep ? kNoStep : source.step);
        if (step != byNumber.end() && activities[i].time.end <= steps[step->second].wall.end)
            device[step->second] = std::max(device[step->second], times[i].end);
    }
    const ChangedInstants changed(recorded, times);
    std::vector<Interval> walls;
    Timestamp before = Timestamp::min(); // end of the step before
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const RecordedStep& step = steps[i];
        const bool endsOnHost = step.host.end <= step.wall.end;
        Timestamp end =
            endsOnHost && step.thread ? changed.of({}, step.thread, step.host.end) : Timestamp::min();
        if (step.thread)
            end = std::max(end, device[i]);
        if (end == Timestamp::min())
            end = changed.of(step.process, step.thread, step.wall.end);
        Interval wall{changed.of(step.process, step.thread, step.wall.start), end};
        if (i > 0)
            wall.start = step.wall.start == steps[i - 1].wall.end ? before : std::max(wall.start, before);
        wall.end = std::max(wall.end, wall.start);
        before = wall.end;
        walls.push_back(wall);
    }
    return walls;
}

} // namespace tilescope::analysis
