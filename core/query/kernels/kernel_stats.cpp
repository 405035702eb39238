#include "core/query/kernels/kernel_stats.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilescope::query {

namespace {

// Sums that give mean and spread; lengths are whole, so the sum of squares loses nothing that matters in a
// double.
struct Sums {
    std::int64_t instances = 0;
    std::int64_t total = 0;
    std::int64_t shortest = INT64_MAX;
    std::int64_t longest = 0;
    double squares = 0;
    Hue hue = Hue::Other;

    void add(std::int64_t length)
    {
        ++instances;
        total += length;
        shortest = std::min(shortest, length);
        longest = std::max(longest, length);
        squares += double(length) * double(length);
    }
};

KernelStat statOf(std::uint32_t name, const Sums& sums)
{
    KernelStat stat;
    stat.name = name;
    stat.hue = sums.hue;
    stat.instances = sums.instances;
    stat.total = sums.total;
    stat.shortest = sums.shortest;
    stat.longest = sums.longest;
    const auto n = double(sums.instances);
    stat.mean = double(sums.total) / n;
    if (sums.instances > 1)
        stat.standardDeviation =
            std::sqrt(std::max(0.0, (sums.squares - n * stat.mean * stat.mean) / (n - 1)));
    return stat;
}

std::pair<std::size_t, std::size_t> startingIn(const Track& row, const Stretch& stretch)
{
    const std::size_t first = row.firstFrom(stretch.first);
    return {first, std::max(first, row.firstFrom(stretch.second))};
}

// The part of an event within the interval; of length 0 if there is none.
Stretch insideOf(const Track& row, std::size_t i, const Stretch& stretch)
{
    const std::int64_t from = std::max(row.start(i), stretch.first);
    return {from, std::max(from, std::min(row.end(i), stretch.second))};
}

std::int64_t lengthOf(const Stretch& stretch)
{
    return stretch.second - stretch.first;
}

void addTo(Sums& sums, Hue hue, std::int64_t length)
{
    if (sums.instances == 0)
        sums.hue = hue;
    sums.add(length);
}

void sortByCost(std::vector<KernelStat>& stats)
{
    std::sort(stats.begin(), stats.end(), [](const KernelStat& a, const KernelStat& b) {
        return a.total != b.total ? a.total > b.total : a.name < b.name;
    });
}

std::vector<KernelStat> statsOf(const std::vector<Sums>& sums)
{
    std::vector<KernelStat> stats;
    for (std::uint32_t name = 0; name < sums.size(); ++name)
        if (sums[name].instances > 0)
            stats.push_back(statOf(name, sums[name]));
    sortByCost(stats);
    return stats;
}

// A lane without a process is that of the only one, or of a device that several share.
bool counts(const Lane& lane, Lane::Kind kind, ProcessIndex process)
{
    return lane.kind == kind && (!process || !lane.process || lane.process == process);
}

} // namespace

std::vector<KernelStat> kernelsWithin(const Timeline& timeline, Stretch stretch,
                                      const std::function<bool()>& cancelled, ProcessIndex process,
                                      std::optional<std::size_t> only)
{
    std::vector<Sums> sums(timeline.names.size());
    for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        const Lane& lane = timeline.lanes[l];
        if (!counts(lane, Lane::Kind::Stream, process) || l != only.value_or(l))
            continue;
        for (const Track& row : lane.rows) {
            if (cancelled())
                return {};
            const auto [first, last] = row.overlapping(stretch.first, stretch.second);
            for (std::size_t i = first; i < last; ++i)
                addTo(sums[row.name(i)], row.hue(i), lengthOf(insideOf(row, i, stretch)));
        }
    }
    return statsOf(sums);
}

