#pragma once

#include "core/analysis/kernels/occupancy.h"
#include "core/query/runs/process_filter.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tilescope::query {

/// How a kernel was launched in a run.
struct KernelLaunches {
    std::int64_t count = 0;
    Nanoseconds time{0};  ///< of all launches
    LaunchConfig usual{}; ///< the configuration of the most launches
    std::int64_t ofUsual = 0;
    DeviceIndex device = {};                           ///< of those
    std::optional<analysis::Occupancy> occupancy = {}; ///< an upper bound, for `usual`
    std::optional<double> waves = {};                  ///< of blocks, for `usual`

    /// ns; none: it was not launched.
    std::optional<double> mean() const
    {
        return count > 0 ? std::optional(static_cast<double>(time.count()) / static_cast<double>(count))
                         : std::nullopt;
    }
};

/// The launches of a run's kernels, by their full names.
/// \param cancelled  checked regularly; true returns what was found until then
/// O(events).
std::map<std::string, KernelLaunches> kernelLaunches(const store::RunReader& reader, RunId run,
                                                     const ProcessQuery& topology,
                                                     const std::function<bool()>& cancelled);

} // namespace tilescope::query
