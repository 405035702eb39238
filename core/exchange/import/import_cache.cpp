#include "core/exchange/import/import_cache.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/base/sha256.h"
#include "core/base/temporary_path.h"
#include "core/base/this_host.h"
#include "core/base/version.h"
#include "core/exchange/import/cache_index.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/tables/text.h"
#include "core/model/losses.h"
#include "core/store/file/file_check.h"
#include "core/store/file/schema.h"
#include "core/store/run_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtension = ".tscope";
constexpr const char* kLimitVariable = "TILESCOPE_IMPORT_CACHE";
/// The part of the work that is reading the sources for their digests.
constexpr double kDigests = 0.1;

/// Empty if the user has no home.
fs::path userFolder()
{
    const fs::path cache = userCacheDirectory();
    return cache.empty() ? cache : cache / "imports";
}

Bytes limitFrom(std::string_view text)
{
    struct Unit {
        std::string_view name;
        double bytes;
    };
    constexpr Unit kUnits[] = {{"", 1},         {"B", 1},       {"KB", 1e3},     {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10}, {"MiB", 0x1p20},
                               {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    constexpr double kMost = 0x1p60;
    double amount = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    const auto* const found = std::ranges::find(kUnits, unit, &Unit::name);
    if (error != std::errc{} || found == std::end(kUnits) || !(amount >= 0) || amount * found->bytes > kMost)
        throw Error{.what = "'" + std::string(text) + "' is not a size",
                    .where = kLimitVariable,
                    .remedy = "write an amount with its unit, such as 20 GiB, or 0 to keep nothing"};
    return Bytes{static_cast<std::int64_t>(amount * found->bytes)};
}

[[noreturn]] void throwCancelled()
{
    throw Error{.what = "the import was cancelled", .kind = ErrorKind::Failure};
}

/// Creates the folder for this user alone. Returns why it cannot be used; empty if it can.
std::string whyNotWritable(const fs::path& folder)
{
    if (folder.empty())
        return "neither XDG_CACHE_HOME nor HOME is set";
    const auto why = [&](int error) {
        return folder.string() + " cannot be written (" + std::strerror(error) + ")";
    };
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    struct stat status {};
    if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return why(errno);
    if (stat(folder.c_str(), &status) != 0)
        return why(errno);
    if (!S_ISDIR(status.st_mode))
        return why(ENOTDIR);
    if (status.st_uid != geteuid())
        return folder.string() + " belongs to another user";
    if ((status.st_mode & 07777) != S_IRWXU && chmod(folder.c_str(), S_IRWXU) != 0)
        return why(errno);
    return access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : why(errno);
}

/// A folder that this process removes at its end.
const fs::path& sessionFolder(const std::string& whyNot)
{
    static const TemporaryPath folder([&whyNot] {
        std::error_code error;
        std::string name = (fs::temp_directory_path(error) / "tilescope-imports-XXXXXX").string();
        if (error || mkdtemp(name.data()) == nullptr)
            throw Error{.what = "the import has no place: " + whyNot +
                                ", and the temporary folder cannot be written either",
                        .remedy =
                            "set XDG_CACHE_HOME or TMPDIR to a writable folder, or use `tilescope import "
                            "FILE -o OUT.tscope`",
                        .kind = ErrorKind::Failure};
        return fs::path(name);
    }());
    return folder.path();
}

/// \param watch  called with the number of bytes read; false: cancel
std::string digestOf(const fs::path& file, const std::function<bool(std::size_t)>& watch)
{
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    std::ifstream in(file, std::ios::binary);
    std::string piece(kPiece, '\0');
    Sha256 sum;
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
        const auto count = static_cast<std::size_t>(in.gcount());
        sum.add(std::string_view(piece).substr(0, count));
        if (!watch(count))
            throwCancelled();
    }
    if (!in.eof())
        throw Error{
            .what = "cannot be read", .where = file.string(), .remedy = "check the file and its disk"};
    return sum.digest();
}

/// Sources as they were when the import began.
struct Sources {
    std::vector<fs::path> files;
    std::vector<FileStamp> stamps;

    explicit Sources(std::vector<fs::path> found) : files(std::move(found))
    {
        for (const fs::path& file : files) {
            (void)importerFor(file); // a wrong file is reported before anything is read
            stamps.push_back(stampOf(file));
        }
    }
    void requireUnchanged() const
    {
        for (std::size_t i = 0; i < files.size(); ++i)
            if (stampOf(files[i]) != stamps[i])
                throw Error{.what = "changed while it was imported",
                            .where = files[i].string(),
                            .remedy = "open it again when the program that writes it has finished",
                            .kind = ErrorKind::Failure};
    }
};

/// The name of the entry for these contents.
std::string cacheKey(const Sources& sources, const fs::path& folder, const ImportWatch& watch)
{
    double all = 0;
    for (const FileStamp& stamp : sources.stamps)
        all += static_cast<double>(std::max<std::int64_t>(stamp[2], 1));
    double done = 0;
    const auto advance = [&](double bytes) {
        done += bytes;
        return !watch || watch(kDigests * std::min(1.0, done / all));
    };
    std::vector<std::optional<std::string>> digests;
    {
        const SideLock lock(folder / "index.lock", SideLock::Kind::Exclusive);
        const CacheIndex index(folder / "index.json");
        for (const FileStamp& stamp : sources.stamps)
            digests.push_back(index.digestOf(stamp));
    }
    std::string text = "schema " + std::to_string(store::embeddedMigrations().size()) + ", importer " +
                       std::to_string(ImportCache::kImporterVersion) + ", program " + version() + '\n';
    std::vector<std::size_t> added;
    for (std::size_t i = 0; i < digests.size(); ++i) {
        if (!digests[i]) {
            digests[i] = digestOf(sources.files[i],
                                  [&](std::size_t count) { return advance(static_cast<double>(count)); });
            added.push_back(i);
        }
        text += *digests[i] + '\n';
    }
    sources.requireUnchanged();
    if (!added.empty()) {
        const SideLock lock(folder / "index.lock", SideLock::Kind::Exclusive);
        CacheIndex index(folder / "index.json");
        // A file could change again without a new time stamp if it has changed just now.
        constexpr std::int64_t kSettled = 2'000'000'000;
        for (const std::size_t i : added)
            if (sources.stamps[i][3] + kSettled < unixNs())
                index.addDigest(sources.stamps[i], *digests[i]);
        index.save();
    }
    return sha256(text);
}

/// The run of a complete recording; none if there is no such file or it is damaged.
std::optional<RunId> runOf(const fs::path& entry)
{
    std::error_code error;
    if (!fs::exists(entry, error))
        return {};
    try {
        const std::vector<RunId> runs = store::RunReader(entry).runIds();
        return runs.empty() ? std::nullopt : std::optional(runs.back());
    } catch (const Error&) { // it is imported again
        return {};
    }
}

std::int64_t lostRecords(const fs::path& entry, RunId run)
{
    std::int64_t lost = 0;
    for (const store::RunReader::LossRecord& loss : store::RunReader(entry).losses(run))
        if (isLost(loss.severity))
            lost += loss.count;
    return lost;
}

/// Whether the losses say that a source ends early, and where.
void noteCut(CachedImport& import, const fs::path& entry, RunId run)
{
    for (const store::RunReader::LossRecord& loss : store::RunReader(entry).losses(run))
        if (loss.kind == infoOf(RecordLoss::SourceCut).name) {
            import.isCut = true;
            // What the kind means, then in brackets where: "… (after 825 bytes of text)".
            const std::size_t open = loss.detail.rfind('(');
            if (open != std::string::npos && loss.detail.ends_with(')'))
                import.cut = loss.detail.substr(open + 1, loss.detail.size() - open - 2);
        }
}

fs::path sideFile(fs::path entry, const char* suffix)
{
    return entry.replace_extension(suffix);
}

/// Waits while another opening imports the same contents.
std::unique_ptr<SideLock> importLock(const fs::path& entry, const ImportWatch& watch)
{
    for (;;) {
        if (auto lock = SideLock::tryToTake(sideFile(entry, ".import")))
            return lock;
        if (watch && !watch(kDigests))
            throwCancelled();
        // Another process may hold the lock: the system offers no wait that a watch could end.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

void importInto(const fs::path& entry, const Sources& sources, const ImportWatch& watch)
{
    const TemporaryPath draft(entry, TemporaryPath::Kind::Folder);
    const fs::path recording = draft.path() / "import.tscope";
    importFiles(sources.files, recording,
                [&](double done) { return !watch || watch(kDigests + (1 - kDigests) * done); });
    sources.requireUnchanged();
    moveIntoPlace(recording, entry);
}

fs::path shownPath(std::span<const fs::path> named)
{
    fs::path path = named.front();
    if (!path.has_filename()) // folder/
        path = path.parent_path();
    path = fs::absolute(path).lexically_normal();
    if (named.size() > 1)
        path += " and " + std::to_string(named.size() - 1) + " more";
    return path;
}

Bytes sizeOf(const fs::path& file)
{
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    return Bytes{error ? 0 : static_cast<std::int64_t>(size)};
}

/// Removes an entry unless it is open; false if it is.
bool removeEntry(const fs::path& entry)
{
    const auto lock = SideLock::tryToTake(sideFile(entry, ".open"));
    if (!lock)
        return false;
    fs::remove(entry);
    for (const char* suffix : {"-wal", "-shm", "-journal", "-lock"})
        fs::remove(entry.string() + suffix);
    return true;
}

/// Removes what killed imports left.
void removeLeftovers(const fs::path& folder)
{
    constexpr std::string_view kMark = ".tscope.tilescope-";
    std::error_code error;
    for (const fs::directory_entry& each : fs::directory_iterator(folder, error)) {
        const std::string name = each.path().filename().string();
        const std::size_t mark = name.find(kMark);
        if (name.starts_with('.') && mark != std::string::npos)
            TemporaryPath::removeLeftovers(folder / (name.substr(1, mark - 1) + std::string(kExtension)));
    }
}

} // namespace

std::string CachedImport::sentence() const
{
    std::string text = "Imported from " + shown.filename().string();
    if (isCut) {
        text += ", which ends early" + (cut.empty() ? std::string() : ", " + cut) +
                ": the events after its end are missing";
        if (lost > 1)
            text += "; " + counted(lost, "record was", "records were") + " lost in all (see Losses)";
        return text;
    }
    if (lost > 0)
        text += "; " + counted(lost, "record") + plural(lost, " was", " were") + " lost (see Losses)";
    return text;
}

bool isForeign(const fs::path& path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status))
        return true;
    if (!fs::is_regular_file(status) || path.extension() == kExtension)
        return false;
    try {
        return !store::readHeader(path).isTilescope;
    } catch (const Error&) { // reported by whoever opens it
        return false;
    }
}

