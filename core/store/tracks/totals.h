#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::store {

/// Kernels, copies or memsets of one name that were attributed to one path.
struct KernelTotal {
    DeviceEventKind kind = DeviceEventKind::Kernel;
    StringId name = {};
    StringId path = {}; ///< as recorded
    std::int64_t instances = 0;
    std::int64_t total = 0; ///< nanoseconds
    std::int64_t shortest = 0;
    std::int64_t longest = 0;
    double squares = 0; ///< sum of the squared durations

    void add(std::int64_t length)
    {
        shortest = instances == 0 ? length : std::min(shortest, length);
        longest = std::max(longest, length);
        ++instances;
        total += length;
        squares += static_cast<double>(length) * static_cast<double>(length);
    }
    /// Activities of the same kind, name and path.
    void add(const KernelTotal& more)
    {
        shortest = instances == 0 ? more.shortest : std::min(shortest, more.shortest);
        longest = std::max(longest, more.longest);
        instances += more.instances;
        total += more.total;
        squares += more.squares;
    }
};

/// The totals of a path (analysis::RangeTotal).
struct PathTotal {
    std::string path; ///< from step down
    std::int64_t instances = 0;
    std::optional<Nanoseconds> wall = {};
    std::optional<Nanoseconds> gpu = {};
};

/// The parts of a step's wall time (analysis::StepPartition).
struct StepTotal {
    std::int32_t step = 0;
    ProcessIndex process = {}; ///< none: the only one of the run
    Timestamp start{};
    Timestamp end{};
    Nanoseconds gpuBusy{0};
    Nanoseconds launching{0};
    Nanoseconds synchronizing{0};
    Nanoseconds tracing{0};
    Nanoseconds unexplained{0};
};

/// The totals of a run's traced steps.
struct RunTotals {
    std::vector<KernelTotal> kernels;
    std::vector<PathTotal> paths; ///< in tree order
    std::vector<StepTotal> steps; ///< by start
};

} // namespace tilescope::store
