#include "core/engine/ranks/shared_board.h"

#include "core/base/error.h"
#include "core/rendezvous/rank_memory.h"

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

[[noreturn]] void refuse(const RankInfo& rankInfo, std::size_t bytes, const char* what, int number)
{
    throw Error{.what = c10::str("the ranks' shared memory of ", bytes >> 20, " MiB ", what, " (",
                                 std::strerror(number), ")"),
                .where = rankInfo.memory,
                .remedy = "use fewer ranks",
                .kind = ErrorKind::Environment};
}

std::size_t wholeSizeOf(const RankInfo& rankInfo)
{
    return static_cast<std::size_t>(rankInfo.members.empty() ? rankInfo.size : rankInfo.wholeSize);
}

/// A rank's number in the whole group.
std::size_t numberOf(const RankInfo& rankInfo, int rank)
{
    return static_cast<std::size_t>(
        rankInfo.members.empty() ? rank : rankInfo.members[static_cast<std::size_t>(rank)]);
}

} // namespace

/// One cache line per rank. New memory is zero, which is a valid state: no rank has arrived.
struct alignas(64) SharedBoard::Place {
    std::atomic<std::int64_t> rounds{0};
    std::atomic<std::int64_t> started{0}; ///< the last announced collective
    std::atomic<std::uint32_t> hasLeft{0};
};

struct SharedBoard::Header {
    alignas(64) std::atomic<std::uint32_t> sequence{0}; ///< changes whenever a rank arrives or leaves
    Place places[kMostRanks];
};

// The memory is a sequence of sections of one layout, the first for the whole group and one for each call that makes
// parts of it. A section has a header and two slots for each rank of the whole group. A part uses the header of its
// first rank and the slots of its ranks; each rank is in one part of a call, so that parts share nothing.
SharedBoard::SharedBoard(const RankInfo& rankInfo) : Board(rankInfo)
{
    constexpr std::size_t kPage = 4096;
    const std::size_t size = wholeSizeOf(rankInfo);
    bytes_ = size * (sizeof(Header) + 2 * kSlotBytes);
    bytes_ += (kPage - bytes_ % kPage) % kPage;
    const auto offset = static_cast<off_t>(bytes_ * static_cast<std::size_t>(rankInfo.part));
    const FileDescriptor file = rendezvous::openRankMemory(
        rankInfo.memory, rankInfo.members.empty() ? rankInfo.group : rankInfo.wholeGroup);
    // Reserves the memory now: if it were missing later, the kernel would kill the process.
    if (const int failure = posix_fallocate(file.get(), offset, static_cast<off_t>(bytes_)); failure != 0)
        refuse(rankInfo, bytes_, "cannot be reserved", failure);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), offset);
    if (memory_ == MAP_FAILED)
        refuse(rankInfo, bytes_, "cannot be mapped", errno);
}

SharedBoard::~SharedBoard()
{
    leave();
    munmap(memory_, bytes_);
}

SharedBoard::Header& SharedBoard::header() const
{
    return static_cast<Header*>(memory_)[numberOf(rankInfo(), 0)];
}

SharedBoard::Place& SharedBoard::place(int rank) const
{
    return header().places[rank];
}

std::byte* SharedBoard::slot(int rank, std::uint64_t set)
{
    const std::size_t size = wholeSizeOf(rankInfo());
    const std::size_t index = set * size + numberOf(rankInfo(), rank);
    return static_cast<std::byte*>(memory_) + size * sizeof(Header) + index * kSlotBytes;
}

void SharedBoard::announce(std::int64_t sequence)
{
    place(rankInfo().rank).started.store(sequence, std::memory_order_release);
}

std::string SharedBoard::missingRanks(std::int64_t sequence, bool& hasLeft)
{
    return below(
        sequence, [this](int rank) { return place(rank).started.load(std::memory_order_acquire); }, hasLeft);
}

// Ignores `filled`, because all ranks share the memory.
void SharedBoard::arrive(std::int64_t round, Filled /*filled*/)
{
    place(rankInfo().rank).rounds.store(round, std::memory_order_release);
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
    return header().sequence.load(std::memory_order_acquire);
}

void SharedBoard::waitForNews(std::uint32_t known, std::chrono::milliseconds most)
{
    sleepUnlessChanged(header().sequence, known, most);
}

void SharedBoard::announceExit()
{
    place(rankInfo().rank).hasLeft.store(1, std::memory_order_release);
    ring();
}

void SharedBoard::ring()
{
    header().sequence.fetch_add(1, std::memory_order_acq_rel);
    wakeAll(header().sequence);
}

} // namespace tilescope::engine
