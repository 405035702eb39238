#pragma once

#include "core/query/memory/memory_groups.h"
#include "core/query/memory/memory_reading.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// A run's memory as the memory page shows it. Of a long run the outline is there first: it has no blocks.
struct MemoryRun {
    QString letter; ///< A, B; empty where one run is shown
    QString title;
    std::shared_ptr<const query::MemoryHistory> history;
    std::shared_ptr<const query::MemoryOps> ops = {}; ///< null until they are read
    std::vector<query::TimelineStep> steps = {};
    std::optional<std::int64_t> context = {}; ///< bytes of the device outside the allocator
    bool isOutline = false;

    /// What the axis calls 0: the first traced step, else the first event.
    std::int64_t zero() const { return steps.empty() ? 0 : steps.front().start; }
    /// Whether an allocator keeps memory in reserve: not on a CPU.
    bool hasReserved() const { return bool(history->device); }
    /// What its blocks and its curve count: a snapshot holds what programs asked for, without the allocator's
    /// rounding.
    bool countsRequested() const;
    QString countWord() const; ///< "requested" or "allocated"
    /// What PyTorch calls allocated_size at an instant: what was asked for and the allocator's rounding. None
    /// where that is the run's own count, or where segments were not recorded. O(events until then).
    std::optional<std::int64_t> allocatedSize(std::int64_t time) const;
    /// The step that an instant lies in; none between steps.
    const query::TimelineStep* stepAt(std::int64_t time) const;
};

/// The colour of a group of blocks, the same wherever it is shown.
Swatch swatchOfGroup(query::MemoryGrouping grouping, const std::string& name);

/// What to call a block: the tensor that lies in it, else the module and the op that asked for it.
QString blockName(const MemoryRun& run, std::uint32_t block);
/// Where it was asked for, below the step; empty where that is not known.
QString blockPlace(const MemoryRun& run, std::uint32_t block);
/// The key of a block in a list of the largest: range or tensor with all layers as one, line break, category.
QString blockGroup(const query::MemoryHistory& history, std::uint32_t block);
/// All that is known of a block, as keys and values.
/// \param zero  what its times count from
std::vector<std::pair<QString, QString>> blockFacts(const MemoryRun& run, std::uint32_t block);

/// What the table of an instant tells bytes apart by.
enum class MemoryTable { Category, Phase, Module, Op };
enum class MemoryShareColumn { Name, Bytes, Bar, Share, Blocks, Count };

/// What was allocated at an instant by group, the largest first; the rows before `allocated` add up to what
/// the allocator counted then. Beyond it what is reserved, where it is known. Ids are places in `keys`.
/// \param groups  of Category, Phase and Module; of Op not used
struct MemoryShares {
    TableData table;
    std::vector<std::string> keys;
    std::int64_t allocated = 0;
    std::int64_t sum = 0;                           ///< of the rows
    std::optional<std::int64_t> allocatedSize = {}; ///< of the run at the instant, see MemoryRun
};
MemoryShares memoryShareRows(const MemoryRun& run, MemoryTable by, const query::MemoryGroups* groups,
                             std::int64_t time);

enum class BlockColumn { Name, Category, Bytes, Place, From, Lives, Count };

/// Which blocks a table lists.
struct BlockChoice {
    std::optional<std::int64_t> time = {}; ///< alive then; none: at any time
    std::size_t most = 1000;               ///< nobody reads on, and the largest come first
};
/// The largest of them; ids are indices into the history's blocks.
struct BlockList {
    TableData table;
    std::size_t blocks = 0; ///< all of them, listed or not
    std::int64_t bytes = 0;
};
BlockList blockRows(const MemoryRun& run, const BlockChoice& choice);

enum class SegmentColumn { Address, Size, Used, Free, Bar, Blocks, LargestFree, Stream, Kind, Count };

/// The segments at an instant with what is used and free in them; ids are their addresses.
struct SegmentRows {
    TableData table;
    QString summary;
};
SegmentRows segmentRows(const query::MemoryHistory& history, std::int64_t time);

} // namespace tilescope::ui
