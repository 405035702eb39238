#pragma once

#include "core/query/timeline/timeline_levels.h"

#include <cstdint>
#include <vector>

namespace tilescope::ui {

/// A stretch of pixel columns of one row that are drawn alike: the draw list of a timeline's boxes.
struct BoxRun {
    static constexpr std::uint8_t kLevels = 8;

    int from = 0; ///< pixel columns [from, to)
    int to = 0;
    query::Hue hue = query::Hue::Other;
    std::uint8_t level = 0; ///< coverage in eighths, rounded; 0 if only events without length are
    std::uint32_t item = query::Column::kNothing; ///< the one event that it shows, or kSeveral

    bool operator==(const BoxRun&) const = default;
};

/// A box that is wide enough for a label and an outline.
struct BoxSpan {
    int from = 0;
    int to = 0;
    std::uint32_t item = 0;
};

/// The appearance of one row.
struct RowBoxes {
    std::vector<BoxRun> runs;   ///< in order, disjoint; columns without events have none
    std::vector<BoxSpan> spans; ///< single events of at least kMinimumSpan columns
};

/// Minimum width in pixel columns of an individual box with a seam to its neighbour.
inline constexpr int kMinimumSpan = 5;

/// The boxes of `track` in columns of `perColumn` nanoseconds from `from` on. Adjacent columns that look
/// alike become one run, so there are never more runs than columns.
/// \param scratch  reused between calls
void makeBoxes(const query::Track& track, double from, double perColumn, int columns,
               std::vector<query::Column>& scratch, RowBoxes& boxes);

} // namespace tilescope::ui
