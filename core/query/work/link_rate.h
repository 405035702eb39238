#pragma once

#include "core/store/run_reader.h"

#include <optional>
#include <string>

namespace tilescope::query {

/// The rate at which a rank's GPU can send to another GPU of its host.
struct LinkRate {
    double bytesPerSecond = 0;
    std::string source = {};           ///< NVLink by NVML, data sheet of H200 SXM
    std::optional<double> copied = {}; ///< of a measured copy between two GPUs, in the file's ceilings
};

/// Of the run's device: by NVML when it was recorded, else by its data sheet, else the measured copy; none without
/// any of them.
std::optional<LinkRate> linkRateOf(const store::RunReader& reader, const store::RunRecord& run);

} // namespace tilescope::query
