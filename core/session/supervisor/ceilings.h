#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

namespace tilescope::session {

/// Starts an engine that measures the ceilings of a device, and stores them in a file.
///
/// Blocks for several seconds; one thread. `stop` ends the engine without storing anything.
/// \param device  auto, cpu, cuda, cuda:1
/// \return        false if it was stopped
/// \throws Error (Environment)  the engine cannot be started, or the machine has no such device
/// \throws Error                the measurement failed, or the file cannot be written
bool measureCeilings(const std::filesystem::path& file, const std::string& device,
                     const std::string& commandLine, std::stop_token stop);

} // namespace tilescope::session
