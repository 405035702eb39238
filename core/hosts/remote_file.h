#pragma once

#include "core/base/units.h"
#include "core/hosts/remote_host.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tilescope::hosts {

/// A file on a host, as a user names it: `gpubox:runs/a.tscope`.
struct RemotePath {
    std::string host;
    std::string path; ///< there; relative to the home folder
};

/// HOST:PATH, where HOST has the form of a host's name and no local file has the whole text as its name. Whether there
/// is such a host is not asked.
std::optional<RemotePath> remotePathOf(std::string_view text);

/// The same where the user knows a host of this name and no local file has it, which is FILE:RUN then.
/// \throws Error  the list of hosts cannot be read
std::optional<RemotePath> knownRemotePathOf(std::string_view text);

/// \throws Error (Usage)  an output is named that would lie on a known host: only files of this machine are written
void requireLocalOutput(std::string_view named);

struct FetchProgress {
    Bytes done;     ///< of the file, compared or fetched
    Bytes of;       ///< size of the file
    Bytes received; ///< that crossed the network
};
using FetchWatch = std::function<void(const FetchProgress&)>;

struct FetchedFile {
    /// In the user's cache, named as there; treat it as read-only. Empty: a recording that has no event yet.
    std::filesystem::path file;
    Bytes size;
    Bytes received;         ///< that crossed the network
    bool isGrowing = false; ///< it is a recording that was still made: fetch it again for its later states
};

inline constexpr int kFetchAttempts = 8;
/// What the error says of a path that names a folder.
inline constexpr std::string_view kIsFolderThere = "is a folder there";

/// Joins the working files in a folder into a new recording, which replaces `recording` at once; false: they have no
/// event yet.
using JoinWorkingFiles =
    std::function<bool(const std::filesystem::path& folder, const std::filesystem::path& recording)>;

/// Fetches a file of a host into the user's cache: only pieces of 1 MiB that differ from those of an earlier fetch. A
/// recording that is written meanwhile arrives as of one moment. Of one that `tilescope record` is still making, the
/// working files are fetched, which only grow, and joined here. An interrupted fetch goes on where it was.
/// \param folder  below which copies are kept: userCacheDirectory() / "remote"
/// \throws Error, Stopped
FetchedFile fetchFile(RemoteHost& host, const std::string& path, const std::filesystem::path& folder,
                      const JoinWorkingFiles& join, const FetchWatch& watch = {}, std::stop_token stop = {});

/// Fetches a recording of work there.
/// \param job       its id
/// \param name      of RemoteJob::results()
/// \param attempts  connections that may fail one after the other
FetchedFile fetchResult(RemoteHost& host, const std::string& job, const std::string& name,
                        const std::filesystem::path& folder, const FetchWatch& watch = {},
                        std::stop_token stop = {}, int attempts = kFetchAttempts);

} // namespace tilescope::hosts
