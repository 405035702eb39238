#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilescope {

inline constexpr std::int32_t kNoStep = -1; ///< an event outside any traced step

/// A host range: step, phase or module, opened and closed by one thread.
struct Range {
    RangeId id = {};
    RangeId parent = {}; ///< innermost range open in the same thread; none at the top
    StringId path = {};  ///< full path: step/forward/layers.3/attention/softmax
    StringId name = {};  ///< last component, as NVTX shows it: step_0, forward, layers.3, …
    ThreadId thread = {};
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};
};

enum class OpScope : std::uint8_t { Function, Backward };

/// A LibTorch operator call as RecordFunction saw it. On a CPU this is the finest grain there is.
struct Op {
    OpId id = {};
    OpId parent = {};     ///< enclosing op of the same thread
    StringId name = {};   ///< aten::mm
    StringId shapes = {}; ///< "bf16[4, 128, 768] f32[768]"; none if not recorded
    StringId path = {};   ///< attributed path; a backward op carries step/backward/<forward module's path>
    RangeId range = {};   ///< innermost host range of the calling thread
    ThreadId thread = {};
    std::int64_t sequence = -1; ///< autograd sequence number; -1: none
    OpScope scope = OpScope::Function;
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};
};

enum class ApiKind : std::uint8_t {
    Launch,
    Memory,
    Synchronize,
    Other,
    Wait,     ///< in older files: what a synchronizing call waited for; lies within the call's own row
    Overhead, ///< time that tracing itself took
};

/// A CUDA runtime or driver call of the host. `trace: kernels` has only those that synchronize, and
/// overheads.
struct ApiCall {
    StringId name = {};
    CorrelationId correlation = {};
    ApiKind kind = ApiKind::Other;
    RangeId range = {};
    OpId op = {};
    ThreadId thread = {};
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};
};

enum class DeviceEventKind : std::uint8_t { Kernel, Memcpy, Memset };
enum class CopyKind : std::uint8_t {
    None,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    HostToHost,
    PeerToPeer,
    Other
};

/// How a kernel was launched. Few differ, so the store interns them.
struct LaunchConfig {
    std::array<std::uint32_t, 3> grid{};
    std::array<std::uint32_t, 3> block{};
    std::array<std::uint32_t, 3> cluster{};
    std::uint32_t registersPerThread = 0;
    std::uint32_t staticShared = 0;   ///< bytes
    std::uint32_t dynamicShared = 0;  ///< bytes
    std::uint32_t localPerThread = 0; ///< bytes

    auto operator<=>(const LaunchConfig&) const = default;
};

/// Something that ran on the device: kernel, copy or memset.
struct DeviceEvent {
    DeviceEventKind kind = DeviceEventKind::Kernel;
    StringId name = {}; ///< demangled as CUPTI gave it; copies and memsets by their kind
    StringId path = {}; ///< of the range that caused it, as Op::path; none if unknown
    DeviceIndex device = {};
    StreamId stream = {};
    CorrelationId correlation = {};
    RangeId range = {}; ///< innermost host range of the launching thread
    OpId op = {};       ///< op that launched it
    ThreadId launchThread = {};
    std::int32_t step = kNoStep;
    std::uint64_t graphNode = 0; ///< of a CUDA graph; 0 outside one
    CopyKind copy = CopyKind::None;
    std::int64_t bytes = 0; ///< copies and memsets
    LaunchConfig launch{};  ///< kernels
    Timestamp launched{};   ///< host's launch call; epoch: unknown
    Timestamp start{};
    Timestamp end{};
};

enum class AllocAction : std::uint8_t {
    Alloc,
    FreeRequested, ///< CUDA: the program freed the block; `allocated` decreases here
    FreeCompleted, ///< CUDA: no stream uses it any more. CPU: the only event of a free
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    Oom
};

