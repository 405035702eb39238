#pragma once

#include "core/hosts/job_folder.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace tilescope::hosts {

/// Submits a job's work to Slurm, unless that was done before, and watches it until it has ended: joins what the tasks of an
/// array print, and notes what Slurm says. It runs on the login node; the tasks write their files on the shared disk.
/// \param submit  runs a command line, sbatch, with its standard output in kSlurmFile; its exit code
/// \return        the end, for the file `status`
nlohmann::json runInSlurm(const JobFolder& folder, const nlohmann::json& job,
                          const std::function<int(const std::vector<std::string>& words)>& submit);

} // namespace tilescope::hosts
