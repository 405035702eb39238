#pragma once

#include "core/model/run.h"

#include <cstddef>
#include <string>

namespace tilescope {

/// The numbers of runs by status.
struct RunCounts {
    std::size_t runs = 0;
    std::size_t ok = 0;
    std::size_t outOfMemory = 0;
    std::size_t skipped = 0;
    std::size_t failed = 0; ///< in error or interrupted
    std::size_t cancelled = 0;
    std::size_t running = 0;

    void add(RunStatus status);
    /// `35 of 36 ok, 1 out of memory`.
    std::string text() const { return textOf(runs); }
    /// The same of the points of a study, of which some may not have been run.
    std::string textOf(std::size_t points) const;
    /// The runs that are not ok, after a comma: `, 1 out of memory, 2 skipped`; empty if there are none.
    std::string others() const;
    bool operator==(const RunCounts&) const = default;
};

} // namespace tilescope
