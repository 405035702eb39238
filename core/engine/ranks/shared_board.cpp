#include "core/engine/ranks/shared_board.h"

#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/engine/common/failure.h"

#include <c10/util/StringUtil.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace tilescope::engine {

namespace {

using Clock = std::chrono::steady_clock;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                  std::atomic<std::int64_t>::is_always_lock_free,
              "processes share these");

/// Waiting ranks check for others that were killed, which cannot signal it, at this interval.
constexpr std::chrono::milliseconds kLook{100};

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
                .mend = "free space in /dev/shm, or use fewer ranks",
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

SharedBoard::SharedBoard(const RankSeat& seat) : seat_(seat)
{
    const auto slots = static_cast<std::size_t>(2 * seat.size);
    bytes_ = sizeof(Header) + slots * kSlotBytes;
    const FileDescriptor file(shm_open(seat.meeting.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (file.get() < 0)
        refuse(seat.meeting, "cannot be opened");
    // Reserved here, because memory that is missing later would kill the process.
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

SharedBoard::Place& SharedBoard::place(int rank) const
{
    return static_cast<Header*>(memory_)->places[rank];
}

std::byte* SharedBoard::slot(int rank) const
{
    const std::size_t index =
        (turn_ % 2) * static_cast<std::size_t>(seat_.size) + static_cast<std::size_t>(rank);
    return static_cast<std::byte*>(memory_) + sizeof(Header) + index * kSlotBytes;
}

template <class Count>
std::string SharedBoard::below(std::int64_t least, const Count& count, bool& hasLeft) const
{
    std::string ranks;
    int found = 0;
    for (int rank = 0; rank < seat_.size; ++rank) {
        if (count(place(rank)).load(std::memory_order_acquire) >= least)
            continue;
        hasLeft = hasLeft || place(rank).hasLeft.load(std::memory_order_acquire) != 0;
        ranks += c10::str(found++ > 0 ? ", " : "", rank);
    }
    return found == 0 ? ranks : c10::str(found > 1 ? "ranks " : "rank ", ranks);
}

void SharedBoard::announce(std::int64_t sequence)
{
    place(seat_.rank).started.store(sequence, std::memory_order_release);
}

std::string SharedBoard::latecomers(std::int64_t sequence, bool& hasLeft) const
{
    return below(
        sequence, [](const Place& place) -> auto& { return place.started; }, hasLeft);
}

void SharedBoard::meet(const std::function<std::string()>& doing)
{
    ++rounds_;
    std::atomic<std::uint32_t>& bell = static_cast<Header*>(memory_)->bell;
    place(seat_.rank).rounds.store(rounds_, std::memory_order_release);
    bell.fetch_add(1, std::memory_order_acq_rel);
    wakeAll(bell);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(seat_.patience);
    for (;;) {
        const std::uint32_t heard = bell.load(std::memory_order_acquire);
        if (left_)
            throw LostRank(c10::str("rank ", seat_.rank, " left its group before ", doing()));
        bool hasLeft = false;
        const std::string absent = below(
            rounds_, [](const Place& place) -> auto& { return place.rounds; }, hasLeft);
        if (absent.empty())
            return;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (hasLeft || left.count() <= 0) {
            leave();
            throw LostRank(hasLeft ? c10::str(absent, " ended before ", doing())
                                   : c10::str(absent, " did not take part in ", doing(), " within ",
                                              seat_.patience.count(), " s"));
        }
        sleepUnlessChanged(bell, heard, std::min(left, kLook));
    }
}

void SharedBoard::leave()
{
    if (left_.exchange(true))
        return;
    place(seat_.rank).hasLeft.store(1, std::memory_order_release);
    std::atomic<std::uint32_t>& bell = static_cast<Header*>(memory_)->bell;
    bell.fetch_add(1, std::memory_order_acq_rel);
    wakeAll(bell);
}

} // namespace tilescope::engine