/// One event of a caching allocator (CUDA) or of the CPU allocator.
struct AllocEvent {
    Timestamp time{};
    AllocAction action = AllocAction::Alloc;
    DeviceIndex device = {};
    std::uint64_t address = 0;
    std::int64_t bytes = 0;     ///< as requested (blocks) or real (segments)
    std::int64_t allocated = 0; ///< bytes allocated on the device after this event
    std::int64_t reserved = 0;  ///< bytes reserved after this event; CPU: equal to allocated
    StreamId stream = {};
    std::uint32_t pool = 0;
    StringId category = {}; ///< parameters, gradients, …; none until it is known
    StringId path = {};     ///< attributed path of what asked for it
    OpId op = {};
    std::int32_t step = kNoStep;
};

/// A call of a function, from the stack of an interpreter (Python).
struct Frame {
    StringId name = {}; ///< train.py(96): step
    ThreadId thread = {};
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};

    bool operator==(const Frame&) const = default;
};

/// A collective or point-to-point operation between processes.
struct Collective {
    ProcessIndex process = {};
    StringId op = {};    ///< all_reduce
    StringId group = {}; ///< name of the process group
    StringId ranks = {}; ///< "0,1,2,3"; none where unknown
    StringId dtype = {};
    std::int64_t sequence = -1; ///< number within the group, the same on every rank; -1: unknown
    std::int64_t bytes = -1;    ///< message of one rank; -1: unknown
    std::int32_t groupSize = 0; ///< 0: unknown
    std::int32_t peer = -1;     ///< rank, of point-to-point operations
    DeviceIndex device = {};    ///< none: on the host
    StreamId stream = {};
    ThreadId thread = {};           ///< that started it
    CorrelationId correlation = {}; ///< of its kernel
    RangeId range = {};
    StringId path = {};
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};

    bool operator==(const Collective&) const = default;
};

enum class WaitKind : std::uint8_t {
    Event,      ///< the host waits for an event
    StreamWait, ///< a stream waits for an event of another stream
    Stream,     ///< the host waits for a stream
    Context,    ///< the host waits for a device
};

/// A wait that orders streams, or host and device: an edge of the critical path.
struct Wait {
    WaitKind kind = WaitKind::Event;
    ProcessIndex process = {};
    DeviceIndex device = {};
    StreamId stream = {};                 ///< that waits, or that the host waits for
    StreamId waitedFor = {};              ///< StreamWait: the stream that recorded the event
    CorrelationId correlation = {};       ///< of the call that waits
    CorrelationId recordCorrelation = {}; ///< of the call that recorded the event
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};

    bool operator==(const Wait&) const = default;
};

/// A host thread and its name in the timeline.
struct ThreadName {
    ThreadId thread = {};      ///< in the run
    StringId name = {};        ///< main, autograd, …
    ProcessIndex process = {}; ///< none: the process of the run
    std::int64_t native = -1;  ///< the operating system's number; -1: that of `thread`
};

enum class LossSeverity : std::uint8_t { Info, Warning, Error };

/// Records that were dropped, clamped or could not be understood. Counted, stored and shown; never silent.
struct Loss {
    StringId kind = {}; ///< a name of core/model/losses.h
    LossSeverity severity = LossSeverity::Warning;
    std::int64_t count = 0;
    StringId detail = {};
};

/// What a tracer hands on: moved, never shared. Within a batch each list is in start order.
struct TraceBatch {
    std::vector<Range> ranges;
    std::vector<Op> ops;
    std::vector<ApiCall> apiCalls;
    std::vector<DeviceEvent> deviceEvents;
    std::vector<AllocEvent> allocEvents;
    std::vector<Frame> frames;
    std::vector<Collective> collectives;
    std::vector<Wait> waits;
    std::vector<ThreadName> threads;
    std::vector<Loss> losses;
    std::int64_t recordsChecked = 0; ///< for "Nothing lost (N records checked)"

    bool empty() const
    {
        return ranges.empty() && ops.empty() && apiCalls.empty() && deviceEvents.empty() &&
               allocEvents.empty() && frames.empty() && collectives.empty() && waits.empty() &&
               threads.empty() && losses.empty();
    }
};

/// Where trace batches go. One thread at a time calls consume().
class TraceSink {
public:
    virtual ~TraceSink() = default;
    virtual void consume(TraceBatch&& batch) = 0;
};

} // namespace tilescope
