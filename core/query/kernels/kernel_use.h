#pragma once

#include "core/query/kernels/kernel_stalls.h"
#include "core/query/runs/process_filter.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tilescope::query {

/// How a kernel uses the hardware, as far as it was sampled: by metrics (record --metrics) and by its warps (record
/// --inside). Members without a value were not sampled, or in fewer than ten samples.
struct KernelUse {
    std::optional<double> tensorActive = {};  ///< share of the time in which the tensor pipe works
    std::optional<double> dramActive = {};    ///< bytes read and written, of what device memory can move
    std::optional<double> dramBytes = {};     ///< read and written in all launches
    std::optional<std::int64_t> opBytes = {}; ///< that the ops behind all launches read and write at least
    std::optional<KernelStall> stall = {};
};

struct KernelUses {
    std::map<std::string, KernelUse> kernels = {}; ///< by their names as of DeviceEvent
    bool hasMetrics = false;                       ///< some were sampled
    bool hasSamples = false;                       ///< warps were sampled
};

/// \param cancelled  ends the reading early
/// \throws Error  there is no such run, rank, process or device
/// As metrics() and kernelStalls().
KernelUses kernelUses(
    const store::RunReader& reader, RunId run, const ProcessQuery& topology,
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
