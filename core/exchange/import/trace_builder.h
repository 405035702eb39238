#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/counter_track.h"
#include "core/model/events.h"
#include "core/model/host_samples.h"
#include "core/model/kernel_samples.h"
#include "core/model/losses.h"
#include "core/model/memory.h"
#include "core/model/processes.h"
#include "core/model/run.h"
#include "core/model/strings.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// Called repeatedly during an import with the share of the work done so far, 0 to 1.
/// \return  false to cancel
using ImportWatch = std::function<bool(double done)>;

/// The kind of a host range of a foreign recording.
enum class SpanKind : std::uint8_t {
    Range,  ///< NVTX range, record_function
    Module, ///< call of a module
    Step,   ///< a step of the program: ProfilerStep#3
};

/// An op of a framework. Times are on the axis of its process' clock.
struct ForeignOp {
    ThreadId thread;
    std::string_view name;
    std::string_view shapes = {}; ///< "bf16[4, 128, 768] f32[768]"; empty: not recorded
    std::int64_t sequence = -1;   ///< autograd sequence number
    bool isBackward = false; ///< a node of the backward pass (the forward op has the same sequence number)
    std::uint64_t externalId = 0; ///< connects activities without a launch to the op; 0: none
    std::uint64_t order = 0;      ///< among ops of the same interval; 0: `externalId`
    Timestamp start;
    Timestamp end;
};

/// A kernel, copy or memset of a foreign recording.
struct ForeignActivity {
    DeviceEventKind kind = DeviceEventKind::Kernel;
    std::string_view name;
    DeviceIndex device;            ///< from TraceBuilder::device
    StreamId stream;               ///< from TraceBuilder::stream
    std::uint32_t correlation = 0; ///< the native one, unique in its process; 0: none
    std::uint64_t externalId = 0;  ///< of the op that launched it; 0: none
    std::uint64_t graphNode = 0;
    CopyKind copy = CopyKind::None;
    std::int64_t bytes = 0;
    LaunchConfig launch = {};
    std::string_view path = {}; ///< path found by the recorder (of a graph node); empty: that of the launch
    Timestamp start;
    Timestamp end;
};

/// A collective or point-to-point operation between processes.
struct ForeignCollective {
    std::string_view op;         ///< all_reduce, all_gather, …
    std::string_view group = {}; ///< name of the process group
    std::string_view ranks = {}; ///< "0,1,2,3"; empty: unknown
    std::string_view dtype = {};
    std::int64_t sequence = -1; ///< number within the group; -1: counted by the builder
    std::int64_t bytes = -1;    ///< of the message of one rank; -1: unknown
    std::int32_t groupSize = 0; ///< 0: unknown
    std::int32_t peer = -1;     ///< of a point-to-point operation
};

/// Facts of an import that are not events.
struct ForeignHeader {
    std::string name;         ///< of the run: the file's name
    std::string format;       ///< Importer::format()
    std::string program = {}; ///< that recorded it: "Nsight Systems 2026.1.1"
    std::string stepsBy = {}; ///< name of the ranges that are steps; empty: the steps are found
};

/// The process that a flow of the source leads from, for a device activity.
struct ForeignFlow {
    std::int32_t device = 0; ///< CUDA's number
    std::int64_t stream = 0; ///< native
    Timestamp start;         ///< of the activity
    ProcessIndex process;
};

struct RuleWork;

/// Collects the records that importers read from foreign recordings and stores them as one run.
///
/// Importers add processes, then events in any order; time stamps are integer nanoseconds of the process's
/// clock. finish() nests the host events of each thread, connects activities to launches, ops and ranges,
/// finds the steps, attributes paths (backward by autograd's sequence numbers) and writes the run, by the rules in
/// rules/rules.h. Records that cannot be connected or stored are counted as losses, by kind. One thread. Holds the
/// events in memory, about 40 bytes each.
class TraceBuilder {
public:
    TraceBuilder();
    ~TraceBuilder();
    TraceBuilder(const TraceBuilder&) = delete;
    TraceBuilder& operator=(const TraceBuilder&) = delete;

    /// Names the file that the next processes come from.
    /// \param mayRepeatRanks  a rank may have had several processes, one after the other
    void beginSource(std::string name, bool mayRepeatRanks = false);

    // Who took part -----------------------------------------------------------------------------------------

    /// Adds a process; `id` and `firstCorrelation` are assigned.
    ProcessIndex addProcess(TracedProcess process);
    /// The process's record, for adding facts that the file contains later (rank, name).
    TracedProcess& process(ProcessIndex index);
    /// The process with this number of the operating system; none if there is none.
    ProcessIndex processWith(std::int64_t pid) const;
    /// Adds a clock; `id` is assigned. Processes without a clock share one.
    ClockIndex addClock(ClockDomain clock);
    /// The clock's record, to complete what the file says later (offset).
    ClockDomain& clock(ClockIndex index);
    /// The run's number of a native thread; the same for the same arguments. Sets its name unless empty.
    ThreadId thread(ProcessIndex process, std::int64_t native, std::string_view name = {});
    /// The run's number of a device, by UUID where known, otherwise by process and CUDA's number.
    DeviceIndex device(ProcessIndex process, std::int32_t ordinal);
    /// Sets facts of a device; all but `id` are optional.
    DeviceIndex addDevice(ProcessIndex process, TracedDevice facts);
    /// Declares a process to be a device whose events are not read: its host events are left out and counted.
    void leaveOut(ProcessIndex process, std::string_view device);
    /// Leaves out a process that has no thread, activity, allocation or counter in the end.
    void leaveOutIfUnused(ProcessIndex process);
    /// The run's number of a native stream of a device.
    StreamId stream(ProcessIndex process, DeviceIndex device, std::int64_t native,
                    std::optional<std::int64_t> context = {});

