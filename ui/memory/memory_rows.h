#pragma once

#include "core/query/memory/memory_groups.h"
#include "core/query/memory/memory_reading.h"
#include "core/query/runs/time_span.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// A run's memory as the memory page shows it. Of a long run the outline is there first: it has no blocks.
struct MemoryRun {
    QString letter; ///< A, B; empty if one run is shown
    QString title;
    std::shared_ptr<const query::MemoryHistory> history;
    std::shared_ptr<const query::MemoryOps> ops = {}; ///< null until they are read
    std::vector<query::TimelineStep> steps = {};
    std::optional<std::int64_t> context = {};   ///< bytes of the device outside the allocator
    std::optional<std::int64_t> predicted = {}; ///< bytes allocated at the peak, by the spec
    std::optional<std::int64_t> timedPeak =
        {}; ///< bytes allocated at the peak of the timed steps, what is predicted
    bool isOutline = false;
    /// The GPUs that allocated, with titles: rank 1 GPU 1. `history` is of one of them, or of the host.
    std::vector<std::pair<DeviceIndex, QString>> gpus = {};
    std::optional<query::TimeSpan> span = {}; ///< only this is shown

    /// The zero of the axis: the first traced step, otherwise the first event.
    std::int64_t zero() const { return steps.empty() ? 0 : steps.front().start; }
    /// The visible part of the recording within the span, from the first event on.
    std::pair<std::int64_t, std::int64_t> shown() const;
    /// The first instant of the peak within what is shown.
    /// \pre  the history is not empty
    std::int64_t peakTime() const;
    /// Whether an allocator keeps memory in reserve: not on a CPU.
    bool hasReserved() const { return bool(history->device); }
    /// Whether blocks and curve count requested bytes, without the allocator's rounding: snapshots do.
    bool countsRequested() const;
    QString countWord() const; ///< "requested" or "allocated"
    /// PyTorch's allocated_size at an instant: requested bytes plus rounding. Null if that is the run's own
    /// count, or if segments were not recorded. O(events until then).
    std::optional<std::int64_t> allocatedSize(std::int64_t time) const;
    /// The step that contains an instant; none between steps.
    const query::TimelineStep* stepAt(std::int64_t time) const;
};

/// The colours of the groups, the same wherever they are shown. Two groups share one only if there are more than colours;
/// those of categories, and of blocks outside any group, are fixed.
std::vector<Swatch> swatchesOf(const query::MemoryGroups& groups);

/// The name of a block: its tensor, otherwise the module and op that requested it.
QString blockName(const MemoryRun& run, std::uint32_t block);
/// The group of a block in the list of the largest: range or tensor with all layers as one, a line break,
/// category.
QString blockGroup(const query::MemoryHistory& history, std::uint32_t block);
/// A fact about a block.
struct BlockFact {
    QString key; ///< empty: continues the one before
    QString value;
    bool dim = false;
};
/// All that is known of a block. The frames of its stack take a line each: the program's own, then, dim, those of
/// libraries.
std::vector<BlockFact> blockFacts(const MemoryRun& run, std::uint32_t block);

/// The grouping of the table at an instant.
enum class MemoryTable { Category, Phase, Module, Op };
enum class MemoryShareColumn { Name, Bytes, Bar, Share, Blocks, Count };

/// The allocated bytes at an instant by group, the largest first; the rows before `allocated` sum to the
/// allocator's count. Reserved memory follows, if known. Ids are indices into `keys`.
/// \param groups  of the same property; of Op only for the colours, null: each op has that of its family
struct MemoryShares {
    TableData table;
    std::vector<std::string> keys;
    std::int64_t allocated = 0;
    std::int64_t sum = 0;                           ///< of the rows
    std::optional<std::int64_t> allocatedSize = {}; ///< of the run at the instant, see MemoryRun
};
MemoryShares memoryShareRows(const MemoryRun& run, MemoryTable by, const query::MemoryGroups* groups,
                             std::int64_t time);

enum class BlockColumn {
    Name,
    Category,
    Bytes,
    Range,
    Since,
    Lives,
    Op,
    Tensor,
    Shape,
    Address,
    Code,
    Count
};

/// Which blocks a table lists.
struct BlockChoice {
    std::optional<std::int64_t> time = {}; ///< alive then; none: at any time that is shown
    std::size_t most = 1000;               ///< the largest first
};
/// The largest of them; ids are indices into the history's blocks.
struct BlockList {
    TableData table;
    std::size_t blocks = 0; ///< all of them, listed or not
    std::int64_t bytes = 0;
};
/// \param groups  whose colours the rows have; null: those of the categories
BlockList blockRows(const MemoryRun& run, const BlockChoice& choice,
                    const query::MemoryGroups* groups = nullptr);
/// These blocks of the history, in this order.
TableData tableOfBlocks(const MemoryRun& run, const std::vector<std::uint32_t>& blocks,
                        const query::MemoryGroups* groups = nullptr);

enum class SegmentColumn { Address, Size, Used, Free, Bar, Blocks, LargestFree, Stream, Kind, Count };

/// The segments at an instant with their used and free bytes; ids are their addresses.
struct SegmentRows {
    TableData table;
    QString summary;
};
SegmentRows segmentRows(const query::MemoryHistory& history, std::int64_t time);

} // namespace tilescope::ui
