#pragma once

#include "core/hosts/remote_job.h"
#include "core/session/supervisor/supervisor.h"

#include <filesystem>
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

/// The work that a host gets for a sweep.
/// \param label  for people
JobRequest sweepJob(const std::vector<session::SweepPoint>& points, const session::SweepOptions& options,
                    const std::string& label);

/// `tilescope serve --sweep FOLDER`: runs the sweep of a job's folder, or the part of one task of Slurm; its events go to
/// standard output.
/// \return  exit code
int runSweepOf(const std::filesystem::path& folder);

} // namespace tilescope::hosts