ImportCache::ImportCache(fs::path folder, Bytes limit) : folder_(std::move(folder)), limit_(limit) {}

ImportCache ImportCache::ofUser()
{
    const std::string limit = environmentVariable(kLimitVariable);
    return ImportCache(userFolder(), limit.empty() ? kDefaultLimit : limitFrom(limit));
}

std::shared_ptr<const CachedImport> ImportCache::open(std::span<const fs::path> named,
                                                      const ImportWatch& watch) const
{
    const Sources sources(importableFiles(named));
    if (sources.files.empty())
        throw Error{.what = "there is no file to import"};
    auto result = std::make_shared<CachedImport>();
    result->shown = shownPath(named);
    result->sources = sources.files;
    if (limit_.count > 0)
        result->fallback = whyNotWritable(folder_);
    else
        result->fallback = std::string(kLimitVariable) + " is 0";
    const fs::path folder = result->fallback.empty() ? folder_ : sessionFolder(result->fallback);

    const std::string key = cacheKey(sources, folder, watch);
    const fs::path entry = folder / (key + std::string(kExtension));
    result->use = std::make_shared<SideLock>(sideFile(entry, ".open"), SideLock::Kind::Shared);
    std::optional<RunId> run = runOf(entry);
    if (!run) {
        const auto lock = importLock(entry, watch);
        run = runOf(entry); // the holder before may have imported it
        if (!run) {
            importInto(entry, sources, watch);
            run = runOf(entry).value();
            result->isNew = true;
        }
    }
    {
        const SideLock lock(folder / "index.lock", SideLock::Kind::Exclusive);
        CacheIndex index(folder / "index.json");
        index.entries[key] = {validUtf8(result->shown.filename().string()), unixNs()};
        index.save();
    }
    result->file = entry;
    result->run = *run;
    result->lost = lostRecords(entry, *run);
    noteCut(*result, entry, *run);
    if (result->isNew && result->fallback.empty())
        makeRoom(entry);
    return result;
}

