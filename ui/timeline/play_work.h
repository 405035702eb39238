#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QString>

#include <optional>

namespace tilescope::ui {

// The work of a run at an instant: that of its streams; without a device, that of its threads; without these, the ranges.
// O(rows log(events)).

/// The box that runs at an instant: "softmax", of several lanes "softmax +2", otherwise "idle".
/// \param time  of the timeline
QString runningAt(const query::Timeline& timeline, std::int64_t time);

/// The next (1) or previous (-1) instant at which a box begins; none if there is none.
std::optional<std::int64_t> nextStart(const query::Timeline& timeline, std::int64_t time, int by);

} // namespace tilescope::ui