std::vector<KernelStat> opsWithin(const Timeline& timeline, Stretch stretch,
                                  const std::function<bool()>& cancelled, ProcessIndex process,
                                  std::optional<std::size_t> only)
{
    std::vector<Sums> sums(timeline.names.size());
    for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        const Lane& lane = timeline.lanes[l];
        if (!counts(lane, Lane::Kind::Thread, process) || l != only.value_or(l))
            continue;
        for (std::size_t r = 0; r < lane.rows.size(); ++r) {
            if (cancelled())
                return {};
            const Track& row = lane.rows[r];
            const Track* const called = r + 1 < lane.rows.size() ? &lane.rows[r + 1] : nullptr;
            const auto [first, last] = row.overlapping(stretch.first, stretch.second);
            std::size_t child = called ? called->overlapping(stretch.first, stretch.second).first : 0;
            for (std::size_t i = first; i < last; ++i) {
                const Stretch inside = insideOf(row, i, stretch);
                std::int64_t own = lengthOf(inside);
                for (; called && child < called->size() && called->start(child) < inside.second; ++child)
                    own -= lengthOf(insideOf(*called, child, inside));
                addTo(sums[row.name(i)], row.hue(i), own);
            }
        }
    }
    return statsOf(sums);
}

StretchOf everywhere(std::optional<Stretch> stretch)
{
    return [stretch = stretch.value_or(Stretch{INT64_MIN, INT64_MAX})](const Lane&) { return stretch; };
}

std::vector<std::int64_t> lengthsOf(const Timeline& timeline, const ActivityChoice& isChosen,
                                    const StretchOf& stretchOf, const std::function<bool()>& cancelled)
{
    std::vector<std::int64_t> lengths;
    for (const Lane& lane : timeline.lanes) {
        const std::optional<Stretch> stretch =
            lane.kind == Lane::Kind::Stream ? stretchOf(lane) : std::nullopt;
        if (!stretch)
            continue;
        for (const Track& row : lane.rows) {
            if (cancelled())
                return {};
            const auto [first, last] = startingIn(row, *stretch);
            for (std::size_t i = first; i < last; ++i)
                if (isChosen(row.name(i), row.hue(i)))
                    lengths.push_back(row.length(i));
        }
    }
    return lengths;
}

std::vector<StretchOf> hostSteps(const std::shared_ptr<const Timeline>& timeline,
                                 std::optional<std::int32_t> step, ProcessIndex process)
{
    std::set<std::int32_t> wanted;
    for (const TimelineStep& each : timeline->steps)
        if (!step || each.step == *step)
            wanted.insert(each.step);
    const auto counted = [process](const Lane& lane) { return !process || lane.process == process; };
    if (timeline->steps.empty())
        return {[counted](const Lane& lane) {
            return counted(lane) ? std::optional(Stretch{INT64_MIN, INT64_MAX}) : std::nullopt;
        }};
    std::vector<StretchOf> stretches;
    for (const std::int32_t number : wanted)
        stretches.emplace_back([timeline, number, counted](const Lane& lane) -> std::optional<Stretch> {
            if (counted(lane))
                for (const TimelineStep& each : timeline->stepsOf(lane.process))
                    if (each.step == number)
                        return Stretch{each.hostStart, each.hostEnd};
            return {};
        });
    return stretches;
}

namespace {

// Calls each(name, hue, self time) for the ops of a thread that start within the stretch.
template <class Each> void forEachOp(const Lane& lane, const Stretch& stretch, Each each)
{
    for (std::size_t r = 0; r < lane.rows.size(); ++r) {
        const Track& row = lane.rows[r];
        const Track* const called = r + 1 < lane.rows.size() ? &lane.rows[r + 1] : nullptr;
        const auto [first, last] = startingIn(row, stretch);
        std::size_t child = called != nullptr && first < last ? called->firstFrom(row.start(first)) : 0;
        for (std::size_t i = first; i < last; ++i) {
            std::int64_t own = row.length(i);
            for (; called != nullptr && child < called->size() && called->start(child) < row.end(i); ++child)
                own -= called->length(child);
            each(row.name(i), row.hue(i), own);
        }
    }
}

// Processes all threads and stretches. Returns false if it was cancelled.
template <class Each>
bool forEachOp(const Timeline& timeline, const std::vector<StretchOf>& stretches,
               const std::function<bool()>& cancelled, Each each)
{
    for (const StretchOf& stretchOf : stretches)
        for (const Lane& lane : timeline.lanes) {
            if (cancelled())
                return false;
            if (lane.kind != Lane::Kind::Thread)
                continue;
            if (const std::optional<Stretch> stretch = stretchOf(lane))
                forEachOp(lane, *stretch, each);
        }
    return true;
}

} // namespace

