#pragma once

#include "ui/kit/workspace.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/range_pairs.h"
#include "ui/timeline/timeline_alignment.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::ui {

/// Maximum number of timelines shown together. More would not be readable, and all events of each are in memory.
inline constexpr std::size_t kMostTimelines = 32;

/// The data of the traced ones of some runs, shown one above the other: at most the first kMostTimelines.
struct LoadedTimelines {
    std::vector<SelectedRun> runs;     ///< of the sections, in their order
    std::vector<SelectedRun> untraced; ///< have no section
    std::size_t left = 0;              ///< number of runs after the last section, which were not read
    AlignedSections aligned;
    std::vector<std::shared_ptr<const std::vector<RangePair>>> pairs; ///< [s]: of run s with the one above
    Alignment alignment;
    std::vector<std::string> paths; ///< that runs can be aligned at
    bool anything = false;          ///< whether any run has lanes
    bool lacksStacks = false;       ///< a run has Python stacks, which were not requested
    bool complete = false;          ///< false if it was cancelled
};

/// Reads the runs' timelines and prepares them. Not for the GUI thread.
/// \param frames        with the stacks of Python, which take longer to read
/// \param arrangements  of the lanes, by the file of the run; none: the lanes as they are
/// \param alignment     none: the first traced step
/// \throws Error        a file cannot be read
LoadedTimelines loadTimelines(const std::vector<SelectedRun>& runs,
                              const std::map<std::filesystem::path, LaneArrangement>& arrangements,
                              const std::optional<Alignment>& alignment, bool equalLengths, bool frames,
                              const query::Cancelled& cancelled);

} // namespace tilescope::ui
