#pragma once

#include "ui/kit/workspace.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_alignment.h"

#include <memory>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The data of runs shown one above the other. If any was traced, those that were not have no section.
struct LoadedTimelines {
    std::vector<SelectedRun> runs;     ///< of the sections, in their order
    std::vector<SelectedRun> untraced; ///< the others
    AlignedSections aligned;
    std::vector<std::shared_ptr<const std::vector<RangePair>>> pairs; ///< [s]: of run s with the one above
    Alignment alignment;
    std::vector<std::string> paths; ///< that runs can be aligned at
    bool anything = false;          ///< whether any run has lanes
    bool lacksStacks = false;       ///< a run has stacks of Python, which were not asked for
    bool complete = false;          ///< false if it was cancelled
};

/// Reads the runs' timelines and prepares them. Not for the GUI thread.
/// \param frames        with the stacks of Python, which take longer to read
/// \param arrangements  of the lanes, one per run
/// \param alignment     none: the first traced step
/// \throws Error        a file cannot be read
LoadedTimelines loadTimelines(const std::vector<SelectedRun>& runs,
                              const std::vector<LaneArrangement>& arrangements,
                              const std::optional<Alignment>& alignment, bool equalLengths, bool frames,
                              const query::Cancelled& cancelled);

} // namespace tilescope::ui
