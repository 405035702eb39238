#pragma once

#include "core/query/memory/memory_history.h"
#include "core/query/memory/memory_reading.h"

#include <memory>

namespace tilescope::query {

/// The property by which the blocks of a history are grouped.
enum class MemoryGrouping {
    Category, ///< purpose
    Phase,    ///< phase of a step that allocated them
    Module,   ///< by kind of module: the attention of all layers is one group
    Op,       ///< by the op that allocated them
};
inline constexpr std::size_t kMemoryGroupings = 4;

/// The blocks of a history in groups, and the bytes of each group over time. At every instant the groups add
/// up to what the allocator counted. Immutable; any thread.
struct MemoryGroups {
    MemoryGrouping grouping = MemoryGrouping::Category;
    std::vector<std::string> names;    ///< in stacking order, the lowest first
    std::vector<std::uint8_t> groupOf; ///< by block
    /// By group; empty for groups that never had a byte.
    std::vector<std::shared_ptr<const StepCurve>> curves;
    std::uint8_t rest = 0; ///< group of the bytes that the allocator counts and no block accounts for

    std::int64_t at(std::size_t group, std::int64_t time) const;
};

inline constexpr std::string_view kNoModuleGroup = "outside any module";
inline constexpr std::string_view kNoPhaseGroup = "outside the phases";
inline constexpr std::string_view kNoOpGroup = "outside any op";

/// Null where cancelled. O(n log n).
/// \param ops  names of ops that the history does not hold; may be null
std::shared_ptr<const MemoryGroups> memoryGroups(const std::shared_ptr<const MemoryHistory>& history,
                                                 MemoryGrouping grouping,
                                                 const std::function<bool()>& cancelled = {},
                                                 const MemoryOps* ops = nullptr);

/// The grouping that a page shows first: modules for snapshots, which have stacks only; otherwise categories if any block has one, as in
/// Tilescope's own runs; otherwise phases if more than half of the blocks have one, and ops if not.
MemoryGrouping defaultGrouping(const MemoryHistory& history);

/// The module of a block: that of the range that allocated it, or of its tensor if known; empty if there is
/// none.
std::string_view moduleOf(const MemoryHistory& history, const MemoryLife& block);

/// The innermost Python frame of a stack that is the program's own (analysis::isLibraryFrame), `train.py:96:step`
/// with U+2215 for slashes of its folders; empty if there is none. The path is that of an imported block: frames as components.
std::string_view callerFrame(std::string_view path);

/// The moment that represents a stretch of time (a column of pixels): the one at which most was allocated.
struct MemoryStack {
    std::int64_t time = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
};

/// Each of `out` is a stretch of `perColumn` nanoseconds, the first from `from` on; bytes has as many numbers
/// a stretch as there are groups. O(columns * groups * log n).
void memoryStacks(const MemoryHistory& history, const MemoryGroups& groups, double from, double perColumn,
                  std::span<MemoryStack> out, std::span<std::int64_t> bytes);

} // namespace tilescope::query
