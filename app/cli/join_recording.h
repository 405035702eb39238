#pragma once

#include "core/exchange/import/importer.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

namespace tilescope::cli {

class RecordedProcesses;

/// Waits for the processes that the command has left behind and that record; says which they are and what ends the wait:
/// `stop`, or `tilescope record --stop` for this process.
/// \param idle  ends the wait once they have recorded nothing for so long; none: nothing does
void waitForOthers(RecordedProcesses& processes, std::optional<std::chrono::seconds> idle,
                   const std::stop_token& stop);

/// Waits some seconds while another process writes the output: several recordings may add to one file.
void awaitWriter(const std::filesystem::path& output);

/// A recording whose command has ended.
struct EndedRecording {
    std::filesystem::path folder; ///< of the working files
    std::filesystem::path output;
    std::string name; ///< of the run
    exchange::HostCounters counters;
    bool hasObstacle = false; ///< why a Python program was not recorded has been said
};

/// Joins what the processes wrote to a run, removes the folder and says on standard error what was recorded and what was
/// not. The folder stays while a process runs, and after an error, which is printed: the program has ended.
void joinRecording(const EndedRecording& recording, const RecordedProcesses& processes);

} // namespace tilescope::cli
