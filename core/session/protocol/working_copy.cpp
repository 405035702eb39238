#include "core/session/protocol/working_copy.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/output_file.h"
#include "core/machine/filesystem_kind.h"
#include "core/model/strings.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

namespace tilescope::session {

namespace fs = std::filesystem;

namespace {

/// A file beside the copy: the identity of the original when the copy was made or last published.
constexpr const char* kRecord = "home";

std::string setting()
{
    const std::string word = environmentVariable("TILESCOPE_SCRATCH");
    if (!word.empty() && word != "always" && word != "never" && word != "auto")
        throw Error{.what = "'" + word + "' is not one of auto, always, never",
                    .where = "TILESCOPE_SCRATCH",
                    .remedy = "set it to one of them, or unset it"};
    return word;
}

fs::path folderOf(const fs::path& file)
{
    return fs::absolute(file).parent_path();
}

/// None if the file is written directly.
std::optional<std::string> reasonForCopy(const fs::path& file)
{
    const std::string word = setting();
    if (word == "never")
        return {};
    if (word == "always")
        return "TILESCOPE_SCRATCH=always";
    if (const auto kind = machine::networkFilesystem(folderOf(file)))
        return "it is on " + *kind;
    return {};
}

fs::path localFolder(const fs::path& file)
{
    std::error_code error;
    for (const fs::path& folder :
         {fs::temp_directory_path(error), fs::path("/tmp"), fs::path("/var/tmp"), fs::path("/dev/shm")})
        if (fs::is_directory(folder, error) && !machine::networkFilesystem(folder))
            return folder;
    throw Error{.what = "is on a network filesystem, and there is no folder on a local disk to write to",
                .where = file.string(),
                .remedy = "name one in TMPDIR, or write in place with TILESCOPE_SCRATCH=never",
                .kind = ErrorKind::Environment};
}

/// FNV-1a, 64 bits: unlike std::hash, the same in every process.
std::uint64_t hashOf(std::string_view text)
{
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

/// The folder for copies of a file on this machine, for this user.
fs::path scratchOf(const fs::path& file)
{
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(fs::absolute(file), error);
    return localFolder(file) /
           fmt::format("tilescope-scratch-{}-{:016x}", geteuid(), hashOf(canonical.string()));
}

/// In a world-writable folder, another user could have created this name.
void requireOwn(const fs::path& folder)
{
    struct stat status {};
    constexpr mode_t kOthers = 077;
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & kOthers) != 0)
        throw Error{.what = "is not a private folder of yours, so nothing is written there",
                    .where = folder.string(),
                    .remedy = "remove it, or name another local folder in TMPDIR",
                    .kind = ErrorKind::Environment};
}

/// Identifies a state of a file without reading it.
std::string identityOf(const fs::path& file)
{
    struct stat status {};
    if (stat(file.c_str(), &status) != 0)
        return "none";
    return fmt::format("{} {} {}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
}

Error failed(const char* what, const fs::path& where, int error, const char* remedy)
{
    return {.what = fmt::format("{} ({})", what, std::strerror(error)),
            .where = where.string(),
            .remedy = remedy,
            .kind = ErrorKind::Failure};
}

/// Removes an incomplete copy unless keep() is called.
class HalfCopy {
public:
    explicit HalfCopy(const fs::path& file) : file_(&file) {}
    ~HalfCopy()
    {
        if (file_)
            unlink(file_->c_str());
    }
    HalfCopy(const HalfCopy&) = delete;
    HalfCopy& operator=(const HalfCopy&) = delete;
    void keep() { file_ = nullptr; }

private:
    const fs::path* file_;
};

/// Repeats a system call that a signal interrupted.
template <class Call> auto uninterrupted(Call&& call)
{
    for (;;)
        if (const auto result = call(); result >= 0 || errno != EINTR)
            return result;
}

/// Copies the content and makes it durable; on failure no file remains.
/// \param mode  permissions; none: those of a new file
void copyDurably(const fs::path& from, const fs::path& to, std::optional<mode_t> mode)
{
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    const FileDescriptor source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source)
        throw failed("cannot be read", from, errno, "check the disk");
    constexpr mode_t kNew = 0666; // minus the umask
    const FileDescriptor target(
        open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kNew));
    const char* remedy = "free some space, or check that you may write there";
    HalfCopy half(to);
    if (!target || (mode && fchmod(target.get(), *mode) != 0))
        throw failed("cannot be written", to, errno, remedy);
    std::vector<char> block(kBlock);
    for (;;) {
        const ssize_t length = uninterrupted([&] { return read(source.get(), block.data(), block.size()); });
        if (length < 0)
            throw failed("cannot be read", from, errno, "check the disk");
        if (length == 0)
            break;
        for (ssize_t done = 0; done < length;) {
            const ssize_t written = uninterrupted([&] {
                return write(target.get(), block.data() + done, static_cast<std::size_t>(length - done));
            });
            if (written < 0)
                throw failed("cannot be written", to, errno, remedy);
            done += written;
        }
    }
    if (uninterrupted([&] { return fsync(target.get()); }) != 0)
        throw failed("cannot be written", to, errno, remedy);
    half.keep();
}

