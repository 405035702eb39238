#pragma once

#include "core/analysis/memory/memory_segments.h"
#include "core/model/memory.h"
#include "core/query/runs/code_places.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/timeline/step_curve.h"
#include "core/store/run_reader.h"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

inline constexpr std::size_t kMemoryCategories = static_cast<std::size_t>(MemoryCategory::Context) + 1;

/// A block of memory from its allocation to its free (see analysis::BlockLives). Times are nanoseconds from
/// the history's origin.
struct MemoryLife {
    static constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();
    static constexpr std::int64_t kAfter = std::numeric_limits<std::int64_t>::max();

    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t begin = 0; ///< kBefore: it was there when the trace began
    std::int64_t end = 0;   ///< kAfter: it outlives the trace
    MemoryCategory category = MemoryCategory::Unattributed;
    std::int32_t step = kNoStep;
    // Indices into texts; 0: unknown.
    std::uint32_t path = 0;  ///< range that allocated it
    std::uint32_t op = 0;    ///< op that allocated it
    std::uint32_t name = 0;  ///< tensor in a block from before the trace or of set-up: layers.3/ffn/down
    std::uint32_t shape = 0; ///< of that tensor; else the shapes of the op's inputs
    OpId by = {};            ///< op that allocated it; none for older blocks

    bool isOlder() const { return begin == kBefore; }
    bool isLeft() const { return end == kAfter; }
    bool isAliveAt(std::int64_t time) const { return begin <= time && time < end; }
};

/// The name for blocks from before the trace in tables and groups.
inline constexpr std::string_view kOlderGroup = "before the trace";

/// The allocator's history of one run and device: its blocks, and curves of its memory for any zoom.
/// Published once as shared_ptr<const MemoryHistory> and never changed; any thread.
class MemoryHistory {
public:
    store::RunRecord run = {};
    DeviceIndex device = {};            ///< of the requested devices, the one with the highest peak
    RowProcess process = {};            ///< that used it
    std::vector<DeviceIndex> gpus = {}; ///< all that have events
    Timestamp origin{};                 ///< first event of the run, as the timeline's
    std::int64_t length = 0;            ///< from it to the last allocation event
    std::vector<std::string> texts{{}};
    std::vector<MemoryLife> blocks = {}; ///< in the order of their allocations, older ones first
    StepCurve allocated;                 ///< as the allocator counted it
    StepCurve reserved;
    /// Bytes by category; empty for categories that never have any. Fragmentation and reserved_free follow
    /// from the segments; context has no curve.
    std::array<StepCurve, kMemoryCategories> curves;
    std::int64_t peakTime = 0;
    std::vector<MemorySegment> segments = {}; ///< when the trace began
    std::vector<MemoryBlock> older = {};      ///< likewise, free ones too
    CodePlaces places = {};                   ///< the places where the blocks' ranges were opened
    /// Of the device; ids are the file's. Their times are distinct: an event at the time of the one before
    /// is put later, so that each state of the allocator has an instant.
    std::vector<AllocEvent> events = {};

    bool empty() const { return allocated.empty(); }
    std::string_view text(std::uint32_t index) const { return texts[index]; }

    /// Indices of the blocks that are alive at an instant, the largest first.
    std::vector<std::uint32_t> aliveAt(std::int64_t time) const;
    /// Indices of the blocks that end within the trace, by their end. O(n log n).
    std::vector<std::uint32_t> byEnd() const;
    /// Calls `take` with the index of each block that is alive at some time within [from, to], in the order
    /// of their allocations. Stretches of blocks that all ended before are skipped.
    void eachAliveWithin(std::int64_t from, std::int64_t to,
                         const std::function<void(std::uint32_t)>& take) const;
    /// Whether segments can be followed; false on a CPU.
    bool hasSegments() const { return analysis::canFollow(segments, events); }
    /// The segments and the blocks in them at an instant; empty on a CPU. O(events until then).
    analysis::SegmentMap segmentsAt(std::int64_t time) const;

    /// Call once everything above is set.
    void index();

private:
    static constexpr std::size_t kStretch = 1024;
    std::vector<std::int64_t> latestEnds_; // of each kStretch blocks
};

/// One event that counts the known blocks, for a run without allocation events: replays of a CUDA graph
/// allocate nothing. None if no blocks are known.
std::optional<AllocEvent> countOfBlocks(const MemoryFacts& facts);

/// Which parts of a history are read.
enum class MemoryParts {
    All,
    /// Without the names of ops (see memoryOps()), and without events if no segments need them.
    WithoutOps
};

/// Reads a run's history; null if cancelled, empty if the run has no allocation events.
/// \param topology        whose memory; empty: that of any process and device
/// \throws Error         no such run
/// \throws Error (Usage) as ProcessFilter
std::shared_ptr<const MemoryHistory> memoryHistory(const store::RunReader& reader, RunId run,
                                                   const std::function<bool()>& cancelled = {},
                                                   MemoryParts parts = MemoryParts::All,
                                                   const ProcessQuery& topology = {});

} // namespace tilescope::query
