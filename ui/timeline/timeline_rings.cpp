#include "ui/timeline/timeline_rings.h"

#include <algorithm>

namespace tilescope::ui {

BoxSet::BoxSet(const std::vector<SectionItem>& items)
{
    for (const SectionItem& one : items)
        rows_[{one.section, one.item.lane, one.item.row}].push_back(std::uint32_t(one.item.index));
    for (auto& [row, indices] : rows_) {
        std::sort(indices.begin(), indices.end());
        indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    }
}

void BoxSet::add(std::size_t section, const query::TimelineItem& item)
{
    rows_[{section, item.lane, item.row}].push_back(std::uint32_t(item.index));
}

BoxSet BoxSet::mapped(const std::function<std::optional<SectionItem>(const SectionItem&)>& now) const
{
    std::vector<SectionItem> items;
    for (const auto& [row, indices] : rows_)
        for (const std::uint32_t index : indices)
            if (const auto item = now({row.section, {row.lane, row.row, index}}))
                items.push_back(*item);
    return BoxSet(items);
}

std::size_t BoxSet::size() const
{
    std::size_t total = 0;
    for (const auto& [row, indices] : rows_)
        total += indices.size();
    return total;
}

namespace {

// The position of a box in the order of boxes.
struct Place {
    std::size_t section;
    std::int64_t start;
    std::size_t lane, row, index;

    auto operator<=>(const Place&) const = default;
};

Place placeOf(const std::vector<TimelineSection>& sections, const SectionItem& item)
{
    const query::Track& track = sections[item.section].timeline->lanes[item.item.lane].rows[item.item.row];
    return {item.section, track.start(item.item.index), item.item.lane, item.item.row, item.item.index};
}

} // namespace

std::size_t BoxSet::rank(const std::vector<TimelineSection>& sections, const SectionItem& item) const
{
    const Place place = placeOf(sections, item);
    std::size_t before = 0;
    for (const auto& entry : rows_) {
        const Row& row = entry.first;
        const std::vector<std::uint32_t>& indices = entry.second;
        const auto end = std::partition_point(indices.begin(), indices.end(), [&](std::uint32_t i) {
            return placeOf(sections, {row.section, {row.lane, row.row, i}}) < place;
        });
        before += std::size_t(end - indices.begin());
    }
    return before;
}

std::optional<SectionItem> BoxSet::neighbour(const std::vector<TimelineSection>& sections,
                                             const std::optional<SectionItem>& item, int by) const
{
    const Place place = item ? placeOf(sections, *item) : Place{};
    std::optional<SectionItem> nearest;  // on the wanted side
    std::optional<SectionItem> farthest; // on the other side, for wrapping around
    const auto closer = [&](const SectionItem& a, const std::optional<SectionItem>& b) {
        return !b || (by > 0 ? placeOf(sections, a) < placeOf(sections, *b)
                             : placeOf(sections, *b) < placeOf(sections, a));
    };
    for (const auto& entry : rows_) {
        const Row& row = entry.first;
        const std::vector<std::uint32_t>& indices = entry.second;
        const auto at = [&](std::ptrdiff_t i) {
            return SectionItem{row.section, {row.lane, row.row, indices[std::size_t(i)]}};
        };
        const auto beyond = std::partition_point(indices.begin(), indices.end(), [&](std::uint32_t i) {
            const Place other = placeOf(sections, {row.section, {row.lane, row.row, i}});
            return by > 0 ? other <= place : other < place;
        });
        const std::ptrdiff_t next = beyond - indices.begin() - (by > 0 ? 0 : 1);
        if (item && next >= 0 && next < std::ptrdiff_t(indices.size()) && closer(at(next), nearest))
            nearest = at(next);
        const SectionItem end = at(by > 0 ? 0 : std::ptrdiff_t(indices.size()) - 1);
        if (closer(end, farthest))
            farthest = end;
    }
    return nearest ? nearest : farthest;
}

std::span<const std::uint32_t> BoxSet::of(std::size_t section, std::size_t lane, std::size_t row) const
{
    const auto found = rows_.find({section, lane, row});
    if (found == rows_.end())
        return {};
    return found->second;
}

std::vector<Ring> ringsOf(const query::Track& track, std::span<const std::uint32_t> boxes, double from,
                          double perPixel, double width)
{
    std::vector<Ring> rings;
    if (perPixel <= 0)
        return rings;
    const auto xOf = [&](std::int64_t time) { return (double(time) - from) / perPixel; };
    auto next = std::partition_point(boxes.begin(), boxes.end(),
                                     [&](std::uint32_t i) { return double(track.end(i)) < from; });
    while (next != boxes.end() && xOf(track.start(*next)) <= width) {
        Ring ring{xOf(track.start(*next)), xOf(track.end(*next)), false};
        for (++next; next != boxes.end();) {
            const auto apart = std::partition_point(
                next, boxes.end(), [&](std::uint32_t i) { return xOf(track.start(i)) < ring.to + kRingGap; });
            if (apart == next)
                break;
            ring.to = xOf(track.end(*(apart - 1)));
            ring.several = true;
            next = apart;
            if (ring.to > width)
                break;
        }
        rings.push_back(ring);
    }
    return rings;
}

} // namespace tilescope::ui
