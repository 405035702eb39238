#pragma once

#include "ui/timeline/timeline_layout.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The instant of each run at the zero of the axis.
struct Alignment {
    std::int32_t step = kNoStep; ///< none: the start of the run
    std::string path = {};       ///< the first range of that path within the step; empty: the step itself
    bool equalLengths = false;   ///< drawn equally long in every run

    bool operator==(const Alignment&) const = default;
};

/// Aligned sections, and the window that shows the aligned part.
struct AlignedSections {
    std::vector<TimelineSection> sections;
    std::optional<TimeWindow> window; ///< null if no run has it
};

/// A run that has no such step or range keeps its own start at 0. Sorts the ranges: not for the GUI thread.
AlignedSections alignedAt(std::vector<TimelineSection> sections, const Alignment& alignment);

} // namespace tilescope::ui
