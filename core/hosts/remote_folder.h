#pragma once

#include "core/base/units.h"
#include "core/hosts/remote_host.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::hosts {

/// What lies in a folder on a host. Names are those there: escape them before they are shown.
struct RemoteEntry {
    std::string name;
    bool isFolder = false;
    bool isGrowing = false; ///< a recording that is still made
    Bytes size;             ///< 0: of a folder, and of a recording that has no file yet
    std::int64_t changedUnixNs = 0;
};

struct RemoteFolder {
    std::string path;                 ///< absolute
    std::vector<RemoteEntry> entries; ///< folders first, then by name
    bool isCut = false;               ///< there are more than kMostEntries
    static constexpr std::size_t kMostEntries = 5000;
};

/// Reads a folder of a host.
/// \param path  relative to the home folder; empty: the home folder
/// \throws Error, Stopped
RemoteFolder listFolder(RemoteHost& host, const std::string& path, std::stop_token stop = {});

} // namespace tilescope::hosts