    // Events ------------------------------------------------------------------------------------------------

    /// \param path  that the recorder found (`step/backward/layers.3`); empty: it follows from the nesting
    void addRange(ThreadId thread, std::string_view name, Timestamp start, Timestamp end,
                  SpanKind kind = SpanKind::Range, std::string_view path = {});
    void addOp(const ForeignOp& op);
    /// A frame of a Python stack: a call of a function.
    void addFrame(ThreadId thread, std::string_view name, Timestamp start, Timestamp end);
    /// A CUDA (or HIP) runtime or driver call. Its kind follows from its name.
    void addApiCall(ThreadId thread, std::string_view name, std::uint32_t correlation, Timestamp start,
                    Timestamp end);
    /// The launch of an activity by a call that is not stored.
    /// \param path  that the recorder found (`step/backward/layers.3`); empty: that of the enclosing range
    void addLaunch(ThreadId thread, std::uint32_t correlation, Timestamp time, std::string_view path = {});
    /// Time that the profiler itself took.
    void addOverhead(ThreadId thread, std::string_view name, Timestamp start, Timestamp end);
    /// \return  its number, for processOfActivity(); none if it is not stored
    std::optional<std::uint32_t> addActivity(const ForeignActivity& activity);
    /// Gives the device activities and waits of `holder` to those of `callers` that launched them: rule "processes".
    /// Call it after all events of these processes. It may be called again with more flows.
    /// \return  numbers of the activities that more than one of them may have launched
    std::vector<std::uint32_t> shareActivities(ProcessIndex holder, std::span<const ProcessIndex> callers,
                                               std::span<const ForeignFlow> flows);
    ProcessIndex processOfActivity(std::uint32_t activity) const;
    /// The devices that have activities of a process.
    std::vector<std::int32_t> devicesOf(ProcessIndex process) const;
    /// A collective that runs as the kernel of this correlation.
    void addCollective(ProcessIndex process, const ForeignCollective& collective, std::uint32_t correlation);
    /// A collective on the host (gloo), or whose kernel is not in the recording.
    /// \param thread  that started it
    void addCollective(ThreadId thread, const ForeignCollective& collective, Timestamp start, Timestamp end);
    /// A wait. Its correlation ids are native; device and stream are those of device() and stream().
    void addWait(Wait wait);
    /// An event of an allocator in the process of `thread`, which gives the event its clock, op and path. Where the
    /// totals of the CPU are unknown (-1), so may be the sizes of its frees: finish() follows the blocks.
    /// \param path  that the recorder found (`step/backward/layers.3`); empty: that of the enclosing range
    void addAllocation(ThreadId thread, AllocEvent event, std::string_view path = {});
    /// Memory that a process is known to hold at an instant of its clock. `device` is from device(); none: the CPU.
    void addHeld(ProcessIndex process, DeviceIndex device, HeldStorage held);
    /// A counter, whose times are of the clock of `process`. Its device is from device() or knownDevice(); finish()
    /// cuts it to the time from the first to the last event.
    void addCounter(ProcessIndex process, CounterTrack track);
    /// The Python stacks of a process, once: its threads are those of thread(), and their samples in any order.
    void addHostSamples(ProcessIndex process, HostSamples samples);
    /// The samples of a process' kernels, once; their devices are from device().
    void addKernelSamples(ProcessIndex process, KernelSamples samples);
    /// What a run keeps of sampled kernels besides samples. By default code and no sources.
    void keepKernelText(bool code, bool sources);
    /// The device with this UUID, or with this number where UUIDs are unknown; none if no process used it.
    DeviceIndex knownDevice(std::string_view uuid, std::int32_t ordinal) const;
    /// A memory snapshot of one of the processes: its events, blocks and segments.
    void addMemory(TraceBatch&& events, MemoryFacts&& facts);
    void addEnvironment(EnvironmentEntry entry);
    /// A fact of one process. Where processes differ in it, the values begin with their titles: "rank 1: …".
    void addEnvironment(EnvironmentEntry entry, ProcessIndex process);
    /// A number of one process, such as a sum, that is read as keyOfProcess() says.
    void addNumber(std::string_view key, std::int64_t number, ProcessIndex process);
    /// Flags the run (flagText()).
    void addFlag(std::string flag);

    /// Counts a record that is not stored or doubtful. `detail` identifies it ("cat: mtia_runtime"); keep the
    /// number of distinct details small.
    void addLoss(RecordLoss kind, std::int64_t count = 1, std::string_view detail = {});
    /// Records of the source that were read, stored or not: for "Nothing lost (N records checked)".
    void countRecord(std::int64_t count = 1);

    StringTable& strings();

    // The run -----------------------------------------------------------------------------------------------

    /// Writes the run. `output` is a .tscope file, created if it does not exist; unchanged after an error.
    /// \throws Error  nothing was added, the output cannot be written, or the watch cancelled
    RunId finish(const ForeignHeader& header, const std::filesystem::path& output, const ImportWatch& watch);

    std::int64_t kernels() const;
    /// What applying the rules took so far.
    const RuleWork& work() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::exchange
