#pragma once

#include "core/hosts/job_folder.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

// Work that a login node submits to Slurm: one task, or for a sweep an array of tasks that share its points. The folder of
// the job must lie on a disk that the nodes share.

/// The file with the number that sbatch gave.
inline constexpr const char* kSlurmFile = "slurm";
/// The file with what a client wants of the work: a signal's name.
inline constexpr const char* kSignalFile = "signal";
/// The file with what Slurm says of the work, for people.
inline constexpr const char* kQueueFile = "queue";

/// A file of one task: `out` of a job with one task, `out-3` of an array.
std::string taskFile(const char* name, int task, int tasks);

/// The command line of sbatch for a job's work.
/// \param words    the work of a task, which finds its number in SLURM_ARRAY_TASK_ID
/// \param options  of the host, such as --partition=gpu
/// \param cwd      empty: the home folder
/// \param tasks    more than one: an array
/// \param gpus     of a task; more than one: they are asked for unless `options` says something of GPUs or nodes
std::vector<std::string> sbatchWords(const JobFolder& folder, const std::vector<std::string>& words,
                                     const std::vector<std::string>& options, const std::string& cwd,
                                     int tasks, int gpus);

/// The number of the job; empty before sbatch has given it, or if it is no job of Slurm.
std::string slurmNumber(const JobFolder& folder);

/// What Slurm says of a task.
struct SlurmTask {
    std::string state;  ///< PENDING, RUNNING, …
    std::string reason; ///< why it waits

    /// It does not run any more and will not.
    bool hasEnded() const;
    /// Slurm ended it by itself, not because of its exit code or of scancel.
    bool wasEndedBySlurm() const;
};
using SlurmTasks = std::map<int, SlurmTask>;

/// What `squeue --array --format=%K|%T|%r` printed. Lines of another form are passed over.
SlurmTasks parseSlurmTasks(std::string_view text);

/// What squeue says of the tasks that it still knows, also of ended ones.
/// \param isKnown  set to false where Slurm does not know the job any more
/// \return         empty if Slurm does not answer
SlurmTasks slurmTasks(const std::string& number, bool& isKnown);

/// `PENDING Priority`, `RUNNING`, `RUNNING 2 of 16 tasks`; empty if no task waits or runs.
std::string queueText(const SlurmTasks& tasks, int of);

/// What a signal means for a job: INT and KILL cancel it, a waiting one at once, a running one by SIGTERM, which lets its
/// step end. USR1 ends a sweep after the points that run; tasks that wait are cancelled.
void signalSlurmJob(const std::string& number, std::string_view signal);

} // namespace tilescope::hosts
