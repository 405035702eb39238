#pragma once

#include "core/base/units.h"
#include "core/hosts/remote_file.h"
#include "core/hosts/remote_job.h"

#include <cstdint>
#include <filesystem>
#include <stop_token>

namespace tilescope::hosts {

/// Where copies of files of hosts are kept, below the user's cache.
/// \throws Error (Environment)  the user has no cache folder
std::filesystem::path copiesFolder();

/// Checks, before anything is started for it, that runs can be added to a file: its folder exists, and it is a recording
/// or does not exist.
/// \throws Error
void requireResultFile(const std::filesystem::path& file);

/// Runs that arrived from a host.
struct Arrival {
    std::int64_t runs = 0; ///< added to the file
    Bytes received;        ///< that crossed the network
};

/// Fetches the recordings of ended work and adds those of their runs to a local file that it lacks: all, or after any failure
/// none. Waits while another process writes the file. The work is removed there only when the local file has all of its
/// runs and passes verify(). Repeating it after a failure adds no run twice.
/// \param copies  copiesFolder()
/// \throws Error, Stopped
Arrival collectResult(RemoteHost& host, RemoteJob& job, const std::filesystem::path& file,
                      const std::filesystem::path& copies, const FetchWatch& watch, std::stop_token stop);

} // namespace tilescope::hosts
