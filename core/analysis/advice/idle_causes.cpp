#include "core/analysis/advice/idle_causes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace tilescope::analysis {

namespace {

std::vector<Interval> timesOf(std::span<const GroupedTime> grouped)
{
    std::vector<Interval> times;
    for (const GroupedTime& each : grouped)
        times.push_back(each.time);
    return unionOf(std::move(times));
}

/// For each wall, the time from its start until the host last worked on something for the GPU, and from the end of the GPU's last
/// work.
std::vector<Interval> errands(std::span<const Interval> walls, std::span<const Interval> busy,
                              const IdleReasons& reasons)
{
    std::vector<Interval> times;
    for (std::size_t i = 0; i < walls.size(); ++i) {
        const Interval& wall = walls[i];
        times.push_back({wall.start, std::clamp(reasons.lastErrands[i], wall.start, wall.end)});
        if (reasons.firstErrand >= wall.end)
            continue;
        const auto after = std::ranges::lower_bound(busy, wall.end, {}, &Interval::start);
        const Timestamp done = after == busy.begin() ? wall.start : std::prev(after)->end;
        times.push_back({std::clamp(done, wall.start, wall.end), wall.end});
    }
    return unionOf(std::move(times));
}

/// Extends each wait that ends within a gap into the rest of that gap, by at most the time for which work was
/// outstanding when it began: without the wait, the host would have done the same meanwhile.
std::vector<GroupedTime> withRestOfGap(std::vector<GroupedTime> waits, std::span<const Interval> gaps,
                                       std::span<const Interval> busy)
{
    for (GroupedTime& wait : waits) {
        const auto last = std::ranges::upper_bound(busy, wait.time.end, {},
                                                   [](const Interval& each) { return each.start; });
        const Timestamp until =
            last == busy.begin() ? wait.time.start : std::min(std::prev(last)->end, wait.time.end);
        const Nanoseconds outstanding = std::max(Nanoseconds(0), until - wait.time.start);
        const auto gap =
            std::ranges::upper_bound(gaps, wait.time.end, {}, [](const Interval& each) { return each.end; });
        if (gap != gaps.end() && gap->start <= wait.time.end)
            wait.time.end = std::min(gap->end, wait.time.end + outstanding);
    }
    return waits;
}

/// Gaps before activities, by the group of the activity that ends them.
std::vector<GroupedTime> beforeNext(std::span<const Interval> gaps, std::vector<GroupedTime> next)
{
    std::ranges::sort(next, [](const GroupedTime& a, const GroupedTime& b) {
        return std::pair(a.time.start, a.group) < std::pair(b.time.start, b.group);
    });
    std::vector<GroupedTime> times;
    auto each = next.begin();
    for (const Interval& gap : gaps) {
        while (each != next.end() && each->time.start < gap.end)
            ++each;
        if (each != next.end())
            times.push_back({gap, each->group});
        else if (!next.empty())
            times.push_back({gap, next.back().group});
    }
    return times;
}

/// Replaces the time at stake of each group by that of `other`.
void setStakes(Stake& stake, const Stake& other)
{
    stake.time = other.time;
    for (StakePart& part : stake.parts) {
        const auto found = std::ranges::find(other.parts, part.group, &StakePart::group);
        part.atStake = found != other.parts.end() ? found->atStake : Nanoseconds(0);
    }
    std::ranges::stable_sort(stake.parts, std::greater(), &StakePart::atStake);
}

} // namespace

std::array<Stake, kIdleCauses> idleCauses(std::span<const Interval> walls, std::span<const Interval> busy,
                                          IdleReasons reasons)
{
    std::array<Stake, kIdleCauses> causes;
    const auto at = [&causes](IdleCause cause) -> Stake& { return causes[static_cast<std::size_t>(cause)]; };
    const std::vector<Interval> allGaps = difference(walls, busy);
    const std::vector<Interval> unrecorded = intersection(allGaps, reasons.unrecorded);
    const std::vector<Interval> gaps = difference(allGaps, unrecorded);
    std::vector<Interval> idle = gaps;
    const auto take = [&idle](std::vector<GroupedTime> times) {
        const std::vector<Interval> taken = timesOf(times);
        Stake stake = stakeOf(std::move(times), idle);
        idle = difference(idle, taken);
        return stake;
    };
    std::vector<GroupedTime> tracing;
    for (const Interval& each : unionOf(std::move(reasons.tracing)))
        tracing.push_back({each, 0});
    at(IdleCause::Tracing) = take(std::move(tracing));
    at(IdleCause::StartUp) = take(std::move(reasons.starting));
    at(IdleCause::DataLoading) = take(std::move(reasons.loading));
    at(IdleCause::Allocating) = take(std::move(reasons.allocating));
    const std::vector<Interval> working = errands(walls, busy, reasons);
    at(IdleCause::Synchronization) = stakeOf(reasons.waiting, walls); // counts and lengths of the calls
    std::vector<Interval> afterCalls = timesOf(reasons.waiting);
    afterCalls.insert(afterCalls.end(), working.begin(), working.end());
    const std::vector<Interval> waitingOrWorking = intersection(idle, unionOf(std::move(afterCalls)));
    const std::vector<GroupedTime> waits = withRestOfGap(std::move(reasons.waiting), gaps, busy);
    setStakes(at(IdleCause::Synchronization), stakeOf(waits, waitingOrWorking));
    idle = difference(idle, intersection(waitingOrWorking, timesOf(waits)));
    at(IdleCause::Launching) = take(beforeNext(intersection(idle, working), std::move(reasons.next)));
    Stake& rest = at(IdleCause::Unexplained);
    rest.time = lengthOf(idle) + lengthOf(unrecorded);
    if (rest.time.count() > 0)
        rest.parts = {
            {.count = std::ssize(idle) + std::ssize(unrecorded), .total = rest.time, .atStake = rest.time}};
    return causes;
}

} // namespace tilescope::analysis
