#include "core/query/memory/memory_layout.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tilescope::query {

namespace {

constexpr std::size_t kMostBoxes = 400'000;
constexpr std::int64_t kClose = 64 << 10; ///< blocks with at most this distance are in one area

/// The begin and end of a block within the history.
std::pair<std::int64_t, std::int64_t> lifeOf(const MemoryHistory& history, const MemoryLife& block)
{
    const std::int64_t first = std::min<std::int64_t>(0, history.allocated.time(0));
    return {std::max(block.begin, first), std::min(block.end, history.length)};
}

/// The largest blocks, in the order of their allocations.
std::vector<std::uint32_t> largest(const MemoryHistory& history, std::size_t most)
{
    std::vector<std::uint32_t> order(history.blocks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = i;
    if (most < order.size()) {
        const auto isLarger = [&](std::uint32_t a, std::uint32_t b) {
            const std::int64_t left = history.blocks[a].bytes;
            const std::int64_t right = history.blocks[b].bytes;
            return left != right ? left > right : a < b;
        };
        std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(most), isLarger);
        order.resize(most);
        std::ranges::sort(order);
    }
    return order;
}

/// Collects ranges of addresses and joins those that overlap.
std::vector<MemoryArea> joined(std::vector<MemoryArea> ranges, std::uint64_t gap)
{
    std::ranges::sort(ranges, {}, &MemoryArea::address);
    std::vector<MemoryArea> areas;
    for (const MemoryArea& range : ranges) {
        const std::uint64_t end = range.address + static_cast<std::uint64_t>(range.bytes);
        // Without a gap segments that only touch stay two: no block spans them.
        if (!areas.empty() &&
            range.address < areas.back().address + static_cast<std::uint64_t>(areas.back().bytes) + gap)
            areas.back().bytes = static_cast<std::int64_t>(
                std::max(end, areas.back().address + static_cast<std::uint64_t>(areas.back().bytes)) -
                areas.back().address);
        else
            areas.push_back(range);
    }
    return areas;
}

/// What was ever mapped of expandable segments. Parts of one that were mapped after each other touch, and
/// blocks span them: they are one range.
void addMapped(std::vector<MemoryArea>& ranges, const MemoryHistory& history)
{
    std::vector<MemoryArea> mapped;
    for (const MemorySegment& segment : history.segments)
        if (segment.isExpandable)
            mapped.push_back({segment.address, segment.bytes});
    for (const AllocEvent& event : history.events)
        if (event.action == AllocAction::SegmentMap)
            mapped.push_back({event.address, event.bytes});
    std::ranges::move(joined(std::move(mapped), 1), std::back_inserter(ranges));
}

/// All segments; for an allocator without segments, the addresses of its blocks.
std::vector<MemoryArea> areasOf(const MemoryHistory& history, const std::vector<std::uint32_t>& shown)
{
    std::vector<MemoryArea> ranges;
    for (const MemorySegment& segment : history.segments)
        if (!segment.isExpandable)
            ranges.push_back({segment.address, segment.bytes});
    for (const AllocEvent& event : history.events)
        if (event.action == AllocAction::SegmentAlloc)
            ranges.push_back({event.address, event.bytes});
    addMapped(ranges, history);
    const bool hasSegments = !ranges.empty();
    for (const std::uint32_t i : shown)
        ranges.push_back({history.blocks[i].address, std::max<std::int64_t>(1, history.blocks[i].bytes)});
    return joined(std::move(ranges), hasSegments ? 0 : kClose);
}

/// Puts the areas on each other, with a hair between them.
void standOnEachOther(MemoryLayout& layout, std::int64_t foot)
{
    std::int64_t total = 0;
    for (const MemoryArea& area : layout.areas)
        total += area.bytes;
    const auto count = static_cast<std::int64_t>(layout.areas.size());
    const std::int64_t gap = count < 2 ? 0 : std::min(total / 150, total / (8 * count));
    std::int64_t low = foot == 0 ? 0 : foot + std::max(gap, total / 100);
    for (MemoryArea& area : layout.areas) {
        area.low = low;
        low += area.bytes + gap;
    }
    layout.height = std::max<std::int64_t>(1, layout.areas.empty() ? foot : low - gap);
}

void placeByAddress(MemoryLayout& layout, const MemoryHistory& history,
                    const std::vector<std::uint32_t>& shown)
{
    layout.areas = areasOf(history, shown);
    standOnEachOther(layout, layout.restMost);
    for (const std::uint32_t i : shown) {
        const MemoryLife& block = history.blocks[i];
        const auto [from, to] = lifeOf(history, block);
        const MemoryArea* area = layout.areaOf(block.address);
        if (to <= from || area == nullptr)
            continue;
        const std::int64_t low = area->low + static_cast<std::int64_t>(block.address - area->address);
        layout.boxes.push_back({from, to, low, low + block.bytes, i});
    }
}

/// Blocks that are currently stacked.
class Stack {
public:
    explicit Stack(std::vector<MemoryBox>& boxes) : boxes_(boxes) {}

