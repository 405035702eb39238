#include "core/store/file/writer_lock.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/base/this_host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

namespace tilescope::store {

namespace {

using namespace std::chrono_literals;
constexpr auto kBeat = 2s;
constexpr auto kDeadAfter = 10s;

/// The contents of the side file of a writer.
struct Holder {
    long pid = 0;
    std::string host;
    std::int64_t beatUnixNs = 0;
};

std::optional<Holder> readHolder(int descriptor)
{
    std::array<char, 512> text{};
    const ssize_t length = pread(descriptor, text.data(), text.size() - 1, 0);
    std::array<char, 256> host{};
    long pid = 0;
    long long beat = 0;
    if (length <= 0 || std::sscanf(text.data(), "%ld %255s %lld", &pid, host.data(), &beat) != 3)
        return {};
    return Holder{pid, host.data(), beat};
}

/// If the clock was set back, heartbeats are in the future; only an old heartbeat shows that the writer is
/// gone.
bool alive(const Holder& holder)
{
    return unixNs() - holder.beatUnixNs < kDeadAfter / 1ns;
}

/// The name of this host in the lock file.
std::string nameHere()
{
    const std::string name = hostName();
    return name.empty() ? "localhost" : name;
}

/// Whether the writer is a process of this host.
bool existsHere(const Holder& holder)
{
    return holder.host == nameHere() && (kill(static_cast<pid_t>(holder.pid), 0) == 0 || errno == EPERM);
}

/// Whether the writer was a process of this host that no longer exists: then an old heartbeat need not be
/// awaited.
bool diedHere(const Holder& holder)
{
    return holder.host == nameHere() && !existsHere(holder);
}

struct flock wholeFile()
{
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    return range;
}

bool lockingIsUnsupported(int error)
{
    return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

/// Whether another process holds the lock on an open side file.
bool heldByAnother(int descriptor)
{
    struct flock range = wholeFile();
    const std::optional<Holder> holder = readHolder(descriptor);
    if (fcntl(descriptor, F_OFD_GETLK, &range) == 0)
        // A process that was stopped, or a computer that slept, has an old heartbeat and still the lock.
        return range.l_type != F_UNLCK && (!holder || existsHere(*holder) || alive(*holder));
    // A filesystem without locks: only the heartbeat counts.
    return holder && alive(*holder) && !diedHere(*holder);
}

Error refused(const std::filesystem::path& file, const std::optional<Holder>& holder)
{
    const std::string who = holder ? "process " + std::to_string(holder->pid) + " on " + holder->host
                                   : std::string("another process");
    return {.what = "is being written by " + who,
            .where = file.string(),
            .remedy = "wait until it has finished, or name another file"};
}

} // namespace

std::filesystem::path WriterLock::sideFile(const std::filesystem::path& file)
{
    std::filesystem::path side = withLinksFollowed(file);
    side += "-lock";
    return side;
}

bool WriterLock::isHeld(const std::filesystem::path& file)
{
    const int descriptor = open(sideFile(file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return false;
    const bool held = heldByAnother(descriptor);
    close(descriptor);
    return held;
}

WriterLock::WriterLock(const std::filesystem::path& file) : side_(sideFile(file))
{
    take(file);
    beat();
    heart_ = std::jthread([this](std::stop_token stop) {
        MutexLock lock(mutex_);
        while (!stop.stop_requested()) {
            wake_.sleep(lock, stop, kBeat);
            beat();
        }
    });
}

void WriterLock::take(const std::filesystem::path& file)
{
    // A writer that ends removes the side file. A process that locked the removed file retries with a new
    // one.
    for (;;) {
        descriptor_ = open(side_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (descriptor_ < 0)
            throw Error{.what = std::string("cannot be written (") + std::strerror(errno) + ")",
                        .where = file.string(),
                        .remedy = "choose a file in a writable folder"};
        struct flock range = wholeFile();
        const bool locked = fcntl(descriptor_, F_OFD_SETLK, &range) == 0;
        const bool unsupported = !locked && lockingIsUnsupported(errno);
        const std::optional<Holder> holder = locked ? std::nullopt : readHolder(descriptor_);
        const bool mine = locked || (unsupported && !(holder && alive(*holder) && !diedHere(*holder)));
        if (mine && isSameFile(descriptor_, side_))
            return;
        close(descriptor_);
        descriptor_ = -1;
        if (!mine)
            throw refused(file, holder);
    }
}

void WriterLock::beat()
{
    std::array<char, 512> line{};
    const int length = std::snprintf(line.data(), line.size(), "%ld %s %lld\n", static_cast<long>(getpid()),
                                     nameHere().c_str(), static_cast<long long>(unixNs()));
    // If the write fails (disk full), only the lock indicates a live writer, which suffices on a local disk.
    [[maybe_unused]] const ssize_t written =
        pwrite(descriptor_, line.data(), static_cast<std::size_t>(length), 0);
}

WriterLock::~WriterLock()
{
    heart_ = {};
    unlink(side_.c_str());
    close(descriptor_);
}

} // namespace tilescope::store
