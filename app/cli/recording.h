#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::exchange {
struct CachedImport;
}

namespace tilescope::cli {

/// A file that a verb reads: a recording, or one in the import cache that stands for a trace of another program.
struct Recording {
    std::filesystem::path file;
    std::shared_ptr<const exchange::CachedImport> import =
        {}; ///< keeps the cache from removing it; null: none
};

/// The recording of what the user named. HOST:PATH is fetched into the cache. Imports traces of other programs, and folders of them, into the cache
/// and says so on standard error. Shows progress there if it is a terminal. The first SIGINT, SIGTERM or SIGHUP
/// cancels the import.
/// \throws Cancelled  the user cancelled
/// \throws Error      the file has no known format, or cannot be imported
Recording recordingOf(const std::filesystem::path& named);
/// The same of each.
std::vector<Recording> recordingsOf(const std::vector<std::string>& named);

/// Remembers what the user named for a file in a cache, for asNamed(). Main thread.
void rememberNamed(const std::filesystem::path& file, const std::filesystem::path& named);

/// A text of other layers for people: what the user named stands for recordings in the import cache.
std::string asNamed(std::string text);

} // namespace tilescope::cli
