#pragma once

#include "core/session/supervisor/supervisor.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

/// A sweep for a host: the points, and of the options those that do not depend on the machine.
struct SweepRequest {
    std::vector<session::SweepPoint> points;
    session::SweepOptions options;
};

/// One line of JSON for the options, then one for each point.
std::string sweepLines(const std::vector<session::SweepPoint>& points, const session::SweepOptions& options);

/// \throws Error  a line is damaged
SweepRequest parseSweepLines(std::string_view text);

/// `tilescope serve --sweep FOLDER`: runs the sweep of a job's folder; its events go to standard output.
/// \return  exit code
int runSweepOf(const std::filesystem::path& folder);

} // namespace tilescope::hosts