std::optional<mode_t> permissionsOf(const fs::path& file)
{
    struct stat status {};
    constexpr mode_t kPermissions = 0777;
    if (stat(file.c_str(), &status) != 0)
        return {};
    return status.st_mode & kPermissions;
}

void writeRecord(const fs::path& folder, const std::string& text)
{
    const fs::path draft = folder / (std::string(kRecord) + "-new");
    std::ofstream(draft) << text;
    fs::rename(draft, folder / kRecord);
}

bool recordNames(const fs::path& folder, const std::string& identity)
{
    std::ifstream record(folder / kRecord);
    for (std::string line; std::getline(record, line);)
        if (line == identity)
            return true;
    return false;
}

} // namespace

void requireKnownScratch()
{
    setting();
}

WorkingCopy::WorkingCopy(const fs::path& file, Log log) : WorkingCopy(file, std::move(log), Timing{}) {}

WorkingCopy::WorkingCopy(const fs::path& file, Log log, const Timing& timing)
    : file_(outputPath(file)), log_(std::move(log)), timing_(timing),
      publishedAt_(std::chrono::steady_clock::now())
{
    const std::optional<std::string> reason = reasonForCopy(file_);
    if (!reason)
        return;
    // Refuses files of other programs before anything is created in their folder.
    if (std::error_code error; fs::is_regular_file(file_, error) && fs::file_size(file_, error) > 0)
        store::RunReader(file_).runs();
    lock_.emplace(file_);
    folder_ = scratchOf(file_);
    try {
        lookForLeftCopy();
        if (copy_.empty())
            makeCopy();
    } catch (const fs::filesystem_error& error) {
        throw Error{.what = "cannot be used to write in (" + error.code().message() + ")",
                    .where = folder_.string(),
                    .remedy = "name another local folder in TMPDIR",
                    .kind = ErrorKind::Environment};
    }
    log_(fmt::format("{} is written to {} and copied to its place every {:g} s, because {}", file.string(),
                     copy_.string(), std::chrono::duration<double>(timing_.between).count(), *reason));
}

/// Looks for the copy of a killed writer. Continues it if the original has not changed since.
void WorkingCopy::lookForLeftCopy()
{
    if (!fs::exists(fs::symlink_status(folder_)))
        return;
    requireOwn(folder_);
    const fs::path left = folder_ / file_.filename();
    if (!fs::exists(folder_ / kRecord) || !fs::exists(left)) {
        fs::remove_all(folder_); // the writer was killed before the copy was complete
        return;
    }
    copy_ = left;
    if (recordNames(folder_, identityOf(file_))) {
        changed_ = true;
        log_(fmt::format("continuing the copy of {} that a killed writer left in {}", file_.string(),
                         left.string()));
    } else {
        putAside();
    }
}

