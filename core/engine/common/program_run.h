#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::engine {

/// ProgramEnd::code of a program that could not be started, as in a shell.
inline constexpr int kNotStarted = 127;

/// How a program ended.
struct ProgramEnd {
    int code = 0;         ///< exit status, 128 plus the number of a signal, or kNotStarted
    std::string lastLine; ///< the last line of its output, or why it could not be started
};

/// Runs a program and waits for it. Its output goes to a file.
///
/// \param command      the program (a plain name is searched in the absolute elements of PATH) and its arguments
/// \param environment  variables that replace or extend those of this process
/// \param stop         ends the program and its children
/// \return             none if it was stopped
std::optional<ProgramEnd> runProgram(const std::vector<std::string>& command,
                                     const std::map<std::string, std::string>& environment,
                                     const std::filesystem::path& output, const std::stop_token& stop);

} // namespace tilescope::engine
