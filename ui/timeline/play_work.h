#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QString>

#include <optional>

namespace tilescope::ui {

// What a run does at an instant. Its work is that of the streams; of a run without a device that of the threads, and
// without these the ranges. O(rows log(events)).

/// The box that runs at an instant: "softmax", of several lanes "softmax +2", otherwise "idle".
/// \param time  of the timeline
QString runningAt(const query::Timeline& timeline, std::int64_t time);

/// The next (1) or previous (-1) instant at which a box begins; none if there is none.
std::optional<std::int64_t> nextStart(const query::Timeline& timeline, std::int64_t time, int by);

} // namespace tilescope::ui
