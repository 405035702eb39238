#pragma once

#include "core/model/events.h"
#include "core/trace/host/host_record.h"
#include "core/trace/host/path_tree.h"
#include "core/trace/host/ring.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

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

class ThreadLog;

/// Tells the log of the calling thread which frames of an interpreter its stack has, before a launch. Called in the midst
/// of a launch.
/// \return  whether the log knows the stack
using StackProbe = bool (*)(ThreadLog& log) noexcept;

/// Backward nodes with this number have no forward op: they add up the gradient of a leaf.
inline constexpr std::uint64_t kAccumulateSequence = ~std::uint64_t{0};

/// Everything one thread notes. The owning thread calls the members; the tracer's thread drains `ring`.
class ThreadLog {
public:
    explicit ThreadLog(std::size_t ringCapacity);

    std::uint32_t openRange(std::string_view component, std::string_view nvtxName,
                            std::source_location where);
    /// Does nothing for a range of an earlier recording.
    void closeRange(std::uint32_t id);
    /// When a range was opened; 0 if it is not open.
    std::int64_t startOf(std::uint32_t id) const;
    /// The number of a text: HostRecord keeps names and shapes by it.
    static std::uint32_t numberOf(std::string_view text);
    /// \param shapes  number of their text; kNone: not recorded
    void openOp(std::string_view name, std::int64_t sequence, OpScope scope, std::uint32_t shapes);
    void closeOp();
    /// A call into CUDA begins or ends. The runtime calls the driver in turn: only the outermost call of a
    /// thread counts, for which each returns true.
    bool enterCall();
    bool leaveCall();
    void noteLaunch(std::uint32_t correlation, std::int64_t time);
    void noteApiCall(ApiKind kind, std::uint32_t function, std::uint32_t correlation, std::int64_t start,
                     std::int64_t end);
    void noteStep(std::int32_t step);
    /// A node of a CUDA graph was made by this thread, here or as a copy of another (0: not a copy).
    void noteGraphNode(std::uint64_t node, std::uint64_t original);
    void noteAllocation(AllocAction action, const void* address, std::int64_t bytes, std::int64_t allocated);

    /// A call of an interpreted function that began at `start` ends now.
    /// \param name  PathNode::id
    void noteFrame(std::uint32_t name, std::int64_t start);

    /// The context of an event at this moment. Neither locks nor allocates.
    HostContext context() noexcept;

    /// The path under which a thread, given by its logical number, created the autograd node with that
    /// sequence number; null if unknown. Any thread.
    static const PathNode* pathCreating(std::uint64_t thread, std::uint64_t sequence) noexcept;
    static const PathNode* pathCreating(std::uint64_t thread, std::uint64_t sequence,
                                        std::uint64_t& place) noexcept;

    Ring<HostRecord> ring;
    // Counters that the tracer's thread reads.
    std::atomic<std::uint64_t> countedOnly{0}; ///< API calls counted, not stored
    std::atomic<std::uint64_t> tooDeep{0};     ///< ranges and ops nested deeper than is kept

    std::uint32_t thread() const { return thread_.load(std::memory_order_relaxed); }
    /// Whether the thread is in a call into CUDA. Any thread.
    bool isInCall() const noexcept { return callDepth_.load(std::memory_order_relaxed) > 0; }

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
    void closeAll(std::int64_t now); ///< closes everything open; for the thread that ends the recording
    HostContext probedContext() noexcept;
    std::uint32_t nextOpId();
    std::uint32_t opName(std::string_view name, OpScope scope);
    std::int32_t enterStep(); ///< the step of now, with the ordinals counted from its beginning
    void pushRange(const OpenRange& range, std::int64_t end);
    void publishSessionPlace();
    void noteBoundary();
    /// \param place  in: where the last search ended; out: where this one ended. Backward visits nodes nearly in order
    const PathNode* pathOfNode(std::uint64_t sequence, std::uint64_t& place) const noexcept;
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
    std::atomic<int> callDepth_{0}; ///< written by the owner alone
    // Ops begun and launches made in the step that they count for.
    std::uint32_t opOrdinal_ = 0;
    std::uint32_t launchOrdinal_ = 0;
    std::int32_t ordinalStep_ = kNoStep;
    std::array<OpenRange, kDeepestRange> ranges_;
    std::array<HostRecord, kDeepestOp> ops_;
    std::array<std::int32_t, kDeepestOp> opRangeDepths_; ///< ranges that were open when each op began
    std::uint32_t nextOpId_ = 0;                         ///< ids are taken from the process' in blocks
    std::uint32_t lastOpId_ = 0;
    PathCache names_;
    /// Names of operators have fixed addresses and are looked up by address, which touches less memory than
    /// their text.
    struct KnownName {
        const char* text = nullptr;
        std::size_t size = 0;
        // Its first and last bytes, because another name may reuse the address.
        std::uint64_t head = 0;
        std::uint64_t tail = 0;
        std::uint32_t id = kNone;
    };
    static constexpr std::size_t kKnownNames = 1024;
    std::array<KnownName, kKnownNames> opNames_{};
    // The node that this thread evaluated last and its path: events of one node are consecutive.
    AutogradProbe::Node lastNode_;
    const PathNode* lastNodePath_ = nullptr;
    std::uint64_t lastBoundary_ = 0;

    // Written by the owner; read by the thread that runs backward, which autograd's queue orders after.
    std::array<Boundary, kBoundaries> boundaries_;
    std::atomic<std::uint64_t> boundaryCount_{0};
};

} // namespace tilescope::trace
