#pragma once

#include <filesystem>
#include <functional>
#include <optional>

namespace tilescope::hosts {

/// A recording that `tilescope record` is still making.
struct GrowingFile {
    std::filesystem::path folder; ///< of the working files of its processes
    std::filesystem::path output; ///< the recording that they become
};
/// Finds one by its folder or its output.
using FindGrowing = std::function<std::optional<GrowingFile>(const std::filesystem::path& named)>;

/// `tilescope serve --stdio`, on the host: answers the requests of one client until its input ends. Each request is a
/// JSON object with `op`:
///
///     hello                                  version of Tilescope
///     list    path                           what lies in a folder
///     fetch   path, known: [digest]          pieces of a file that differ from those known; of a recording that is still
///                                            made, the names of its working files, which `fetch` takes with `grows`
///     start   id, kind, arguments, cwd, …    starts work that goes on when the client goes
///     follow  id, out, err                   its output from these offsets on, until it ends
///     results id                             names of its recordings; `fetch` takes job and file for one of them
///     points  id                             the points of a sweep, as they were sent with `start`
///     signal  id, signal                     INT or KILL, to the work and its processes; USR1: a sweep ends after its point
///     jobs                                   the work that lies here
///     remove  id                             removes ended work
///
/// The last frame of an answer is a message with `end` or `error`.
/// \return  exit code
int serve(int input, int output, const FindGrowing& findGrowing);

/// `tilescope serve --job FOLDER`: runs the work of a folder, here or in Slurm, and notes how it ended. serve() starts it
/// detached.
int runJob(const std::filesystem::path& folder);

/// `tilescope serve --task FOLDER`: runs the work of a folder, or a part of it, as a task of Slurm and notes how it ended.
int runTask(const std::filesystem::path& folder);

/// The folder of work on this machine, below the user's cache.
std::filesystem::path jobsFolder();

// The files of the folder of a job.
inline constexpr const char* kJobFile = "job.json";
inline constexpr const char* kPointsFile = "points.jsonl";
inline constexpr const char* kResultFile = "result.tscope";

/// Whether a recording is that of work for a client, which fetches it.
bool isResultOfWork(const std::filesystem::path& recording);

} // namespace tilescope::hosts