/// The original has changed: keeps both.
void WorkingCopy::putAside()
{
    const fs::path whole = folder_ / "whole";
    store::snapshot(copy_, whole);
    fs::path beside;
    for (int number = 1; beside.empty() || fs::exists(beside); ++number)
        beside = fs::path(file_).replace_extension(fmt::format(".left-{}.tscope", number));
    copyDurably(whole, beside, permissionsOf(file_));
    log_(fmt::format("{} has changed since a writer on this machine was killed; the copy of that writer is "
                     "saved as {} (tilescope merge combines them)",
                     file_.string(), beside.string()));
    fs::remove_all(folder_);
    copy_.clear();
}

void WorkingCopy::makeCopy()
{
    constexpr mode_t kPrivate = 0700;
    if (mkdir(folder_.c_str(), kPrivate) != 0 && errno != EEXIST)
        throw failed("cannot be made", folder_, errno, "name another local folder in TMPDIR");
    requireOwn(folder_);
    const fs::path copy = folder_ / file_.filename();
    std::error_code error;
    if (fs::exists(file_, error))
        copyDurably(file_, copy, permissionsOf(file_));
    writeRecord(folder_, identityOf(file_) + "\n");
    copy_ = copy;
}

std::optional<std::chrono::steady_clock::time_point> WorkingCopy::due() const
{
    if (copy_.empty() || !changed_)
        return {};
    // If publishing takes long, it uses at most a tenth of the time.
    constexpr int kShare = 9;
    return publishedAt_ +
           std::max<std::chrono::steady_clock::duration>(timing_.between, kShare * publishing_);
}

void WorkingCopy::publishIfDue()
{
    const auto began = std::chrono::steady_clock::now();
    const auto when = due();
    if (!when || began < *when)
        return;
    changed_ = false;
    try {
        const fs::path whole = folder_ / "whole";
        store::snapshot(copy_, whole);
        publish(whole);
    } catch (const Error& error) {
        changed_ = true;
        log_(fmt::format("the file could not be updated; the next attempt follows: {}", error.sentence()));
    }
    publishedAt_ = std::chrono::steady_clock::now();
    publishing_ = publishedAt_ - began;
}

/// Replaces the original atomically: readers see either the old or the new file.
void WorkingCopy::publish(const fs::path& whole)
{
    const fs::path arriving = fs::path(file_) += "-arriving";
    copyDurably(whole, arriving, permissionsOf(file_));
    // After a crash the original is one of the two, and this copy continues either.
    writeRecord(folder_, identityOf(file_) + "\n" + identityOf(arriving) + "\n");
    if (rename(arriving.c_str(), file_.c_str()) != 0)
        throw failed("cannot be replaced", file_, errno, "check that you may write its folder");
}

void WorkingCopy::bringHome()
{
    if (copy_.empty())
        return;
    try {
        std::error_code error;
        if (fs::exists(copy_, error)) {
            const fs::path whole = folder_ / "whole";
            store::snapshot(copy_, whole);
            publish(whole);
        }
    } catch (Error& failure) {
        failure.remedy += failure.remedy.empty() ? "" : "; ";
        failure.remedy +=
            "everything is in " + copy_.string() +
            ": fix the cause and run with --resume on this machine, or copy that file to its place";
        throw;
    }
    std::error_code ignored; // what remains is already published, and its record says so
    fs::remove_all(folder_, ignored);
    copy_.clear();
    changed_ = false;
    lock_.reset();
}

void bringHomeLeftCopy(const fs::path& link, const WorkingCopy::Log& log, std::chrono::milliseconds timeout)
{
    const fs::path file = outputPath(link);
    std::error_code error;
    if (!reasonForCopy(file) || !fs::exists(scratchOf(file), error))
        return;
    constexpr std::chrono::milliseconds kLook{20};
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (store::WriterLock::isHeld(file) && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(kLook);
    WorkingCopy copy(file, log);
    if (fs::exists(copy.path(), error)) {
        const StringTable noStrings;
        const store::RunWriter sealing(copy.path(), noStrings);
    }
    copy.bringHome();
}

} // namespace tilescope::session
