#pragma once

#include "core/base/mutex.h"
#include "core/trace/host/thread_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

/// What the host's threads note while a tracer records: ranges, ops, launches, API calls and CPU allocations,
/// each a plain record pushed into the noting thread's own preallocated ring. The tracer's thread drains the
/// rings. Nothing here locks or allocates in steady state; no LibTorch, no CUPTI.
namespace tilescope::trace {

/// The logs of all threads and their shared state. A singleton that is never destroyed; any thread may call
/// it unless stated otherwise.
class HostLogs {
public:
    static HostLogs& instance();

    /// The calling thread's log while a recording is on, made at its first event; else null.
    static ThreadLog* mine();
    /// The calling thread's log while a recording is on if it has one; never allocates.
    static ThreadLog* mineIfAny() noexcept;
    static bool recording() noexcept;
    /// The context of an event at this moment in the calling thread. Neither locks nor allocates.
    static HostContext here() noexcept;
    /// The calling thread's number once here() found its log; 0 if it has none.
    static std::uint32_t hereThread() noexcept;

    // --- the tracer, on the session thread ---
    /// Starts a recording with the calling thread as session thread. Events of threads without an open range
    /// belong to the session thread's current range. Prepares logs for `spareLogs` more threads.
    void start(std::size_t ringCapacity, std::size_t spareLogs);
    /// The same without a session thread, and while records of an earlier recording may still be drained: events of
    /// threads without an open range belong to this path.
    void startWithin(std::string_view path, std::size_t ringCapacity, std::size_t spareLogs);
    /// Ends the recording and closes the open ranges of the calling thread.
    void stop();
    void setStep(std::int32_t step);
    /// The functions that query autograd; set once, before the first recording that needs them.
    void setProbe(const AutogradProbe& probe);
    /// The function that tells the stack of a thread that launches; null: stacks are not recorded.
    void setStackProbe(StackProbe probe) noexcept { stackProbe_.store(probe, std::memory_order_release); }

    std::int32_t step() const noexcept { return step_.load(std::memory_order_relaxed); }
    /// Numbers that the next range and op will have.
    std::uint32_t nextRange() const noexcept { return nextRange_.load(std::memory_order_relaxed); }
    std::uint32_t nextOp() const noexcept { return nextOp_.load(std::memory_order_relaxed); }

    // --- fork() ---
    Mutex& forkMutex() { return addMutex_; }
    /// In a forked child, by its only thread: ends the recording and forgets the logs of the parent's threads, whose
    /// records are the parent's.
    void forgetThreads() noexcept;

    // --- the tracer's thread ---
    std::span<ThreadLog* const> logs() const;
    /// Passes on every record noted so far, in order per thread, and recycles the logs of threads that have
    /// ended.
    template <class Take> void drain(Take&& take)
    {
        for (ThreadLog* log : logs()) {
            const bool orphaned = log->state_.load(std::memory_order_acquire) == ThreadLog::State::Orphaned;
            log->ring.drain([&](const HostRecord& record) { take(*log, record); });
            if (orphaned)
                log->state_.store(ThreadLog::State::Free, std::memory_order_release);
        }
    }
    /// Whether some ring has less room than is good, so that it should be drained soon.
    bool pressed() const
    {
        return std::ranges::any_of(
            logs(), [](const ThreadLog* log) { return log->ring.size() > log->ring.capacity() / 4; });
    }
    /// The records that did not fit into the rings since the process began.
    struct Counters {
        std::uint64_t dropped = 0; ///< records that found their ring full
        std::uint64_t tooDeep = 0;
        std::uint64_t countedOnly = 0;
        std::uint64_t namesMerged = 0;    ///< ranges and ops whose name lost its number; see PathTree
        std::uint64_t threadsRefused = 0; ///< threads without a log, because too many run at once
    };
    Counters counters() const;

private:
    friend class ThreadLog;
    HostLogs() = default;
    /// The action for a thread that has no log yet.
    enum class Missing { Make, TakeSpare, GoWithout };
    static ThreadLog* find(Missing missing);
    ThreadLog* takeSpare() noexcept;
    void begin(const PathNode* path);
    ThreadLog* add(ThreadLog::State state);

    static constexpr std::size_t kMostLogs = 256;

    std::atomic<std::uint32_t> generation_{0};
    std::atomic<std::int32_t> step_{kNoStep};
    std::atomic<std::uint32_t> nextRange_{0};
    std::atomic<std::uint32_t> nextOp_{0};
    std::atomic<std::uint64_t> refused_{0};
    // The session thread's current range. A thread without its own range reads both values while the session
    // thread waits for it, so the pair need not be atomic.
    std::atomic<std::uint32_t> sessionRange_{kNone};
    std::atomic<const PathNode*> sessionPath_{nullptr};
    std::atomic<const AutogradProbe*> probe_{nullptr};
    AutogradProbe probeStorage_{};
    std::atomic<StackProbe> stackProbe_{nullptr};
    std::atomic<std::size_t> ringCapacity_{1 << 16};
    std::array<ThreadLog*, kMostLogs> logs_{}; // [0, logCount_) never change
    std::atomic<std::size_t> logCount_{0};
    Mutex addMutex_; // held by add(): one thread at a time appends to logs_
};

/// Notes an allocation of the CPU allocator if a recording requests them.
/// \param allocated  bytes after it
void noteCpuAllocation(AllocAction action, const void* address, std::int64_t bytes, std::int64_t allocated);
/// Whether the current and following recordings include CPU allocations.
void recordCpuAllocations(bool wanted) noexcept;

} // namespace tilescope::trace
