#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tilescope::machine {

/// The type of the network filesystem that contains the path (NFS, Lustre, …); none for a local disk or if
/// unknown.
std::optional<std::string> networkFilesystem(const std::filesystem::path& path);

} // namespace tilescope::machine
