#pragma once

#include "core/session/supervisor.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::cli {

/// How --batch and run show what happens.
enum class Format { Text, Json };

/// `tilescope-DATE-TIME.tscope` in the current folder: where a run goes that names no file.
std::filesystem::path newFileName();

/// Runs points and shows progress until they are done or a signal stops them.
/// \param options  without a file: newFileName(), and says so; atOnce is set here
/// \return         the exit code
int runPoints(const std::vector<session::SweepPoint>& points, session::SweepOptions options, Format format);

/// What the user typed, quoted so that a shell would read it again.
std::string commandLineOf(int argc, char** argv);

} // namespace tilescope::cli
