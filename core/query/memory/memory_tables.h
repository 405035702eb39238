#pragma once

#include "core/query/memory/memory_reading.h"
#include "core/query/runs/event_query.h"
#include "core/query/runs/process_rank.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// The recorded allocation events of all devices.
struct MemoryEventsTable {
    struct OpName {
        OpId id = {};
        StringId name = {};
    };

    store::RunRecord run = {};
    Timestamp origin{}; ///< first event of the run: times are shown from it
    std::vector<AllocEvent> events = {};
    std::map<DeviceIndex, RowProcess> processes = {};     ///< that used the events' devices
    std::unordered_map<StringId, std::string> texts = {}; ///< of the events' categories, paths and ops
    std::vector<OpName> ops = {};                         ///< of the events, by id

    std::string_view text(StringId id) const;
    std::string_view op(OpId id) const;
};

/// \throws Error  as kernels()
MemoryEventsTable memoryEvents(const store::RunReader& reader, const EventQuery& query);

struct MemoryGroupRow {
    std::string key = {};
    Bytes held{}; ///< at the instant that a table is about: in MemoryGroupsTable the peak
    Bytes max{};
    std::int64_t allocations = 0;
    // Of groups that are stretches of time (MemoryStretch).
    std::optional<Bytes> before = {};
    std::optional<Bytes> after = {};
    std::optional<Bytes> peak = {};
    std::optional<Bytes> churn = {};
};

/// The contents of the private pools of CUDA graphs. Replayed steps use this memory without allocating.
struct GraphPool {
    Bytes held{};                     ///< allocated there; part of the categories
    Bytes unknown{};                  ///< part of it that is unattributed: its allocation was not recorded
    std::optional<Bytes> replay = {}; ///< maximum that the captured step used there at once; none if not
                                      ///< recorded
};

struct MemoryGroupsTable {
    store::RunRecord run = {};
    DeviceIndex device = {};
    RowProcess process = {}; ///< that used it
    Grouping grouping = Grouping::Category;
    std::vector<MemoryGroupRow> rows;     ///< largest at the peak first
    std::optional<Nanoseconds> peak = {}; ///< from the run's first event; none without events
    Bytes allocated{}; ///< at the peak: the sum of the rows, less those beyond the allocator's count
    Bytes reserved{};
    std::optional<OutsideAllocator> outside = {}; ///< none if not measured
    GraphPool graphPool = {};
};

/// The blocks of the requested device with the highest peak, by category, range, phase, module, op or step.
/// Memory without a group is `unattributed`.
/// \throws Error  as kernels()
MemoryGroupsTable memoryGroupsTable(const store::RunReader& reader, const EventQuery& query);

/// The blocks that are allocated at an instant.
struct LiveMemoryTable {
    std::shared_ptr<const MemoryHistory> history;
    std::vector<std::uint32_t> blocks = {}; ///< of the history, the largest first
    std::int64_t at = 0;                    ///< from the history's origin
    Bytes allocated{};
    Bytes untraced{};  ///< the part of `allocated` in no known block
    bool ever = false; ///< the table has all blocks of the run

    const MemoryLife& block(std::size_t row) const { return history->blocks[blocks[row]]; }
};

/// \param at      from the run's first event; none: the peak.
/// \throws Error  as kernels()
LiveMemoryTable liveMemory(const store::RunReader& reader, const EventQuery& query,
                           std::optional<Nanoseconds> at);

/// All blocks of the run; `at`, `allocated` and `untraced` are those of the peak.
LiveMemoryTable everAllocated(const store::RunReader& reader, const EventQuery& query);

} // namespace tilescope::query
