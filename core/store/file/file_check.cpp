#include "core/store/file/file_check.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/output_file.h"
#include "core/store/file/database.h"
#include "core/store/file/schema.h"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace tilescope::store {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kHeaderSize = 100;

using HeaderBytes = std::array<char, kHeaderSize>;

std::uint32_t bigEndian(const HeaderBytes& bytes, std::size_t at, std::size_t count)
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

int bigEndian32(const HeaderBytes& bytes, std::size_t at)
{
    return static_cast<int>(bigEndian(bytes, at, 4));
}

/// Page size times pages, as SQLite's file format documents them; 0 if another program than SQLite changed
/// the file since it wrote them.
std::uint64_t wholeSizeOf(const HeaderBytes& bytes)
{
    constexpr std::size_t kPageSize = 16, kChanges = 24, kPages = 28, kChangesAtPages = 92;
    if (bigEndian(bytes, kChanges, 4) != bigEndian(bytes, kChangesAtPages, 4))
        return 0;
    const std::uint64_t pageSize = bigEndian(bytes, kPageSize, 2);
    return (pageSize == 1 ? 65536 : pageSize) * bigEndian(bytes, kPages, 4);
}

struct Beginning {
    HeaderBytes bytes{};
    std::uint64_t size = 0; ///< size of the examined file, even if another file replaces it meanwhile
};

Error unusable(const fs::path& file, std::string what, std::string remedy)
{
    return Error{.what = std::move(what), .where = file.string(), .remedy = std::move(remedy)};
}

Error unusable(const fs::path& file, std::string what)
{
    return unusable(file, std::move(what), remedyForWrongFile(file));
}

void requireReadableFile(const fs::path& file)
{
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (status.type() == fs::file_type::not_found)
        throw unusable(file, "no such file", "check the path");
    if (error)
        throw unusable(file, "cannot be opened (" + error.message() + ")",
                       error == std::errc::permission_denied ? "check the permissions of its folder"
                                                             : remedyForUnreadable(error.value()));
    if (fs::is_directory(status))
        throw unusable(file, "is a folder");
    if (!fs::is_regular_file(status))
        throw unusable(file, "is not a regular file");
    if (access(file.c_str(), R_OK) != 0)
        throw unusable(file, std::string("cannot be read (") + std::strerror(errno) + ")",
                       "ask its owner for permission");
    if (fs::file_size(file, error) == 0)
        throw unusable(file, "is empty");
}

/// Reads through SQLite's own file layer: closing a descriptor of ours would drop the locks that another
/// connection of this process holds on the same file (POSIX locks belong to the process).
Beginning beginningOf(const fs::path& file)
{
    sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr);
    const std::string absolute = fs::absolute(file).string();
    sqlite3_filename name = sqlite3_create_filename(absolute.c_str(), "", "", 0, nullptr);
    const auto storage = std::make_unique<std::max_align_t[]>(
        static_cast<std::size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
    auto* handle = reinterpret_cast<sqlite3_file*>(storage.get());
    handle->pMethods = nullptr;
    int opened = vfs->xOpen(vfs, name, handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr);
    Beginning beginning;
    sqlite3_int64 size = 0;
    // A file shorter than the header reads as padded with zeros: not ours.
    if (opened == SQLITE_OK)
        opened = handle->pMethods->xRead(handle, beginning.bytes.data(), kHeaderSize, 0);
    if (opened == SQLITE_OK && handle->pMethods->xFileSize(handle, &size) == SQLITE_OK)
        beginning.size = static_cast<std::uint64_t>(size);
    if (handle->pMethods)
        handle->pMethods->xClose(handle);
    sqlite3_free_filename(name);
    if (opened != SQLITE_OK && opened != SQLITE_IOERR_SHORT_READ)
        throw unusable(file, std::string("cannot be read (") + sqlite3_errstr(opened) + ")",
                       "check the disk and that you may read it");
    return beginning;
}

bool exists(fs::path file, const char* suffix)
{
    file += suffix;
    std::error_code error;
    return fs::file_size(file, error) > 0 && !error;
}

