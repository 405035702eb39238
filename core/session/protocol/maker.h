#pragma once

#include "core/model/run.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace tilescope::session {

/// What affects a run's figures besides its spec and this program. Figures of different makers should not be
/// mixed in one sweep by accident. Unknown fields are empty.
struct Maker {
    std::string torch;     ///< 2.11.0
    std::string processor; ///< the GPU's name, or the CPU's model
};

/// \param device  device of the run: cpu, cuda:0
Maker makerOf(std::string_view device, std::span<const EnvironmentEntry> environment);

/// Makers by requested device: auto, cpu, cuda:1.
using Makers = std::map<std::string, Maker>;

/// \param before  makers of the points in `file`
/// \param here    makers that an engine would use for the other points
/// \throws Error (Usage)  a field that is known in both differs
void requireSameMakers(const Makers& before, const Makers& here, const std::filesystem::path& file);

} // namespace tilescope::session
