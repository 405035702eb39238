#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/path/activity_graph.h"
#include "core/analysis/path/launch_lag.h"
#include "core/analysis/time/text_of.h"
#include "core/model/events.h"
#include "core/model/topology_index.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// The records of a stretch of time that the critical path needs. Lists are in any order.
struct RecordingView {
    std::span<const Range> ranges;
    std::span<const Op> ops;
    std::span<const Frame> frames; ///< only frames that load data are used
    std::span<const ApiCall> calls;
    std::span<const DeviceEvent> device;
    std::span<const Wait> waits;
    std::span<const Collective> collectives;
    const TopologyIndex& topology;
    TextOf textOf;
    std::function<KernelFamily(const DeviceEvent&)> familyOf = {}; ///< of kernels and copies; none: by name
    UsualLags usual = {};                                          ///< LaunchLag::usual() of the recording
    std::optional<Nanoseconds> shortestBatchFetch =
        {};            ///< of a batch from DataLoader processes, in the whole recording
    bool onGpu = true; ///< whether the run used a GPU; false: ops are the work
};

/// Describes an activity of a recorded graph.
struct PathSource {
    enum class Kind : std::uint8_t { Thread, Range, Frame, Op, Call, Kernel, Copy, Collective };

    Kind kind = Kind::Thread;
    analysis::KernelFamily family = KernelFamily::Other; ///< set for kernels, copies and, on a CPU, ops
    StringId name = {};                                  ///< none: the time of a thread between its events
    StringId path = {};
    ProcessIndex process = {};
    ThreadId thread = {}; ///< none: the activity is on a device
    DeviceIndex device = {};
    StreamId stream = {};
    std::int32_t step = kNoStep; ///< of an activity on a device: the step that launched it
};

/// The number of an artificial thread: it stands for the processes that load data for a thread. They are not recorded.
inline constexpr std::uint32_t kFirstDataWorkers = 0xFFFE'0000; ///< threads of systems have smaller numbers
inline bool areDataWorkers(ThreadId thread)
{
    constexpr std::uint32_t kMost = 0x1000;
    return thread.value >= kFirstDataWorkers && thread.value < kFirstDataWorkers + kMost;
}

/// The parts that a graph is made of. `source` of an activity is an index into `sources`.
struct GraphParts {
    std::vector<Activity> activities;
    std::vector<Dependency> dependencies;
    std::vector<PathSource> sources;

    std::uint32_t add(Interval time, PathPart part, std::uint32_t source, Timestamp calledUntil = {})
    {
        activities.push_back({time, part, source, calledUntil});
        return static_cast<std::uint32_t>(activities.size() - 1);
    }
    std::uint32_t addSource(const PathSource& source)
    {
        sources.push_back(source);
        return static_cast<std::uint32_t>(sources.size() - 1);
    }
    void depend(std::uint32_t from, std::uint32_t to, Cause cause)
    {
        dependencies.push_back({from, to, cause});
    }
};

/// The part of the path that kernels and ops of a family belong to.
PathPart partOfFamily(KernelFamily family);

} // namespace tilescope::analysis
