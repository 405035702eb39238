#pragma once

#include "core/base/ids.h"
#include "core/exchange/import/rules/rules.h"
#include "core/exchange/import/trace_builder.h"
#include "core/model/events.h"
#include "core/model/host_samples.h"
#include "core/model/kernel_samples.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::exchange {

// What TraceBuilder keeps of each event until finish(): small, since there may be tens of millions. Times are
// nanoseconds of the process' clock; processes, threads, devices and streams are indices into lists of the
// builder.

enum class HostKind : std::uint8_t { Step, Module, Range, Frame, Op, ApiCall, Launch, Overhead, Allocation };

struct HostRow {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::uint32_t name = 0;   ///< StringId; launches: of their path, empty if it follows from the ranges
    std::uint32_t thread = 0; ///< index of a KnownThread
    std::uint32_t extra =
        0; ///< ops: index of OpFacts; API calls, launches: native correlation; allocations: index;
           ///< ranges: StringId of a known path + 1, or 0
    HostKind kind = HostKind::Range;
};

struct OpFacts {
    StringId shapes = {};
    bool isBackward = false;
    std::int64_t sequence = -1;
    std::uint64_t externalId = 0;
    std::uint64_t order = 0; ///< among ops of the same interval; 0: that of adding
};

struct DeviceRow {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::uint32_t name = 0;        ///< StringId
    std::uint32_t launch = 0;      ///< index of a LaunchConfig
    std::uint32_t correlation = 0; ///< native
    std::uint32_t stream = 0;      ///< index of a KnownStream
    std::uint32_t extra = 0;       ///< index of ActivityFacts; 0: none
    DeviceEventKind kind = DeviceEventKind::Kernel;
    CopyKind copy = CopyKind::None;
};

/// What few activities have. Entry 0 stands for none.
struct ActivityFacts {
    std::int64_t bytes = 0;
    std::uint64_t graphNode = 0;
    std::uint64_t externalId = 0;
    StringId path = {}; ///< none: that of the launch

    bool operator==(const ActivityFacts&) const = default;
};

struct KnownThread {
    ProcessIndex process;
    std::int64_t native = 0;
    StringId name = {};
    ThreadId number = {}; ///< in the run; by finish()
};

struct KnownDevice {
    ProcessIndex process;
    TracedDevice facts = {};
    DeviceIndex number = {}; ///< in the run; by finish()
};

struct KnownStream {
    ProcessIndex process;
    std::uint32_t device = 0; ///< index of a KnownDevice
    std::int64_t native = 0;
    std::optional<std::int64_t> context = {};
    StreamId number = {}; ///< in the run; by finish()
};

/// An event of an allocator, and memory that is known to be held.
struct ForeignAllocation {
    AllocEvent event = {};
    ProcessIndex process;
};
struct ForeignHeld {
    ProcessIndex process;
    DeviceIndex device = {}; ///< index of a KnownDevice; none: the CPU
    HeldStorage storage = {};
};

/// A file that processes came from.
struct ForeignSource {
    std::string name;
    bool mayRepeatRanks = false; ///< a rank may have had several processes, one after the other
};

/// Everything that the importers added, in the order of adding.
struct ForeignTrace {
    StringTable strings;
    RunTopology topology; ///< processes and clocks; devices and streams are added by the assembly
    std::vector<KnownThread> threads;
    std::vector<KnownDevice> devices;
    std::vector<KnownStream> streams;
    std::vector<HostRow> host;
    std::vector<OpFacts> ops;
    std::vector<DeviceRow> activities;
    std::vector<LaunchConfig> launches;
    std::vector<ActivityFacts> activityFacts{ActivityFacts{}};
    std::vector<ForeignAllocation> allocations;
    std::vector<ForeignHeld> held;
    std::vector<Collective> collectives;
    std::vector<Wait> waits;
    std::vector<std::pair<ProcessIndex, CounterTrack>> counters;       ///< by the process of their clock
    std::vector<std::pair<ProcessIndex, HostSamples>> hostSamples;     ///< by process; samples in any order
    std::vector<std::pair<ProcessIndex, KernelSamples>> kernelSamples; ///< by process
    bool keepsKernelCode = true; ///< the file may hold machine code of sampled kernels
    bool keepsSources = false;   ///< the file may hold source text of sampled kernels
    std::optional<std::pair<TraceBatch, MemoryFacts>> memory; ///< of a snapshot
    std::vector<EnvironmentEntry> environment;
    std::vector<std::string> flags; ///< of the run, as flagText() makes them
    std::map<std::pair<RecordLoss, std::string>, std::int64_t> losses; ///< by kind and detail
    std::int64_t records = 0;
    std::int64_t kernels = 0;
    std::vector<ForeignSource> sources;
    std::vector<std::uint32_t> sourceOf;        ///< index of the source, by process
    std::map<ProcessIndex, std::string> unread; ///< processes that are devices, with the device's name
    std::set<ProcessIndex> spare;               ///< processes that are left out if nothing is theirs
    RuleWork work;

    /// By index of a KnownStream: whether an activity or a wait is on it.
    std::vector<bool> usedStreams() const;
    ProcessIndex processOf(const HostRow& row) const { return threads[row.thread].process; }
    ProcessIndex processOf(const DeviceRow& row) const { return streams[row.stream].process; }
};

inline std::vector<bool> ForeignTrace::usedStreams() const
{
    std::vector<bool> used(streams.size());
    for (const DeviceRow& row : activities)
        used[row.stream] = true;
    for (const Wait& wait : waits)
        for (const StreamId stream : {wait.stream, wait.waitedFor})
            if (stream)
                used[stream.value] = true;
    return used;
}

/// The most devices that a run may have.
inline constexpr std::size_t kMostDevices = 4096;

} // namespace tilescope::exchange
