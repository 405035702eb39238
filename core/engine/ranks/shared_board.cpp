#include "core/engine/ranks/shared_board.h"

#include "core/base/error.h"
#include "core/base/file_descriptor.h"

#include <c10/util/StringUtil.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace tilescope::engine {

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "processes share these");

void sleepUnlessChanged(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::milliseconds most)
{
    const timespec time{.tv_sec = most.count() / 1000, .tv_nsec = most.count() % 1000 * 1'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void wakeAll(std::atomic<std::uint32_t>& word)
{
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

[[noreturn]] void refuse(const std::string& meeting, const char* what)
{
    throw Error{.what = c10::str("the ranks' shared memory ", what, " (", std::strerror(errno), ")"),
                .where = "/dev/shm" + meeting,
                .remedy = "free space in /dev/shm, or use fewer ranks",
                .kind = ErrorKind::Environment};
}

} // namespace

/// One cache line per rank. New memory is zero, which is a valid state: no rank has arrived.
struct alignas(64) SharedBoard::Place {
    std::atomic<std::int64_t> rounds{0};
    std::atomic<std::int64_t> started{0}; ///< the last announced collective
    std::atomic<std::uint32_t> hasLeft{0};
};

struct SharedBoard::Header {
    alignas(64) std::atomic<std::uint32_t> bell{0}; ///< changes whenever a rank arrives or leaves
    Place places[kMostRanks];
};

SharedBoard::SharedBoard(const RankSeat& seat) : Board(seat)
{
    const auto slots = static_cast<std::size_t>(2 * seat.size);
    bytes_ = sizeof(Header) + slots * kSlotBytes;
    const FileDescriptor file(shm_open(seat.meeting.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (file.get() < 0)
        refuse(seat.meeting, "cannot be opened");
    // Reserves the memory now: if it were missing later, the kernel would kill the process.
    if (const int failure = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_)); failure != 0) {
        errno = failure;
        refuse(seat.meeting, c10::str("of ", bytes_ >> 20, " MiB cannot be reserved").c_str());
    }
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory_ == MAP_FAILED)
        refuse(seat.meeting, "cannot be mapped");
}

SharedBoard::~SharedBoard()
{
    leave();
    munmap(memory_, bytes_);
}

void SharedBoard::forget(const std::string& meeting)
{
    shm_unlink(meeting.c_str());
}

SharedBoard::Header& SharedBoard::header() const
{
    return *static_cast<Header*>(memory_);
}

SharedBoard::Place& SharedBoard::place(int rank) const
{
    return header().places[rank];
}

std::byte* SharedBoard::slot(int rank, std::uint64_t set)
{
    const std::size_t index = set * static_cast<std::size_t>(seat().size) + static_cast<std::size_t>(rank);
    return static_cast<std::byte*>(memory_) + sizeof(Header) + index * kSlotBytes;
}

void SharedBoard::announce(std::int64_t sequence)
{
    place(seat().rank).started.store(sequence, std::memory_order_release);
}

std::string SharedBoard::latecomers(std::int64_t sequence, bool& hasLeft)
{
    return below(
        sequence, [this](int rank) { return place(rank).started.load(std::memory_order_acquire); }, hasLeft);
}

// Ignores `filled`, because all ranks share the memory.
void SharedBoard::arrive(std::int64_t round, Filled /*filled*/)
{
    place(seat().rank).rounds.store(round, std::memory_order_release);
    ring();
}

std::int64_t SharedBoard::roundsOf(int rank) const
{
    return place(rank).rounds.load(std::memory_order_acquire);
}

bool SharedBoard::hasLeft(int rank) const
{
    return place(rank).hasLeft.load(std::memory_order_acquire) != 0;
}

std::uint32_t SharedBoard::news() const
{
    return header().bell.load(std::memory_order_acquire);
}

void SharedBoard::waitForNews(std::uint32_t known, std::chrono::milliseconds most)
{
    sleepUnlessChanged(header().bell, known, most);
}

// Every rank has the memory open now, so the system frees it when the last one ends, even if it is killed.
void SharedBoard::allMet()
{
    if (seat().rank == 0)
        forget(seat().meeting);
}

void SharedBoard::sayGoodbye()
{
    place(seat().rank).hasLeft.store(1, std::memory_order_release);
    ring();
}

void SharedBoard::ring()
{
    header().bell.fetch_add(1, std::memory_order_acq_rel);
    wakeAll(header().bell);
}

} // namespace tilescope::engine
