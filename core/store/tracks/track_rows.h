#pragma once

#include "core/store/rows/event_rows.h"
#include "core/store/rows/sorted_rows.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tilescope::store {

/// The columns of an event that tracks and totals need: the values of trackColumns(), in their order.
struct TrackRow {
    EventKind kind = EventKind::Range;
    SortedRows::Row values{};

    std::int64_t start() const { return values[0]; }
};

/// The columns of a kind; none if it has no boxes.
std::span<const std::string_view> trackColumns(EventKind kind);

/// \param row  the integers of a whole row
TrackRow trackRow(EventKind kind, const std::int64_t* row);

} // namespace tilescope::store
