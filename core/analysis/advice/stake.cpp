#include "core/analysis/advice/stake.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tilescope::analysis {

namespace {

bool startsBefore(const GroupedTime& a, const GroupedTime& b)
{
    return std::pair(a.time.start, a.group) < std::pair(b.time.start, b.group);
}

/// Collects parts by group.
class Collected {
public:
    void count(const GroupedTime& each)
    {
        StakePart& part = partOf(each.group);
        ++part.count;
        part.total += each.time.length();
    }
    void stake(std::uint32_t group, Nanoseconds time) { partOf(group).atStake += time; }
    void add(const StakePart& part)
    {
        StakePart& sum = partOf(part.group);
        sum.count += part.count;
        sum.total += part.total;
        sum.atStake += part.atStake;
    }

    Stake list() &&
    {
        Stake stake;
        for (const auto& [group, part] : parts_) {
            stake.time += part.atStake;
            stake.parts.push_back(part);
        }
        std::ranges::stable_sort(stake.parts, [](const StakePart& a, const StakePart& b) {
            return std::pair(-a.atStake, -a.total) < std::pair(-b.atStake, -b.total);
        });
        return stake;
    }

private:
    StakePart& partOf(std::uint32_t group)
    {
        StakePart& part = parts_[group];
        part.group = group;
        return part;
    }
    std::map<std::uint32_t, StakePart> parts_;
};

/// Measures the part of each interval within `allowed`. The intervals must come in start order and be
/// disjoint.
class Within {
public:
    explicit Within(std::span<const Interval> allowed) : allowed_(allowed) {}

    Nanoseconds lengthOf(const Interval& time)
    {
        while (next_ < allowed_.size() && allowed_[next_].end <= time.start)
            ++next_;
        Nanoseconds sum{0};
        for (std::size_t i = next_; i < allowed_.size() && allowed_[i].start < time.end; ++i)
            sum += std::min(time.end, allowed_[i].end) - std::max(time.start, allowed_[i].start);
        return sum;
    }

private:
    std::span<const Interval> allowed_;
    std::size_t next_ = 0;
};

bool touches(const Interval& time, std::span<const Interval> walls)
{
    const auto wall = std::ranges::upper_bound(walls, time.start, {}, &Interval::end);
    return wall != walls.end() && wall->start < time.end;
}

/// The times that overlap a wall, in start order.
std::vector<GroupedTime> inWalls(std::vector<GroupedTime> times, std::span<const Interval> walls)
{
    std::erase_if(times, [&](const GroupedTime& each) { return !touches(each.time, walls); });
    if (!std::ranges::is_sorted(times, startsBefore))
        std::ranges::sort(times, startsBefore);
    return times;
}

/// Calls `take` with the part of each of `times` that no earlier one covers.
template <class Take> void eachNew(std::span<const GroupedTime> times, const Take& take)
{
    Timestamp coveredUntil = Timestamp::min();
    for (const GroupedTime& each : times) {
        const Timestamp from = std::max(each.time.start, coveredUntil);
        if (each.time.end <= from)
            continue;
        take(each.group, Interval{from, each.time.end});
        coveredUntil = each.time.end;
    }
}

} // namespace

Stake stakeOf(std::vector<GroupedTime> times, std::span<const Interval> walls,
              std::span<const Interval> others)
{
    times = inWalls(std::move(times), walls);
    const std::vector<Interval> allowed = difference(walls, others);
    Collected collected;
    for (const GroupedTime& each : times)
        collected.count(each);
    Within within(allowed);
    eachNew(times, [&](std::uint32_t group, const Interval& time) {
        collected.stake(group, within.lengthOf(time));
    });
    return std::move(collected).list();
}

Stake scaled(const Stake& stake, const std::function<double(std::uint32_t group)>& share)
{
    Stake result;
    for (StakePart part : stake.parts) {
        part.atStake =
            Nanoseconds(std::llround(static_cast<double>(part.atStake.count()) * share(part.group)));
        result.time += part.atStake;
        result.parts.push_back(part);
    }
    std::ranges::stable_sort(result.parts, std::greater(), &StakePart::atStake);
    return result;
}

Stake sumOf(std::span<const Stake> stakes)
{
    Collected collected;
    for (const Stake& stake : stakes)
        for (const StakePart& part : stake.parts)
            collected.add(part);
    return std::move(collected).list();
}

Stake exposedStake(std::vector<GroupedTime> times, std::span<const Interval> walls,
                   std::span<const Interval> compute)
{
    times = inWalls(std::move(times), walls);
    Collected collected;
    std::vector<Interval> running;
    for (const GroupedTime& each : times) {
        collected.count(each);
        running.push_back(each.time);
    }
    running = unionOf(std::move(running));
    const std::vector<Interval> alone = difference(compute, running);
    std::vector<Nanoseconds> room; // by wall: compute time that can still hide copies or communication
    Within computing(alone);
    for (const Interval& wall : walls)
        room.push_back(computing.lengthOf(wall));

    const std::vector<Interval> exposed = difference(running, compute);
    std::size_t first = 0;
    eachNew(times, [&](std::uint32_t group, const Interval& time) {
        while (first < walls.size() && walls[first].end <= time.start)
            ++first;
        for (std::size_t i = first; i < walls.size() && walls[i].start < time.end; ++i) {
            const Interval part{std::max(time.start, walls[i].start), std::min(time.end, walls[i].end)};
            const auto from = std::ranges::upper_bound(exposed, part.start, {}, &Interval::end);
            const Nanoseconds open = Within({from, exposed.end()}).lengthOf(part);
            const Nanoseconds taken = std::min(open, room[i]);
            room[i] -= taken;
            collected.stake(group, taken);
        }
    });
    return std::move(collected).list();
}

} // namespace tilescope::analysis
