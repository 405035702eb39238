#pragma once

#include "core/base/units.h"

#include <filesystem>
#include <string>

namespace tilescope {

/// Reads a regular file that the user named. Never reads devices, pipes or folders.
/// \param what              what the file should be, for error messages: "snapshot"
/// \throws Error (Usage)    the file does not exist, is not a regular file, is empty or has more than `most`
///                          bytes
/// \throws Error (Failure)  the disk reports an error
std::string readInputFile(const std::filesystem::path& file, Bytes most, const std::string& what);

/// Reads at most the first `most` bytes of such a file: enough to recognise its format. Throws like
/// readInputFile().
std::string readInputHead(const std::filesystem::path& file, Bytes most, const std::string& what);

/// Whether there is something at the path: a file that is not empty, or anything else.
bool hasContent(const std::filesystem::path& path);

/// What to do about a file that cannot be opened because of `error`, a value of errno.
std::string remedyForUnreadable(int error);

} // namespace tilescope