std::vector<std::int64_t> selfTimesOf(const Timeline& timeline, const ActivityChoice& isChosen,
                                      const std::vector<StretchOf>& stretches,
                                      const std::function<bool()>& cancelled)
{
    std::vector<std::int64_t> times;
    const bool isWhole =
        forEachOp(timeline, stretches, cancelled, [&](std::uint32_t name, Hue hue, std::int64_t own) {
            if (isChosen(name, hue))
                times.push_back(own);
        });
    return isWhole ? times : std::vector<std::int64_t>();
}

std::vector<KernelStat> opStats(const Timeline& timeline, const std::vector<StretchOf>& stretches,
                                const std::function<bool()>& cancelled)
{
    std::vector<Sums> sums(timeline.names.size());
    const bool isWhole =
        forEachOp(timeline, stretches, cancelled,
                  [&](std::uint32_t name, Hue hue, std::int64_t own) { addTo(sums[name], hue, own); });
    return isWhole ? statsOf(sums) : std::vector<KernelStat>();
}

std::optional<TimelineItem> longestInstance(const Timeline& timeline, std::string_view text,
                                            const std::function<bool()>& cancelled)
{
    const std::optional<std::uint32_t> name = findName(timeline, text);
    if (!name)
        return {};
    for (const Lane::Kind kind : {Lane::Kind::Stream, Lane::Kind::Thread}) {
        std::optional<TimelineItem> longest;
        std::int64_t length = -1;
        std::int64_t begin = INT64_MAX;
        for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
            const Lane& lane = timeline.lanes[l];
            for (std::size_t r = 0; lane.kind == kind && r < lane.rows.size(); ++r) {
                if (cancelled())
                    return {};
                const Track& row = lane.rows[r];
                for (std::size_t i = 0; i < row.size(); ++i)
                    if (row.name(i) == *name &&
                        (row.length(i) > length || (row.length(i) == length && row.start(i) < begin))) {
                        longest = TimelineItem{l, r, i};
                        length = row.length(i);
                        begin = row.start(i);
                    }
            }
        }
        if (longest)
            return longest;
    }
    return {};
}

std::optional<std::uint32_t> findName(const Timeline& timeline, std::string_view text)
{
    for (std::uint32_t i = 0; i < timeline.names.size(); ++i)
        if (timeline.names[i].text == text)
            return i;
    return {};
}

std::optional<BusyShare> busyShare(const Timeline& timeline, Stretch stretch, ProcessIndex process)
{
    BusyShare share;
    // A device that several processes share counts for those that run something on it.
    const auto runsOn = [&](DeviceIndex device) {
        return std::ranges::any_of(timeline.lanes, [&](const Lane& lane) {
            return lane.device == device && counts(lane, Lane::Kind::Stream, process);
        });
    };
    for (const Lane& lane : timeline.lanes) {
        if (!counts(lane, Lane::Kind::Busy, process) || (!lane.process && !runsOn(lane.device)))
            continue;
        ++share.devices;
        share.length += lengthOf(stretch);
        const auto covered = lane.rows.front().coveredByHue(stretch.first, stretch.second);
        for (std::size_t hue = 0; hue < covered.size(); ++hue)
            share.time[hue] += covered[hue];
    }
    return share.devices > 0 ? std::optional(share) : std::nullopt;
}

std::optional<std::pair<std::int64_t, std::int64_t>> memoryAcross(const Timeline& timeline, Stretch stretch,
                                                                  ProcessIndex process)
{
    const StepCurve* most = nullptr;
    for (const Lane& lane : timeline.lanes) {
        if (!counts(lane, Lane::Kind::Memory, process) || lane.allocated.empty())
            continue;
        if (most == nullptr || lane.allocated.value(lane.allocated.peak()) > most->value(most->peak()))
            most = &lane.allocated;
    }
    if (most == nullptr)
        return {};
    return std::pair(most->at(stretch.first), most->at(stretch.second));
}

} // namespace tilescope::query
