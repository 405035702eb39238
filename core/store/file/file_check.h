#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace SQLite {
class Database;
}

namespace tilescope::store {

// Each function follows symbolic links: the log and the lock of a recording stand beside the file itself.

/// What a file's first hundred bytes tell.
struct FileHeader {
    bool isSqlite = false;
    bool isTilescope = false;
    bool isWal = false;
    int version = 0;             ///< of the schema
    std::uint64_t size = 0;      ///< bytes of the file
    std::uint64_t wholeSize = 0; ///< bytes that a sealed file must have; 0 if the header does not tell
};

/// Reads the header without SQLite opening the database, so that a foreign file is left wholly alone.
/// \throws Error  for what is no readable, non-empty regular file
FileHeader readHeader(const std::filesystem::path& file);

/// Undoes what a writer that died left half-made in a file of ours, where this user may write it.
/// \throws Error  in one sentence, unless `file` is a Tilescope file of a version that this program knows
FileHeader requireTilescopeHeader(const std::filesystem::path& file, int newestVersion);

/// The same, and refuses a file that was cut: SQLite notices it only when it reads the pages that are gone,
/// and never if the last page alone is.
FileHeader requireTilescopeFile(const std::filesystem::path& file, int newestVersion);

/// A hardened read-only connection to a file that requireTilescopeFile() let pass; works in a folder that may
/// not be written, too.
std::unique_ptr<SQLite::Database> openForReading(const std::filesystem::path& file, const FileHeader& header);

/// What to do about a file that is not Tilescope's: its name may say that it is.
std::string mendOfWrongFile(const std::filesystem::path& file);

} // namespace tilescope::store