std::vector<ImportCache::Entry> ImportCache::entries() const
{
    std::vector<Entry> found;
    std::error_code error;
    const CacheIndex index(folder_ / "index.json");
    for (const fs::directory_entry& each : fs::directory_iterator(folder_, error)) {
        const fs::path& file = each.path();
        if (file.extension() != kExtension || file.filename().string().starts_with('.'))
            continue;
        Entry entry{.file = file, .name = {}, .size = sizeOf(file)};
        if (const auto known = index.entries.find(file.stem().string()); known != index.entries.end()) {
            entry.name = known->second.name;
            entry.usedUnixNs = known->second.usedUnixNs;
        }
        const fs::path side = sideFile(file, ".open");
        if (fs::exists(side, error) && access(side.c_str(), W_OK) == 0)
            entry.isOpen = SideLock::tryToTake(side) == nullptr;
        found.push_back(std::move(entry));
    }
    std::ranges::sort(found, [](const Entry& a, const Entry& b) {
        return std::tie(b.usedUnixNs, a.file) < std::tie(a.usedUnixNs, b.file);
    });
    return found;
}

ImportCache::Cleared ImportCache::clear() const
{
    Cleared cleared;
    std::error_code error;
    if (!fs::exists(folder_, error))
        return cleared;
    removeLeftovers(folder_);
    std::vector<std::string> removed;
    for (const Entry& entry : entries()) {
        if (!removeEntry(entry.file)) {
            ++cleared.open;
            continue;
        }
        ++cleared.removed;
        cleared.freed += entry.size;
        removed.push_back(entry.file.stem().string());
    }
    const SideLock lock(folder_ / "index.lock", SideLock::Kind::Exclusive);
    CacheIndex index(folder_ / "index.json");
    for (const std::string& key : removed)
        index.entries.erase(key);
    index.save();
    return cleared;
}

void ImportCache::makeRoom(const fs::path& keep) const
{
    removeLeftovers(folder_);
    std::vector<Entry> all = entries();
    std::int64_t total = 0;
    for (const Entry& entry : all)
        total += entry.size.count;
    for (auto oldest = all.rbegin(); oldest != all.rend() && total > limit_.count; ++oldest)
        if (oldest->file != keep && removeEntry(oldest->file))
            total -= oldest->size.count;
}

} // namespace tilescope::exchange