    void add(std::uint32_t block, std::int64_t bytes, std::int64_t time)
    {
        lying_.push_back({time, 0, top_, top_ + bytes, block});
        top_ += bytes;
    }

    void remove(std::uint32_t block, std::int64_t time)
    {
        auto at = std::find_if(lying_.rbegin(), lying_.rend(),
                               [block](const MemoryBox& box) { return box.block == block; });
        const auto place = static_cast<std::size_t>(lying_.rend() - at) - 1;
        const std::int64_t bytes = lying_[place].high - lying_[place].low;
        finish(lying_[place], time);
        for (std::size_t i = place + 1; i < lying_.size(); ++i) {
            MemoryBox& box = lying_[i];
            finish(box, time);
            box = {time, 0, box.low - bytes, box.high - bytes, box.block};
        }
        lying_.erase(lying_.begin() + static_cast<std::ptrdiff_t>(place));
        top_ -= bytes;
    }

    void finishAll(std::int64_t time)
    {
        for (MemoryBox& box : lying_)
            finish(box, time);
    }

private:
    void finish(MemoryBox box, std::int64_t time)
    {
        box.to = time;
        if (box.to > box.from)
            boxes_.push_back(box);
    }

    std::vector<MemoryBox>& boxes_;
    std::vector<MemoryBox> lying_;
    std::int64_t top_ = 0;
};

/// False if that takes more boxes than the limit.
bool placeStacked(MemoryLayout& layout, const MemoryHistory& history, const std::vector<std::uint32_t>& shown)
{
    layout.boxes.clear();
    std::vector<std::uint32_t> ends = shown;
    std::ranges::stable_sort(ends, {}, [&](std::uint32_t i) { return history.blocks[i].end; });
    Stack stack(layout.boxes);
    std::size_t ended = 0;
    const auto endUntil = [&](std::int64_t time) {
        for (; ended < ends.size() && history.blocks[ends[ended]].end <= time; ++ended)
            stack.remove(ends[ended], history.blocks[ends[ended]].end);
    };
    for (const std::uint32_t i : shown) {
        const MemoryLife& block = history.blocks[i];
        endUntil(block.begin);
        stack.add(i, block.bytes, lifeOf(history, block).first);
        if (layout.boxes.size() > kMostBoxes)
            return false;
    }
    endUntil(history.length);
    stack.finishAll(history.length);
    layout.height = std::max<std::int64_t>(1, history.allocated.value(history.allocated.peak()));
    return layout.boxes.size() <= kMostBoxes;
}

double byteTime(const MemoryHistory& history, const MemoryLife& block)
{
    const auto [from, to] = lifeOf(history, block);
    return static_cast<double>(block.bytes) * static_cast<double>(std::max<std::int64_t>(0, to - from));
}

} // namespace

std::int64_t MemoryLayout::restAt(const MemoryHistory& history, std::int64_t time) const
{
    if (!rest_.empty())
        return rest_.at(time);
    const std::int64_t counted = std::max(time, history.allocated.time(0));
    const std::int64_t drawn = drawn_.empty() || counted < drawn_.time(0) ? 0 : drawn_.at(counted);
    return history.allocated.at(counted) - drawn;
}

