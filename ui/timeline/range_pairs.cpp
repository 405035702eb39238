#include "ui/timeline/range_pairs.h"

#include "core/analysis/time/path_glob.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tilescope::ui {

using query::Lane;
using query::Timeline;
using query::TimelineItem;

namespace {

struct RangeBox {
    TimelineItem item;
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::uint32_t name = 0;
};

/// Calls `visit` with the place, the row and the index in it of every range. A row is in the order of start.
template <typename Visit> void eachRange(const Timeline& timeline, const Visit& visit)
{
    for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        const Lane& lane = timeline.lanes[l];
        if (lane.kind != Lane::Kind::Ranges)
            continue;
        for (std::size_t r = 0; r < lane.rows.size(); ++r)
            for (std::size_t i = 0; i < lane.rows[r].size(); ++i)
                visit(TimelineItem{l, r, i}, lane.rows[r], i);
    }
}

std::vector<RangeBox> rangesOf(const Timeline& timeline)
{
    std::vector<RangeBox> boxes;
    eachRange(timeline, [&boxes](const TimelineItem& item, const auto& row, std::size_t i) {
        boxes.push_back({item, row.start(i), row.end(i), row.name(i)});
    });
    std::sort(boxes.begin(), boxes.end(),
              [](const RangeBox& a, const RangeBox& b) { return a.from < b.from; });
    return boxes;
}

int depthOf(std::string_view path)
{
    return 1 + int(std::count(path.begin(), path.end(), '/'));
}

// trace/step/forward and step/forward are the same: components above the step are ignored.
std::string_view fromStep(std::string_view path)
{
    path = analysis::fromStepDown(path);
    return path == "step" || analysis::belowStep(path) != path ? path : std::string_view{};
}

} // namespace

std::vector<RangePair> pairRanges(const Timeline& a, const Timeline& b)
{
    std::unordered_map<std::string_view, std::vector<RangeBox>> ofB;
    for (const RangeBox& box : rangesOf(b))
        if (const std::string_view path = fromStep(b.names[box.name].text); !path.empty())
            ofB[path].push_back(box);
    std::unordered_map<std::string_view, std::size_t> seen;
    std::vector<RangePair> pairs;
    for (const RangeBox& box : rangesOf(a)) {
        const std::string_view path = fromStep(a.names[box.name].text);
        const auto same = path.empty() ? ofB.end() : ofB.find(path);
        if (same == ofB.end())
            continue;
        const std::size_t nth = seen[path]++;
        if (nth >= same->second.size())
            continue;
        const RangeBox& other = same->second[nth];
        pairs.push_back({box.item, other.item, box.from, box.to, other.from, other.to, depthOf(path),
                         a.lanes[box.item.lane].rows[box.item.row].hue(box.item.index)});
    }
    return pairs;
}

std::optional<TimelineItem> pairOf(const Timeline& a, const TimelineItem& item, const Timeline& b)
{
    for (const RangePair& pair : pairRanges(a, b))
        if (pair.a == item)
            return pair.b;
    return {};
}

std::vector<std::string_view> pathsToAlignAt(const Timeline& timeline, std::size_t most)
{
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> firstByName(timeline.names.size(), kNever);
    eachRange(timeline, [&firstByName](const TimelineItem&, const auto& row, std::size_t i) {
        std::int64_t& first = firstByName[row.name(i)];
        first = std::min(first, row.start(i));
    });
    std::unordered_map<std::string_view, std::int64_t> firstByPath;
    for (std::size_t name = 0; name < firstByName.size(); ++name) {
        if (firstByName[name] == kNever)
            continue;
        const std::string_view path = fromStep(timeline.names[name].text);
        if (path.empty() || depthOf(path) < 2)
            continue;
        std::int64_t& first = firstByPath.try_emplace(path, kNever).first->second;
        first = std::min(first, firstByName[name]);
    }
    std::vector<std::pair<std::int64_t, std::string_view>> order;
    for (const auto& [path, first] : firstByPath)
        order.emplace_back(first, path);
    std::ranges::sort(order);
    std::vector<std::string_view> paths;
    for (const auto& [first, path] : order)
        if (paths.size() < most)
            paths.push_back(path);
    return paths;
}

std::optional<std::pair<std::int64_t, std::int64_t>> firstOf(const Timeline& timeline, std::string_view path,
                                                             std::int64_t from, std::int64_t to)
{
    std::vector<bool> isOfPath;
    for (const query::TimelineName& name : timeline.names)
        isOfPath.push_back(fromStep(name.text) == path);
    std::optional<std::pair<std::int64_t, std::int64_t>> first;
    eachRange(timeline, [&](const TimelineItem&, const auto& row, std::size_t i) {
        const std::int64_t start = row.start(i);
        if (isOfPath[row.name(i)] && start >= from && start < to && (!first || start < first->first))
            first.emplace(start, row.end(i));
    });
    return first;
}

} // namespace tilescope::ui