/// Sealing changes the file in place. A writer that dies meanwhile leaves a rollback log beside it. SQLite
/// rolls back for users with write permission and refuses others.
void undoHalfMadeChange(const fs::path& file)
{
    constexpr int kBusyMs = 5000;
    try {
        SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kBusyMs);
        harden(database);
        integerOf(database, "select count(*) from sqlite_schema");
    } catch (const SQLite::Exception& exception) {
        const int code = exception.getErrorCode() & 0xff;
        if (code != SQLITE_READONLY && code != SQLITE_CANTOPEN && code != SQLITE_PERM)
            throw translated(exception, file);
        throw unusable(
            file,
            "the process that wrote it was killed while it sealed the file, and a repair needs write "
            "permission",
            "open it once as a user with write permission for it and its folder, or copy it together with " +
                file.filename().string() + "-journal");
    }
}

} // namespace

std::string remedyForWrongFile(const fs::path& file)
{
    return file.extension() == ".tscope" ? "name a file that Tilescope wrote, or a copy of it"
                                         : "name a .tscope file";
}

std::string uriOf(const fs::path& file, std::string_view parameters)
{
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string uri = "file:";
    for (const char c : fs::absolute(file).string()) {
        const auto byte = static_cast<unsigned char>(c);
        const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (isPlain || c == '/' || c == '.' || c == '_' || c == '-')
            uri += c;
        else
            uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
    return uri.append("?").append(parameters);
}

FileHeader readHeader(const fs::path& link)
{
    const fs::path file = withLinksFollowed(link);
    requireReadableFile(file);
    const Beginning beginning = beginningOf(file);
    const HeaderBytes& bytes = beginning.bytes;
    FileHeader header;
    header.isSqlite = std::string_view(bytes.data(), kSqliteMagic.size()) == kSqliteMagic;
    header.isTilescope = header.isSqlite && bigEndian32(bytes, 68) == kApplicationId;
    header.isWal = bytes[18] == 2;
    header.version = bigEndian32(bytes, 60);
    header.size = beginning.size;
    // While a file is written its newest pages are in the log.
    header.wholeSize = header.isSqlite && !header.isWal ? wholeSizeOf(bytes) : 0;
    return header;
}

FileHeader requireTilescopeHeader(const fs::path& link, int newestVersion)
{
    const fs::path file = withLinksFollowed(link);
    FileHeader header = readHeader(file);
    if (header.isTilescope && exists(file, "-journal")) {
        undoHalfMadeChange(file);
        header = readHeader(file);
    }
    if (!header.isTilescope)
        throw unusable(file, header.isSqlite ? "is an SQLite database, but not Tilescope's"
                                             : "not a Tilescope file");
    if (header.version > newestVersion)
        throw unusable(file,
                       "was written by a newer Tilescope (file version " + std::to_string(header.version) +
                           ", this program knows up to " + std::to_string(newestVersion) + ")",
                       "use the newer program");
    if (header.version < 1)
        throw unusable(file, "the file is damaged (version " + std::to_string(header.version) + ")",
                       "use a copy of it");
    return header;
}

FileHeader requireTilescopeFile(const fs::path& file, int newestVersion)
{
    const FileHeader header = requireTilescopeHeader(file, newestVersion);
    if (header.size < header.wholeSize)
        throw unusable(file,
                       "the file is damaged: it was cut to " + std::to_string(header.size) + " of its " +
                           std::to_string(header.wholeSize) + " bytes",
                       "use a copy of it, or run `tilescope verify` to see what is intact");
    return header;
}

std::unique_ptr<SQLite::Database> openForReading(const fs::path& link, const FileHeader& header)
{
    const fs::path file = withLinksFollowed(link);
    constexpr int kBusyMs = 5000;
    const int flags = SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX;
    const fs::path folder = fs::absolute(file).parent_path();
    // A copy of a file that was being written: SQLite would create a -shm file, and there is no log to read.
    // Without write permission for the folder, nobody here can be writing it.
    const bool frozen = header.isWal && !exists(file, "-wal") && access(folder.c_str(), W_OK) != 0;
    auto database = std::make_unique<SQLite::Database>(
        uriOf(file, frozen ? "mode=ro&immutable=1" : "mode=ro"), flags, kBusyMs);
    harden(*database);
    return database;
}

} // namespace tilescope::store
