#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

/// The folder of memory snapshots beside the working files.
inline constexpr const char* kSnapshots = "snapshots";

/// A file on a host that belongs to a recording which is still made: it only grows.
struct WorkingPart {
    std::string name; ///< in the folder of the working files: `12-345.working`, or `snapshots/12.pickle`
    Bytes size;
    std::string end; ///< of its process, as of record::endOf(), or record::kRunsElsewhere
};

/// A recording that is still made on a host.
struct WorkingParts {
    std::string folder; ///< there
    std::vector<WorkingPart> parts;

    Bytes size() const;
};

/// Reads the answer of a host. Names that are no names of working files, and ends that are none, are left out.
/// \param message  JSON, untrusted
WorkingParts workingPartsIn(std::string_view message);

/// Lays copies of parts out as `tilescope record` does, in a folder that is made anew. Nothing is copied.
/// \param files  the copy of each part, in their order
/// \throws Error  the folder cannot be written
void layOut(const WorkingParts& parts, const std::vector<std::filesystem::path>& files,
            const std::filesystem::path& folder);

} // namespace tilescope::hosts
