#pragma once

#include "core/model/events.h"
#include "core/trace/host_record.h"
#include "core/trace/path_tree.h"
#include "core/trace/ring.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>

/// What the host's threads note while a tracer records: ranges, ops, launches, API calls and CPU allocations,
/// each a plain record pushed into the noting thread's own preallocated ring. The tracer's thread drains the
/// rings. Nothing here locks or allocates in steady state; no LibTorch, no CUPTI.
namespace tilescope::trace {

/// What this layer needs to know of autograd without knowing LibTorch. Plain reads of thread-local state:
/// they may be called under any lock.
struct AutogradProbe {
    struct Node {
        const void* identity = nullptr; ///< null: this thread evaluates no backward node
        std::uint64_t sequence = 0;     ///< number its forward op was given
        std::uint64_t thread = 0;       ///< logical thread in which that forward op ran
    };
    std::uint64_t (*nextSequence)() noexcept; ///< that the next op with gradient of this thread will be given
    std::uint64_t (*thread)() noexcept;       ///< logical number of this thread
    Node (*running)() noexcept;
};

/// Backward nodes with this number have no forward op: they add up the gradient of a leaf.
inline constexpr std::uint64_t kAccumulateSequence = ~std::uint64_t{0};

/// Everything one thread notes. The owning thread calls the members; the tracer's thread drains `ring`.
class ThreadLog {
public:
    explicit ThreadLog(std::size_t ringCapacity);

    std::uint32_t openRange(std::string_view component, std::string_view nvtxName);
    /// Does nothing for a range of an earlier recording.
    void closeRange(std::uint32_t id);
    void openOp(std::string_view name, std::int64_t sequence, OpScope scope, std::string_view shapes);
    void closeOp();
    /// A call into CUDA begins or ends. The runtime calls the driver in turn: only the outermost call of a
    /// thread counts, for which each returns true.
    bool enterCall();
    bool leaveCall();
    void noteLaunch(std::uint32_t correlation, std::int64_t time);
    void noteApiCall(ApiKind kind, std::uint32_t function, std::uint32_t correlation, std::int64_t start,
                     std::int64_t end);
    void noteStep(std::int32_t step);
    void noteAllocation(AllocAction action, const void* address, std::int64_t bytes, std::int64_t allocated);

    /// Where an event of this moment belongs. Neither locks nor allocates.
    HostContext context() noexcept;

    Ring<HostRecord> ring;
    // Counters that the tracer's thread reads.
    std::atomic<std::uint64_t> chatter{0}; ///< API calls counted, not stored
    std::atomic<std::uint64_t> tooDeep{0}; ///< ranges and ops nested deeper than is kept

    std::uint32_t thread() const { return thread_.load(std::memory_order_relaxed); }

private:
    friend class HostLogs;
    friend struct ThreadLogOwner;

    static constexpr int kDeepestRange = 64;
    static constexpr int kDeepestOp = 128;
    static constexpr std::size_t kBoundaries = 1 << 14;

    struct OpenRange {
        const PathNode* path;
        const PathNode* name;
        const void* node; ///< backward node that was being evaluated when it opened
        std::uint32_t id;
        std::uint32_t parent;
        std::int32_t step;
        std::int64_t start;
    };
    /// From `sequence` on, autograd nodes of this thread are created under `path` (null: under none).
    struct Boundary {
        std::atomic<std::uint64_t> sequence{0};
        std::atomic<const PathNode*> path{nullptr};
    };

    void adopt();                    ///< the calling thread becomes the owner
    void enterRecording();           ///< forgets what an earlier recording left open
    void closeAll(std::int64_t now); ///< ends what is open: for the thread that ends the recording
    void pushRange(const OpenRange& range, std::int64_t end);
    void publishSessionPlace();
    void noteBoundary();
    const PathNode* pathCreating(std::uint64_t sequence) const noexcept;
    const PathNode* backwardPath(const AutogradProbe::Node& node) noexcept;
    const OpenRange* innermost() const { return rangeDepth_ > 0 ? &ranges_[rangeDepth_ - 1] : nullptr; }

    enum class State : std::uint32_t { Free, Owned, Orphaned };
    std::atomic<State> state_{State::Owned};
    std::atomic<std::uint32_t> thread_{0};
    std::atomic<std::uint64_t> logicalThread_{0};

