#pragma once

#include "core/hosts/job_folder.h"

#include <string>
#include <vector>

namespace tilescope::hosts {

// Work that a login node submits to Slurm. `sbatch --wait` stands for it on the login node; the folder of the job must
// lie on a disk that the nodes share.

/// The file with the number that sbatch gave.
inline constexpr const char* kSlurmFile = "slurm";

/// The command line of sbatch for a job's work.
/// \param words    the work
/// \param options  of the host, such as --partition=gpu
/// \param cwd      empty: the home folder
std::vector<std::string> sbatchWords(const JobFolder& folder, const std::vector<std::string>& words,
                                     const std::vector<std::string>& options, const std::string& cwd);

/// The number of the job; empty before sbatch has given it, or if it is no job of Slurm.
std::string slurmNumber(const JobFolder& folder);

/// What squeue says about a job: `PENDING Priority`, `RUNNING None`; empty if it is not in the queue any more.
std::string slurmState(const std::string& number);

/// Cancels a job: a waiting one at once, a running one by SIGTERM, which lets its step end.
void cancelSlurmJob(const std::string& number);

/// Ends a sweep after its point; one that waits is cancelled.
void pauseSlurmJob(const std::string& number);

} // namespace tilescope::hosts
