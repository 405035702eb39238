#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace SQLite {
class Database;
}

namespace tilescope::store {

// Each function follows symbolic links: the log and the lock of a recording are beside the target.

/// The first bytes of a SQLite database.
inline constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

/// The file as SQLite's URI with these parameters (`mode=ro`), whatever characters its path has.
std::string uriOf(const std::filesystem::path& file, std::string_view parameters);

/// The contents of a file's first hundred bytes.
struct FileHeader {
    bool isSqlite = false;
    bool isTilescope = false;
    bool isWal = false;
    int version = 0;             ///< of the schema
    std::uint64_t size = 0;      ///< bytes of the file
    std::uint64_t wholeSize = 0; ///< bytes that a sealed file must have; 0 if unknown
};

/// Reads the header without opening the database, so that files of other programs are not touched. Unlike other ways
/// to look at a file, it keeps the locks that this process holds on it, so it is safe while a recording is open.
/// \throws Error  the file is not a readable, non-empty regular file
FileHeader readHeader(const std::filesystem::path& file);

/// Rolls back the incomplete change of a writer that died, if this user may write the file.
/// \throws Error  unless `file` is a Tilescope file of a version that this program supports
FileHeader requireTilescopeHeader(const std::filesystem::path& file, int newestVersion);

/// The same, and refuses a file that was cut: SQLite notices it only when it reads the pages that are gone,
/// and never if the last page alone is.
FileHeader requireTilescopeFile(const std::filesystem::path& file, int newestVersion);

/// A hardened read-only connection to a file that requireTilescopeFile() let pass; works in a folder that may
/// not be written, too.
std::unique_ptr<SQLite::Database> openForReading(const std::filesystem::path& file, const FileHeader& header);

/// A remedy for a file that is not Tilescope's; depends on its extension.
std::string remedyForWrongFile(const std::filesystem::path& file);

} // namespace tilescope::store