    // The owner's alone.
    std::uint32_t generation_ = 0; ///< the recording that the stacks belong to
    bool session_ = false;
    int rangeDepth_ = 0;
    int opDepth_ = 0;
    int callDepth_ = 0;
    std::uint32_t ordinal_ = 0;
    std::int32_t ordinalStep_ = kNoStep;
    std::array<OpenRange, kDeepestRange> ranges_;
    std::array<HostRecord, kDeepestOp> ops_;
    PathCache names_;
    // The node this thread evaluated last and where it belongs: events of one node come in a row.
    AutogradProbe::Node lastNode_;
    const PathNode* lastNodePath_ = nullptr;

    // Written by the owner; read by the thread that runs backward, which autograd's queue orders after.
    std::array<Boundary, kBoundaries> boundaries_;
    std::atomic<std::uint64_t> boundaryCount_{0};
};

/// All threads' logs and what they share. One, never destroyed; any thread may call where not said otherwise.
class HostLogs {
public:
    static HostLogs& instance();

    /// The calling thread's log while a recording is on, made at its first event; else null.
    static ThreadLog* mine();
    /// The calling thread's log while a recording is on if it has one; never allocates.
    static ThreadLog* mineIfAny() noexcept;
    static bool recording() noexcept;
    /// Where an event of this moment in the calling thread belongs. Neither locks nor allocates.
    static HostContext here() noexcept;

    // --- the tracer, on the session thread ---
    /// Starts a recording with the calling thread as session thread: where it sits is where events of threads
    /// without an open range belong. `spareLogs` more threads will find a log ready for them.
    void start(std::size_t ringCapacity, std::size_t spareLogs);
    /// Ends it, closing what the calling thread has open.
    void stop();
    void setStep(std::int32_t step);
    /// How autograd is asked; set once, before the first recording that needs it.
    void setProbe(const AutogradProbe& probe);

    std::int32_t step() const noexcept { return step_.load(std::memory_order_relaxed); }
    /// Numbers that the next range and op will have.
    std::uint32_t nextRange() const noexcept { return nextRange_.load(std::memory_order_relaxed); }
    std::uint32_t nextOp() const noexcept { return nextOp_.load(std::memory_order_relaxed); }

    // --- the tracer's thread ---
    std::span<ThreadLog* const> logs() const;
    /// Hands out every record noted so far, each thread's in the order of noting, and takes back the logs of
    /// threads that have ended.
    template <class Take> void drain(Take&& take)
    {
        for (ThreadLog* log : logs()) {
            const bool orphaned = log->state_.load(std::memory_order_acquire) == ThreadLog::State::Orphaned;
            log->ring.drain([&](const HostRecord& record) { take(*log, record); });
            if (orphaned)
                log->state_.store(ThreadLog::State::Free, std::memory_order_release);
        }
    }
    /// What was lost on the way into the rings since the process began.
    struct Counters {
        std::uint64_t dropped = 0; ///< records that found their ring full
        std::uint64_t tooDeep = 0;
        std::uint64_t chatter = 0;
        std::uint64_t threadsRefused = 0; ///< threads that found no log, as too many run at once
    };
    Counters counters() const;

private:
    friend class ThreadLog;
    HostLogs() = default;
    /// What to do for a thread that has no log yet.
    enum class Missing { Make, TakeSpare, GoWithout };
    static ThreadLog* find(Missing missing);
    ThreadLog* takeSpare() noexcept;
    ThreadLog* add(ThreadLog::State state);

    static constexpr std::size_t kMostLogs = 256;

    std::atomic<std::uint32_t> generation_{0};
    std::atomic<std::int32_t> step_{kNoStep};
    std::atomic<std::uint32_t> nextRange_{0};
    std::atomic<std::uint32_t> nextOp_{0};
    std::atomic<std::uint64_t> refused_{0};
    // Where the session thread sits. A thread without a range of its own reads both while the session thread
    // waits for it, so the pair need not be one atomic.
    std::atomic<std::uint32_t> sessionRange_{kNone};
    std::atomic<const PathNode*> sessionPath_{nullptr};
    std::atomic<const AutogradProbe*> probe_{nullptr};
    AutogradProbe probeStorage_{};
    std::atomic<std::size_t> ringCapacity_{1 << 16};
    std::array<ThreadLog*, kMostLogs> logs_{}; // [0, logCount_) never change
    std::atomic<std::size_t> logCount_{0};
    std::mutex addMutex_; // one thread at a time appends to logs_
};

/// Notes an allocation of the CPU allocator if a recording wants them. \param allocated  bytes after it
void noteCpuAllocation(AllocAction action, const void* address, std::int64_t bytes, std::int64_t allocated);
/// Whether the current and coming recordings want allocations of the CPU.
void recordCpuAllocations(bool wanted) noexcept;

} // namespace tilescope::trace
