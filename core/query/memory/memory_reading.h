#pragma once

#include "core/query/memory/memory_history.h"
#include "core/query/timeline/timeline.h"

#include <algorithm>
#include <optional>
#include <span>

namespace tilescope::query {

/// Allocated and reserved bytes of the requested device with the highest peak, from the file's precomputed
/// track: a history without blocks, available long before the complete one. Null if the file has no track.
/// \throws Error  no such run
std::shared_ptr<const MemoryHistory> memoryOutline(const store::RunReader& reader, RunId run,
                                                   const ProcessQuery& topology = {});

/// The traced steps of a run as the host went through them, since it allocates ahead of the device; of several
/// processes those of the one that used the device, if it is one.
/// \param origin  the run's first event, from which their times count
/// O(ranges), much less for a long run.
/// \throws Error  no such run
std::vector<TimelineStep> tracedSteps(const store::RunReader& reader, RunId run, Timestamp origin,
                                      DeviceIndex device = {});

/// The memory of a process outside its allocator: CUDA's context, modules, libraries.
struct OutsideAllocator {
    Bytes most{};
    std::optional<Bytes> beforeSetUp = {}; ///< before the run made anything
    bool ofAllProcesses = false;           ///< the driver's count, because NVML has none of the process
};

/// None on a CPU, or if it was not measured. O(readings).
std::optional<OutsideAllocator> outsideOf(std::span<const MemoryReading> readings, DeviceIndex device);

/// Ops that allocated the blocks of a history. Immutable; any thread.
struct MemoryOps {
    struct Op {
        OpId id;
        std::uint32_t name = 0;   ///< index into texts
        std::uint32_t shapes = 0; ///< of its inputs; 0 if not recorded
    };
    std::vector<std::string> texts{{}};
    std::vector<Op> ops = {}; ///< by id

    std::string_view name(OpId op) const { return text(op, &Op::name); }
    std::string_view shapes(OpId op) const { return text(op, &Op::shapes); }

private:
    std::string_view text(OpId op, std::uint32_t Op::*which) const
    {
        const auto found = std::ranges::lower_bound(ops, op, {}, &Op::id);
        return found == ops.end() || found->id != op ? std::string_view{}
                                                     : std::string_view(texts[(*found).*which]);
    }
};

/// The op that allocated a block; empty if it is unknown, or no op did.
/// \param ops  names of ops that the history does not hold; may be null
std::string_view opOf(const MemoryHistory& history, const MemoryLife& block, const MemoryOps* ops);
/// The shape of a block's tensor, otherwise those of the inputs of its op; empty if unknown.
std::string_view shapesOf(const MemoryHistory& history, const MemoryLife& block, const MemoryOps* ops);

/// Null where cancelled. O(ops of the run).
/// \throws Error  no such run
std::shared_ptr<const MemoryOps> memoryOps(const store::RunReader& reader, const MemoryHistory& history,
                                           const std::function<bool()>& cancelled = {});

} // namespace tilescope::query
