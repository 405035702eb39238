#include "core/base/temporary_path.h"

#include "core/base/error.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

namespace tilescope {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMark = ".tilescope-";
constexpr std::size_t kRandomCharacters = 6;

// --- Used in the signal handler: fixed memory and system calls only ---

/// Limit of unfinished outputs that a signal removes. Further ones are removed by their destructors only.
constexpr std::size_t kSlots = 16;

struct Slot {
    enum State : int { Free, Filling, Watched };
    std::atomic<int> state{Free};
    std::atomic<pid_t> owner{0}; ///< a forked process shares the memory, but does not own the outputs
    std::array<char, PATH_MAX> path{};
};

std::array<Slot, kSlots> slots;

/// The kernel's layout of getdents64.
struct DirectoryEntry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

bool isDots(const char* name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/// Removes a file, or a folder with its contents up to kDeepest levels.
void removeTree(int folder, const char* name, int depth)
{
    constexpr int kDeepest = 4;
    if (unlinkat(folder, name, 0) == 0 || depth == kDeepest)
        return;
    const int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return;
    alignas(DirectoryEntry) std::array<char, 4096> entries;
    long length = 0;
    while ((length = syscall(SYS_getdents64, inner, entries.data(), entries.size())) > 0)
        for (long at = 0; at < length;) {
            const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries.data() + at);
            if (!isDots(entry->name))
                removeTree(inner, entry->name, depth + 1);
            at += entry->length;
        }
    close(inner);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void removeAndEnd(int signal)
{
    const int before = errno;
    for (const Slot& slot : slots)
        if (slot.state.load() == Slot::Watched && slot.owner.load() == getpid())
            removeTree(AT_FDCWD, slot.path.data(), 0);
    std::signal(signal, SIG_DFL);
    raise(signal); // the signal is blocked here and ends the process on return
    errno = before;
}

// --- Everything else ---

void handleSignals()
{
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction present {};
        if (sigaction(signal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL)
            continue; // ignored (nohup), already handled, or another handler ends the process
        struct sigaction ours {};
        ours.sa_handler = removeAndEnd;
        sigaction(signal, &ours, nullptr);
    }
}

fs::path folderOf(const fs::path& output)
{
    return output.has_parent_path() ? output.parent_path() : fs::path(".");
}

/// The beginning of an output's temporary names, cut to the maximum length of a file name.
std::string prefixOf(const fs::path& output)
{
    const std::string name = output.filename().string();
    return "." + name.substr(0, NAME_MAX - 1 - kMark.size() - kRandomCharacters) + std::string(kMark);
}

std::string randomCharacters()
{
    static constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device random;
    std::uniform_int_distribution<std::size_t> index(0, kCharacters.size() - 1);
    std::string text;
    for (std::size_t i = 0; i < kRandomCharacters; ++i)
        text += kCharacters[index(random)];
    return text;
}

/// Whether the path still names the descriptor's file.
bool isStillThere(int descriptor, const fs::path& path)
{
    struct stat open {};
    struct stat named {};
    return fstat(descriptor, &open) == 0 && lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

/// Removes a file or folder that no process has locked.
void removeUnlocked(const fs::path& path)
{
    const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return;
    struct stat status {};
    const bool ours = fstat(descriptor, &status) == 0 && status.st_uid == geteuid() &&
                      (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
    if (ours && flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isStillThere(descriptor, path)) {
        std::error_code ignored; // the next writer tries again
        fs::remove_all(path, ignored);
    }
    close(descriptor);
}

} // namespace

TemporaryPath::TemporaryPath(const fs::path& output, Kind kind) : slot_(kSlots)
{
    removeLeftovers(output);
    const fs::path folder = folderOf(output);
    const std::string prefix = prefixOf(output);
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        path_ = folder / (prefix + randomCharacters());
        if (tryToMake(kind)) {
            watch();
            return;
        }
        if (errno != EEXIST)
            break;
    }
    throw Error{.what = std::string("cannot be written (") + std::strerror(errno) + ")",
                .where = output.string(),
                .remedy = "choose a file in a writable folder"};
}

/// Returns false and sets errno on failure; EEXIST: try another name.
bool TemporaryPath::tryToMake(Kind kind)
{
    constexpr mode_t kFile = 0666; // less the user's umask
    constexpr mode_t kFolder = 0777;
    if (kind == Kind::Folder) {
        if (mkdir(path_.c_str(), kFolder) != 0)
            return false;
        descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } else {
        descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFile);
    }
    if (descriptor_ < 0)
        return false;
    // Filesystems without locks return an error; there, leftovers of killed processes stay.
    const bool taken = flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && isStillThere(descriptor_, path_))
        return true;
    close(descriptor_); // another process removed it as a leftover before the lock
    descriptor_ = -1;
    errno = EEXIST;
    return false;
}

TemporaryPath::TemporaryPath(fs::path made) : path_(std::move(made)), slot_(kSlots)
{
    watch();
}

void TemporaryPath::watch()
{
    handleSignals();
    std::error_code error;
    const std::string absolute = fs::absolute(path_, error).string();
    if (error || absolute.size() >= PATH_MAX)
        return;
    for (std::size_t i = 0; i < kSlots; ++i) {
        int expected = Slot::Free;
        if (!slots[i].state.compare_exchange_strong(expected, Slot::Filling))
            continue;
        std::memcpy(slots[i].path.data(), absolute.c_str(), absolute.size() + 1);
        slots[i].owner = getpid();
        slots[i].state = Slot::Watched;
        slot_ = i;
        return;
    }
}

void TemporaryPath::keep() noexcept
{
    kept_ = true;
    if (slot_ < kSlots)
        slots[slot_].state = Slot::Free;
    slot_ = kSlots;
}

TemporaryPath::~TemporaryPath()
{
    if (!kept_) {
        std::error_code ignored; // the next writer tries again
        fs::remove_all(path_, ignored);
    }
    keep();
    if (descriptor_ >= 0)
        close(descriptor_);
}

void TemporaryPath::removeLeftovers(const fs::path& output) noexcept
{
    try {
        const std::string prefix = prefixOf(output);
        std::error_code error;
        for (fs::directory_iterator entry(folderOf(output), error), end; !error && entry != end;
             entry.increment(error)) {
            const std::string name = entry->path().filename().string();
            if (name.size() == prefix.size() + kRandomCharacters && name.starts_with(prefix))
                removeUnlocked(entry->path());
        }
    } catch (const std::exception&) { // out of memory for a path: leftovers stay
    }
}

fs::path newTemporaryFolder(std::string_view use)
{
    std::string name = (fs::temp_directory_path() / ("tilescope-" + std::string(use) + "-XXXXXX")).string();
    if (!mkdtemp(name.data()))
        throw Error{.what = std::string("no temporary folder can be created (") + std::strerror(errno) + ")",
                    .where = name,
                    .remedy = "set TMPDIR to a folder that you may write",
                    .kind = ErrorKind::Environment};
    return name;
}

} // namespace tilescope
