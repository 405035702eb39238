#pragma once

#include "core/base/units.h"

#include <filesystem>
#include <string>

namespace tilescope {

/// The bytes of a regular file that a person named. Devices, pipes and folders are never read.
/// \param what  what the file should be, for errors: "snapshot"
/// \throws Error (Usage)    there is none, it is no regular file, it is empty or has more than `most` bytes
/// \throws Error (Failure)  the disk refuses
std::string readInputFile(const std::filesystem::path& file, Bytes most, const std::string& what);

/// The first bytes of such a file, at most `most`: enough to recognise its format. Errors as above.
std::string readInputHead(const std::filesystem::path& file, Bytes most, const std::string& what);

} // namespace tilescope
