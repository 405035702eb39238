#pragma once

#include "core/base/temporary_path.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// A file that is read: one that the user named, or one that was unpacked from it.
struct SourceFile {
    std::filesystem::path path;
    std::filesystem::path named;                 ///< what the user named
    std::shared_ptr<const TemporaryPath> folder; ///< of an unpacked file, which is removed with it
};

/// Tells whether a file with this beginning can be read without unpacking it.
using IsReadable = std::function<bool(std::string_view head, const std::filesystem::path& file)>;

/// Whether a file is a ZIP archive or compressed with gzip and holds a file that can be read, in up to three such layers.
/// Reads the beginnings of its files only, so formats that their beginning does not tell count as readable.
bool holdsReadable(const std::filesystem::path& file, const IsReadable& isReadable);

/// The readable files in an archive, by name, in a temporary folder. Archives may hold archives, three layers deep.
/// \throws Error  the archive is damaged or expands too far, or the temporary folder cannot be written
std::vector<SourceFile> unpacked(const std::filesystem::path& file, const IsReadable& isReadable);

} // namespace tilescope::exchange
