#pragma once

#include "core/analysis/memory/memory_curve.h"
#include "core/query/runs/code_places.h"
#include "core/query/runs/event_query.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Allocation events as they came.
struct MemoryEventsTable {
    store::RunRecord run = {};
    Timestamp origin{}; ///< first event of the run: times are shown from it
    std::vector<AllocEvent> events = {};
    std::unordered_map<StringId, std::string> texts = {}; ///< of the events' categories and paths
    std::unordered_map<OpId, std::string> ops = {};       ///< names of the events' ops
    std::unordered_map<OpId, std::string> shapes = {};    ///< of what those ops were given
    /// What the first events stand for where they only say what was allocated when the trace began.
    std::vector<MemoryBlock> older = {};
    CodePlaces places = {}; ///< where the events' ranges were opened

    std::string_view text(StringId id) const;
    std::string_view op(OpId id) const;
    std::string_view shapesOf(OpId id) const;
    /// Who holds an older block, or for whom set-up made one: layers.3/ffn/down; empty for others and where
    /// it is not known.
    std::string_view name(std::size_t event) const;
};

/// \throws Error  as kernels()
MemoryEventsTable memoryEvents(const store::RunReader& reader, const EventQuery& query);

struct MemoryGroupRow {
    std::string key = {};
    Bytes atPeak{};
    Bytes max{};
    std::int64_t allocations = 0;
    // Of groups that are stretches of time (MemoryStretch).
    std::optional<Bytes> before = {};
    std::optional<Bytes> after = {};
    std::optional<Bytes> peak = {};
    std::optional<Bytes> churn = {};
};

/// What a device lost to a process beyond what its allocator had reserved: CUDA's context, modules,
/// libraries.
struct OutsideAllocator {
    Bytes most{};
    std::optional<Bytes> beforeSetUp = {}; ///< before the run made anything
    bool ofAllProcesses = false;           ///< the driver's count, where NVML tells of none by itself
};

/// What the private pools of CUDA graphs hold, in which replayed steps work without allocating.
struct GraphPool {
    Bytes held{};                     ///< allocated there; part of the categories
    Bytes unknown{};                  ///< of it, unattributed: nobody saw it allocated
    std::optional<Bytes> replay = {}; ///< most that the captured step held there at once; none where not seen
};

struct MemoryGroupsTable {
    store::RunRecord run = {};
    DeviceIndex device = {};
    Grouping grouping = Grouping::Category;
    std::vector<MemoryGroupRow> rows;   ///< largest at the peak first
    std::optional<Timestamp> peak = {}; ///< none without events
    Timestamp origin{};
    Bytes allocated{}; ///< at the peak: the sum of the rows, less those beyond the allocator's count
    Bytes reserved{};
    std::optional<OutsideAllocator> outside = {}; ///< none where it was not measured
    GraphPool graphPool = {};
};

/// What is not attributed to any category, range or op is `unattributed`. By category, range, phase, module
/// or op, on the device with the highest peak.
/// \throws Error  as kernels()
MemoryGroupsTable memoryGroups(const store::RunReader& reader, const EventQuery& query);

/// What is allocated at an instant, the largest first.
struct LiveMemoryTable {
    MemoryEventsTable from = {}; ///< the events that the blocks index
    std::vector<analysis::LiveBlock> blocks = {};
    DeviceIndex device = {};
    Timestamp at{};
    Bytes allocated{};
    Bytes untraced{};  ///< that no block accounts for
    bool ever = false; ///< blocks of any time, not of that moment

    /// Who holds a block, and its shape, where that is known.
    std::string_view name(std::size_t row) const;
    std::string_view shape(std::size_t row) const;
};

/// \param at      from the run's first event; none: the peak.
/// \throws Error  as kernels()
LiveMemoryTable liveMemory(const store::RunReader& reader, const EventQuery& query,
                           std::optional<Nanoseconds> at);

/// The same of all blocks that were allocated at any time; `at` and `allocated` are the peak's.
LiveMemoryTable everAllocated(const store::RunReader& reader, const EventQuery& query);

} // namespace tilescope::query
