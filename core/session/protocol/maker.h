#pragma once

#include "core/model/run.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace tilescope::session {

/// What a run's figures come from besides its spec and this program: figures of two makers are not to stand
/// in one sweep unawares. A field is empty where it is not known.
struct Maker {
    std::string torch;     ///< 2.11.0
    std::string processor; ///< the GPU's name, or the CPU's model
};

/// \param device  what ran it: cpu, cuda:0
Maker makerOf(std::string_view device, std::span<const EnvironmentEntry> environment);

/// Makers by the device that a spec asks for: auto, cpu, cuda:1.
using Makers = std::map<std::string, Maker>;

/// \param before  what made the points that `file` holds
/// \param here    what an engine would make the others with
/// \throws Error (Usage)  where the two differ in what both know
void requireSameMakers(const Makers& before, const Makers& here, const std::filesystem::path& file);

} // namespace tilescope::session
