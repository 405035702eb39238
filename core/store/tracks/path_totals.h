#pragma once

#include "core/analysis/path/path_part.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace tilescope::store {

/// What the critical path of a step of one process spends its time on.
struct StepPathTotal {
    std::optional<std::int32_t> step = {}; ///< none: the whole recording, which has no steps
    ProcessIndex process = {};             ///< none: the only one of the run
    Timestamp start{};
    Timestamp end{};
    analysis::PathParts parts = {}; ///< add up to the time from start to end

    bool operator==(const StepPathTotal&) const = default;
};

/// Runs of fewer events need none: their paths are found as fast as they are read.
inline constexpr std::int64_t kFewestForPathTotals = 50'000;

/// Stores the totals of all steps of a run that has ended and has none. Takes the writer lock of the file.
/// \param totals  times as RunReader gives them
/// \param rules   by which the paths were found
/// \throws Error  no such run, the file has a writer or cannot be written
void writePathTotals(const std::filesystem::path& file, RunId run, std::span<const StepPathTotal> totals,
                     std::int64_t rules = analysis::kPathRules);

} // namespace tilescope::store
