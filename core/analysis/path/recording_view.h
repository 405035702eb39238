#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/path/activity_graph.h"
#include "core/analysis/time/text_of.h"
#include "core/model/events.h"
#include "core/model/party_index.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// What was recorded in a stretch of time, as far as the critical path needs it. Lists in any order.
struct RecordingView {
    std::span<const Range> ranges;
    std::span<const Op> ops;
    std::span<const Frame> frames; ///< those that load data matter
    std::span<const ApiCall> calls;
    std::span<const DeviceEvent> device;
    std::span<const Wait> waits;
    std::span<const Collective> collectives;
    const PartyIndex& parties;
    TextOf textOf;
    bool onGpu = true; ///< of the whole run: false makes ops the work
};

/// What an activity of a recorded graph is.
struct PathSource {
    enum class Kind : std::uint8_t { Thread, Range, Frame, Op, Call, Kernel, Copy, Collective };

    Kind kind = Kind::Thread;
    analysis::KernelFamily family = KernelFamily::Other; ///< of kernels, copies and, on a CPU, ops
    StringId name = {};                                  ///< none: a thread between its events
    StringId path = {};
    ProcessIndex process = {};
    ThreadId thread = {}; ///< none: on a device
    DeviceIndex device = {};
    StreamId stream = {};
    std::int32_t step = kNoStep; ///< that launched it, on a device
};

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

/// The part of kernels and ops of a family.
PathPart partOfFamily(KernelFamily family);

} // namespace tilescope::analysis
