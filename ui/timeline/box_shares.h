#pragma once

#include "core/query/timeline/timeline_levels.h"

#include <cstdint>
#include <vector>

namespace tilescope::ui {

/// Pixel columns of one row in which a hue takes the same part of the height: how a row looks where a column holds many
/// events, of which one colour would tell little.
struct BoxShare {
    static constexpr int kParts = 64; ///< of the height of the row

    int from = 0; ///< pixel columns [from, to)
    int to = 0;
    query::Hue hue = query::Hue::Other;
    std::uint8_t low = 0; ///< [low, high) from below, in parts: the time of the hue
    std::uint8_t high = 0;

    bool operator==(const BoxShare&) const = default;
};

/// Whether the columns hold at least four events on average, so that shares say more than boxes.
bool holdsManyPerColumn(const query::Track& track, double from, double perColumn, int columns);

/// The covered time of each column by hue, stacked in the order of the hues. Adjacent columns that look alike share an
/// entry. O(columns * (log(events) + Track::kBlock + hues)).
void makeShares(const query::Track& track, double from, double perColumn, int columns,
                std::vector<BoxShare>& shares);

} // namespace tilescope::ui
