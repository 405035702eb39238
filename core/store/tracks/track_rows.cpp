#include "core/store/tracks/track_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tilescope::store {

namespace {

using Names = std::string_view;

constexpr Names kRange[] = {"start", "duration", "path", "thread", "step"};
constexpr Names kOp[] = {"start", "duration", "name", "thread", "path", "step", "id", "parent", "shapes"};
constexpr Names kApiCall[] = {"start", "duration", "name", "thread", "kind"};
constexpr Names kKernel[] = {"start", "duration", "name", "device", "stream",      "queued",
                             "path",  "step",     "op",   "thread", "correlation", "graph_node"};
constexpr Names kCopy[] = {"start", "duration", "name",   "device",      "stream",     "queued", "path",
                           "step",  "op",       "thread", "correlation", "graph_node", "kind"};
static_assert(std::size(kCopy) == SortedRows::kMostColumns);

/// By position in TrackRow::values: the index in a whole row.
using Places = std::array<std::size_t, SortedRows::kMostColumns>;

Places placesOf(EventKind kind)
{
    Places places{};
    const auto all = eventTable(kind).columns;
    std::ranges::transform(trackColumns(kind), places.begin(), [&all](std::string_view column) {
        return static_cast<std::size_t>(std::ranges::find(all, column) - all.begin());
    });
    return places;
}

} // namespace

std::span<const std::string_view> trackColumns(EventKind kind)
{
    switch (kind) {
    case EventKind::Range:
        return kRange;
    case EventKind::Op:
        return kOp;
    case EventKind::ApiCall:
        return kApiCall;
    case EventKind::Kernel:
        return kKernel;
    case EventKind::Copy:
        return kCopy;
    case EventKind::Allocation:
    case EventKind::Frame:
        break;
    }
    return {};
}

TrackRow trackRow(EventKind kind, const std::int64_t* row)
{
    static const auto places = [] {
        std::array<Places, kEventKinds> all;
        for (std::size_t i = 0; i < kEventKinds; ++i)
            all[i] = placesOf(static_cast<EventKind>(i));
        return all;
    }();
    TrackRow result{.kind = kind};
    const Places& from = places[static_cast<std::size_t>(kind)];
    for (std::size_t i = 0; i < trackColumns(kind).size(); ++i)
        result.values[i] = row[from[i]];
    return result;
}

} // namespace tilescope::store
