#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

namespace tilescope::session {

/// Has an engine measure what a device reaches at most, and store that in a file.
///
/// Blocking, some seconds; one thread. `stop` ends the engine, and nothing is stored.
/// \param device  auto, cpu, cuda, cuda:1
/// \return        false where it was stopped
/// \throws Error (Environment)  the engine cannot be started, or the machine has no such device
/// \throws Error                it could not be measured, or the file not written
bool measureCeilings(const std::filesystem::path& file, const std::string& device,
                     const std::string& commandLine, std::stop_token stop);

} // namespace tilescope::session
