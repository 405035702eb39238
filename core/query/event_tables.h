#pragma once

#include "core/analysis/memory_curve.h"
#include "core/analysis/range_totals.h"
#include "core/analysis/step_partition.h"
#include "core/query/code_places.h"
#include "core/query/grouping.h"
#include "core/query/run_tables.h"
#include "core/store/run_reader.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Which events of a file a table is about.
struct EventQuery {
    std::optional<RunId> run = {}; ///< none: the file's last
    std::string rangeGlob = {}; ///< only what lies in a range that matches (analysis::PathGlob); empty: all
    Grouping grouping = Grouping::None; ///< None: the table's own
};

/// Kernels, copies and memsets of the traced steps, added up.
struct KernelRow {
    std::string key = {}; ///< full name, or the group
    std::string shortName = {};
    std::string family = {};
    std::string does = {};
    std::int64_t kernels = 1; ///< distinct names in the group
    std::int64_t instances = 0;
    std::int64_t steps = 0;
    Nanoseconds total{0};
    Nanoseconds average{0};
    Nanoseconds shortest{0};
    Nanoseconds longest{0};
    double percent = 0; ///< of the GPU time in the selection

    double instancesPerStep() const;
};

struct KernelsTable {
    store::RunRecord run = {};
    Grouping grouping = Grouping::Name;
    std::vector<KernelRow> rows = {}; ///< costliest first
    std::int64_t events = 0;          ///< device events of the run, selected or not
    std::int64_t outsideSteps = 0;
    Nanoseconds total{0};
};

/// By name, family, range, phase, module or op. \throws Error  no such run, a pattern that is none
KernelsTable kernels(const store::RunReader& reader, const EventQuery& query);

/// Where the wall of each traced step went.
struct StepRow {
    RunId run = {};
    std::int32_t step = 0;
    bool onGpu = false; ///< false: there is only the wall
    analysis::StepPartition partition = {};
};

struct StepsTable {
    std::vector<StepRow> rows = {}; ///< by run and step
    std::vector<store::RunRecord> runs = {};
};

/// Of one run or of all. \throws Error  no such run
StepsTable steps(const store::RunReader& reader, const EventQuery& query);

struct OpRow {
    std::string key = {};
    std::int64_t instances = 0;
    Nanoseconds total{0};
    Nanoseconds self{0};
    Nanoseconds average{0};
    double percent = 0; ///< of the self time in the selection
};

struct OpsTable {
    store::RunRecord run = {};
    Grouping grouping = Grouping::Name;
    std::vector<OpRow> rows = {}; ///< most self time first
    std::int64_t events = 0;
};

/// By name, range, phase or module; self time is counted before the selection. \throws Error  as kernels()
OpsTable ops(const store::RunReader& reader, const EventQuery& query);

struct RangesTable {
    store::RunRecord run = {};
    std::vector<analysis::RangeTotal> rows = {}; ///< in tree order
    bool hasGpu = false;
    Nanoseconds gpuInModules{0}; ///< GPU time of the traced steps attributed below a phase
    Nanoseconds gpu{0};          ///< all GPU time of the traced steps
};

/// Only paths that match the pattern as a whole. \throws Error  as kernels()
RangesTable ranges(const store::RunReader& reader, const EventQuery& query);

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
/// or op, on the device with the highest peak. \throws Error  as kernels()
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

/// \param at  from the run's first event; none: the peak. \throws Error  as kernels()
LiveMemoryTable liveMemory(const store::RunReader& reader, const EventQuery& query,
                           std::optional<Nanoseconds> at);

/// The same of all blocks that were allocated at any time; `at` and `allocated` are the peak's.
LiveMemoryTable everAllocated(const store::RunReader& reader, const EventQuery& query);

} // namespace tilescope::query
