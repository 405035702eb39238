#pragma once

#include <filesystem>
#include <functional>

namespace tilescope::hosts {

/// Writes the present state of a recording that is still made to `copy`; false if `named` is no such recording.
using CopyGrowing =
    std::function<bool(const std::filesystem::path& named, const std::filesystem::path& copy)>;

/// `tilescope serve --stdio`, on the host: answers the requests of one client until its input ends. Each request is a
/// JSON object with `op`:
///
///     hello                                  version of Tilescope
///     fetch   path, known: [digest]          pieces of a file that differ from those known
///     start   id, kind, arguments, cwd, …    starts work that goes on when the client goes
///     follow  id, out, err                   its output from these offsets on, until it ends
///     signal  id, signal                     INT or KILL, to the work and its processes
///     jobs                                   the work that lies here
///     remove  id                             removes ended work
///
/// The last frame of an answer is a message with `end` or `error`.
/// \return  exit code
int serve(int input, int output, const CopyGrowing& copyGrowing);

/// `tilescope serve --job FOLDER`: runs the work of a folder and notes how it ended. serve() starts it detached.
int runJob(const std::filesystem::path& folder);

/// The folder of work on this machine, below the user's cache.
std::filesystem::path jobsFolder();

// The files of the folder of a job.
inline constexpr const char* kJobFile = "job.json";
inline constexpr const char* kPointsFile = "points.jsonl";
inline constexpr const char* kResultFile = "result.tscope";

} // namespace tilescope::hosts