void MemoryLayout::setRest(const MemoryHistory& history, const std::vector<std::uint32_t>& shown)
{
    const StepCurve& count = history.allocated;
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;
    changes.reserve(2 * shown.size());
    for (const std::uint32_t i : shown) {
        const MemoryLife& block = history.blocks[i];
        changes.emplace_back(std::max(block.begin, count.time(0)), block.bytes);
        if (block.end != MemoryLife::kAfter)
            changes.emplace_back(block.end, -block.bytes);
    }
    std::ranges::sort(changes, {}, &std::pair<std::int64_t, std::int64_t>::first);
    StepCurveDrawing drawn;
    StepCurveDrawing rest;
    std::int64_t bytes = 0;
    restMost = 0;
    std::size_t change = 0;
    std::size_t counted = 0;
    while (change < changes.size() || counted < count.size()) {
        const std::int64_t time =
            std::min(change < changes.size() ? changes[change].first : MemoryLife::kAfter,
                     counted < count.size() ? count.time(counted) : MemoryLife::kAfter);
        for (; change < changes.size() && changes[change].first == time; ++change)
            bytes += changes[change].second;
        while (counted < count.size() && count.time(counted) == time)
            ++counted;
        const std::int64_t left = (counted == 0 ? 0 : count.value(counted - 1)) - bytes;
        restMost = std::max(restMost, left);
        drawn.add(time, bytes);
        // No longer than the other: only the shorter is kept.
        if (rest.changes() <= 2 * shown.size())
            rest.add(time, left);
    }
    const bool isRestShorter = rest.changes() <= drawn.changes();
    rest_ = isRestShorter ? rest.curve() : StepCurve();
    drawn_ = isRestShorter ? StepCurve() : drawn.curve();
}

void MemoryLayout::index()
{
    std::ranges::stable_sort(boxes, {}, &MemoryBox::from);
    latestEnds_.assign((boxes.size() + kStretch - 1) / kStretch, MemoryLife::kBefore);
    for (std::size_t i = 0; i < boxes.size(); ++i)
        latestEnds_[i / kStretch] = std::max(latestEnds_[i / kStretch], boxes[i].to);
}

const MemoryArea* MemoryLayout::areaOf(std::uint64_t address) const
{
    const auto after = std::ranges::upper_bound(areas, address, {}, &MemoryArea::address);
    if (after == areas.begin())
        return nullptr;
    const MemoryArea& area = *(after - 1);
    return address < area.address + static_cast<std::uint64_t>(area.bytes) ? &area : nullptr;
}

std::optional<std::size_t> MemoryLayout::hit(double time, double bytes, double slackTime,
                                             double slackBytes) const
{
    std::optional<std::size_t> nearest;
    double distance = 0;
    eachWithin(time - slackTime, time + slackTime + 1, [&](std::size_t i) {
        const MemoryBox& box = boxes[i];
        const auto beyond = [](double at, std::int64_t from, std::int64_t to) {
            return std::max({static_cast<double>(from) - at, at - static_cast<double>(to), 0.0});
        };
        const double away = beyond(bytes, box.low, box.high);
        if (away > slackBytes)
            return;
        const double far =
            away / std::max(slackBytes, 1e-9) + beyond(time, box.from, box.to) / std::max(slackTime, 1e-9);
        if (!nearest || far < distance) {
            nearest = i;
            distance = far;
        }
    });
    return nearest;
}

std::shared_ptr<const MemoryLayout> memoryLayout(const MemoryHistory& history, MemoryPlacing placing,
                                                 std::size_t most, const std::function<bool()>& cancelled)
{
    auto layout = std::make_shared<MemoryLayout>();
    layout->placing = placing;
    if (history.empty())
        return layout;
    std::vector<std::uint32_t> shown = largest(history, most);
    if (placing == MemoryPlacing::Stacked)
        while (!placeStacked(*layout, history, shown)) {
            if (cancelled && cancelled())
                return nullptr;
            shown = largest(history, shown.size() / 2);
        }
    layout->setRest(history, shown);
    if (placing == MemoryPlacing::Address)
        placeByAddress(*layout, history, shown);
    layout->blocks = shown.size();
    double all = 0;
    double ours = 0;
    for (const MemoryLife& block : history.blocks)
        all += byteTime(history, block);
    layout->least = shown.empty() ? 0 : MemoryLife::kAfter;
    for (const std::uint32_t i : shown) {
        ours += byteTime(history, history.blocks[i]);
        layout->least = std::min(layout->least, history.blocks[i].bytes);
    }
    layout->byteShare = all > 0 ? ours / all : 1;
    layout->index();
    return cancelled && cancelled() ? nullptr : layout;
}

} // namespace tilescope::query
