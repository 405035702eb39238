#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tilescope::machine {

/// The name of the network filesystem that a path lies on (NFS, Lustre, …); none for a local disk, or where
/// it cannot be told.
std::optional<std::string> networkFilesystem(const std::filesystem::path& path);

} // namespace tilescope::machine
