#pragma once

#include <filesystem>
#include <memory>

namespace SQLite {
class Database;
}

namespace tilescope::store {

/// What a file's first hundred bytes tell.
struct FileHeader {
    bool isSqlite = false;
    bool isTilescope = false;
    bool isWal = false;
    int version = 0; ///< of the schema
};

/// Reads the header without SQLite opening the database, so that a foreign file is left wholly alone.
/// \throws Error  for what is no readable, non-empty regular file
FileHeader readHeader(const std::filesystem::path& file);

/// Undoes what a writer that died left half-made in a file of ours, where this user may write it.
/// \throws Error  in one sentence, unless `file` is a Tilescope file of a version that this program knows
FileHeader requireTilescopeFile(const std::filesystem::path& file, int newestVersion);

/// A hardened read-only connection to a file that requireTilescopeFile() let pass; works in a folder that may
/// not be written, too.
std::unique_ptr<SQLite::Database> openForReading(const std::filesystem::path& file, const FileHeader& header);

} // namespace tilescope::store
