#pragma once

#include <filesystem>
#include <string_view>

namespace tilescope::cli {

/// The format of a file by its first bytes.
struct FileKind {
    std::string_view name; ///< "a trace in PyTorch's format"
    /// \param head  at most the first 4 KiB
    bool (*matches)(std::string_view head);
};

/// Refuses to replace a file of another kind: a name that was mistyped costs no program and no trace.
/// Lets pass what does not exist, is empty or is of this kind.
/// \throws Error (Usage)  names the file and --force
void requireSameKind(const std::filesystem::path& output, const FileKind& kind);

/// The kinds that `export` and `share` write, by option of `export`; "html" is that of `share`.
/// \throws std::out_of_range  there is no such kind
const FileKind& fileKind(std::string_view option);

} // namespace tilescope::cli
