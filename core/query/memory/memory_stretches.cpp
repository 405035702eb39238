#include "core/query/memory/memory_stretches.h"

#include "core/analysis/time/path_glob.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

namespace {

struct Interval {
    std::int64_t from = 0;
    std::int64_t to = 0;
};

/// The group to which a range belongs; empty if there is none.
std::string stretchKey(Grouping grouping, std::string_view path, std::int32_t step)
{
    const std::string_view below = analysis::fromStepDown(path);
    const std::string_view phase = analysis::phaseOf(path);
    switch (grouping) {
    case Grouping::Step:
        return below == "step" ? "step " + std::to_string(step) : std::string();
    case Grouping::Phase:
        // The phase itself, without its children.
        return below.ends_with(phase) && below.size() == phase.size() + 5 ? std::string(phase)
                                                                          : std::string();
    case Grouping::Range:
        return std::string(below);
    case Grouping::Module:
        return std::string(analysis::moduleOf(path));
    default:
        return {};
    }
}

/// Bytes that were allocated until an instant, from the first event on.
class Churn {
public:
    explicit Churn(const MemoryHistory& history)
    {
        std::int64_t sum = 0;
        for (const AllocEvent& event : history.events)
            if (event.action == AllocAction::Alloc) {
                times_.push_back((event.time - history.origin).count());
                sums_.push_back(sum += event.bytes);
            }
    }
    std::int64_t within(const Interval& interval) const
    {
        return before(interval.to + 1) - before(interval.from);
    }

private:
    std::int64_t before(std::int64_t time) const
    {
        const auto at = std::ranges::lower_bound(times_, time);
        return at == times_.begin() ? 0 : sums_[static_cast<std::size_t>(at - times_.begin()) - 1];
    }
    std::vector<std::int64_t> times_;
    std::vector<std::int64_t> sums_;
};

using Intervals = std::map<std::string, std::vector<Interval>>;

void addRanges(Intervals& intervals, const store::RunReader& reader, const MemoryHistory& history,
               Grouping grouping)
{
    reader.eachRange({.run = history.run.run}, [&](const Range& range) {
        if (range.step == kNoStep)
            return true;
        if (std::string key = stretchKey(grouping, reader.text(range.path), range.step); !key.empty())
            intervals[std::move(key)].push_back(
                {(range.start - history.origin).count(), (range.end - history.origin).count()});
        return true;
    });
}

/// Backward runs the modules' nodes without their ranges: theirs is the time of their allocation events.
void addBackward(Intervals& intervals, const store::RunReader& reader, const MemoryHistory& history,
                 Grouping grouping)
{
    std::map<std::pair<std::int32_t, StringId>, Interval> seen;
    for (const AllocEvent& event : history.events) {
        if (event.step == kNoStep || !event.path)
            continue;
        const std::int64_t time = (event.time - history.origin).count();
        const auto [place, isNew] = seen.try_emplace({event.step, event.path}, Interval{time, time});
        place->second.to = time;
    }
    std::map<std::pair<std::int32_t, std::string>, Interval> byModule;
    for (const auto& [where, interval] : seen) {
        const std::string_view path = reader.text(where.second);
        if (analysis::phaseOf(path) != "backward")
            continue;
        std::string_view module = analysis::moduleOf(path);
        // A module's backward is its parts' too.
        for (; !module.empty(); module = module.substr(0, module.find_last_of('/'))) {
            const std::string key =
                grouping == Grouping::Range ? "step/backward/" + std::string(module) : std::string(module);
            const auto [place, isNew] = byModule.try_emplace({where.first, key}, interval);
            place->second.from = std::min(place->second.from, interval.from);
            place->second.to = std::max(place->second.to, interval.to);
            if (module.find('/') == std::string_view::npos)
                break;
        }
    }
    for (const auto& [where, interval] : byModule)
        intervals[where.second].push_back(interval);
}

} // namespace

std::map<std::string, MemoryStretch> memoryStretches(const store::RunReader& reader,
                                                     const MemoryHistory& history, Grouping grouping)
{
    std::map<std::string, MemoryStretch> stretches;
    if (history.empty())
        return stretches;
    Intervals intervals;
    addRanges(intervals, reader, history, grouping);
    if (grouping == Grouping::Range || grouping == Grouping::Module)
        addBackward(intervals, reader, history, grouping);
    const Churn churn(history);
    for (auto& [key, instances] : intervals) {
        std::ranges::stable_sort(instances, {}, &Interval::from);
        MemoryStretch& stretch = stretches[key];
        stretch.instances = static_cast<std::int64_t>(instances.size());
        // The first event of an instance already counts as part of the instance.
        stretch.before = history.allocated.at(instances.front().from - 1);
        stretch.after = history.allocated.at(instances.front().to);
        for (const Interval& interval : instances) {
            stretch.peak =
                std::max(stretch.peak, history.allocated.extremes(interval.from - 1, interval.to).second);
            stretch.churn += churn.within(interval);
        }
        stretch.churn /= stretch.instances;
    }
    return stretches;
}

} // namespace tilescope::query
