#pragma once

#include "core/analysis/memory/memory_segments.h"
#include "core/model/memory.h"
#include "core/query/runs/code_places.h"
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

/// A block of memory from its allocation until its free was asked for; times are nanoseconds from the
/// history's origin.
struct MemoryLife {
    static constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();
    static constexpr std::int64_t kAfter = std::numeric_limits<std::int64_t>::max();

    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t begin = 0; ///< kBefore: it was there when the trace began
    std::int64_t end = 0;   ///< kAfter: it outlives the trace
    MemoryCategory category = MemoryCategory::Unattributed;
    std::int32_t step = kNoStep;
    // Indices into texts; 0: not known.
    std::uint32_t path = 0;  ///< range that asked for it
    std::uint32_t op = 0;    ///< op that asked for it
    std::uint32_t name = 0;  ///< holder of what was there before, or is made by set-up: layers.3/ffn/down
    std::uint32_t shape = 0; ///< of that tensor, or of what the op was given
    OpId by = {};            ///< op that asked for it; none of those that are older

    bool isAliveAt(std::int64_t time) const { return begin <= time && time < end; }
};

/// What a column of pixels shows: the moment within it at which most was allocated.
struct MemoryColumn {
    std::int64_t time = 0;
    std::array<std::int64_t, kMemoryCategories> bytes{}; ///< by category, also what is reserved beyond
    std::int64_t allocated = 0; ///< by the allocator's count: the sum of the program's categories
    std::int64_t reserved = 0;
};

/// The allocator's history of one run and device, ready to be drawn at any zoom and asked at any instant.
/// Published once as shared_ptr<const MemoryHistory>, never changed after; any thread.
class MemoryHistory {
public:
    store::RunRecord run = {};
    DeviceIndex device = {}; ///< the one with the highest peak
    Timestamp origin{};      ///< first event of the run, as the timeline's
    std::int64_t length = 0; ///< from it to the last allocation event
    std::vector<std::string> texts{{}};
    std::vector<MemoryLife> blocks = {}; ///< in the order of their allocations; older ones first
    StepCurve allocated;                 ///< as the allocator counted it
    StepCurve reserved;
    /// Bytes by category; of those that never had any empty. Fragmentation and what is reserved but free
    /// come from following the segments; context is no curve.
    std::array<StepCurve, kMemoryCategories> curves;
    std::int64_t peakTime = 0;
    std::vector<MemorySegment> segments = {}; ///< when the trace began
    std::vector<MemoryBlock> older = {};      ///< likewise, free ones too
    CodePlaces places = {};                   ///< where the blocks' ranges were opened
    /// Of the device; ids are the file's. No two are of one nanosecond: what came later is later, so that
    /// every state that the allocator was in has an instant.
    std::vector<AllocEvent> events = {};

    bool empty() const { return allocated.empty(); }
    std::string_view text(std::uint32_t index) const { return texts[index]; }

    /// Each of `out` is a stretch of `perColumn` nanoseconds, the first from `from` on. O(columns * log n).
    void columns(double from, double perColumn, std::span<MemoryColumn> out) const;
    /// Indices of the blocks that are alive at an instant, the largest first.
    std::vector<std::uint32_t> aliveAt(std::int64_t time) const;
    /// Calls `take` with the index of each block that is alive at some time within [from, to], in the order
    /// of their allocations. Stretches of blocks that all ended before are skipped.
    void eachAliveWithin(std::int64_t from, std::int64_t to,
                         const std::function<void(std::uint32_t)>& take) const;
    /// Whether they can be followed: not on a CPU.
    bool hasSegments() const { return analysis::canFollow(segments, events); }
    /// The segments and the blocks in them at an instant; empty on a CPU. O(events until then).
    analysis::SegmentMap segmentsAt(std::int64_t time) const;

    /// Call once everything above is set.
    void index();

private:
    static constexpr std::size_t kStretch = 1024;
    std::vector<std::int64_t> latestEnds_; // of each kStretch blocks
};

/// What stands for the allocation events of a run that has none but whose blocks are known (its steps were
/// replayed from a CUDA graph, and replays allocate nothing): one event that counts them. Nothing where none
/// are known.
std::optional<AllocEvent> countOfBlocks(const MemoryFacts& facts);

/// How much of a history is read.
enum class MemoryParts {
    All,
    /// Without the names of ops (memoryOps() has them), and without events where no segments need them.
    WithoutOps
};

/// Reads a run's history; null where cancelled, empty where the run has no allocation events.
/// \throws Error  no such run
std::shared_ptr<const MemoryHistory> memoryHistory(const store::RunReader& reader, RunId run,
                                                   const std::function<bool()>& cancelled = {},
                                                   MemoryParts parts = MemoryParts::All);

} // namespace tilescope::query
