#pragma once

#include "core/model/events.h"
#include "core/store/rows/row_digest.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::store {

// Event tables contain only integers and nulls. Only this file knows the meaning of their columns; writer,
// reader, verify and merge copy rows of integers.

/// One event table: its name and columns, in the order of the rows' integers.
struct EventTable {
    std::string_view name;
    std::span<const std::string_view> columns; ///< [0] is id, [1] is run
    static constexpr std::size_t start = 3;    ///< index of the column `start`
    int duration = -1;                         ///< index of the column `duration`; none for moments
    int queued = -1;                           ///< index of the column `queued`, of device events
};

/// Number of events by kind, an index into eventTables().
enum class EventKind : std::uint8_t { Range, Op, ApiCall, Kernel, Copy, Allocation, Frame };
inline constexpr std::size_t kEventKinds = 7;
inline constexpr std::size_t kMostColumns = 18;

const EventTable& eventTable(EventKind kind);

/// One row of an event table.
struct EventRow {
    EventKind kind = EventKind::Range;
    std::array<std::int64_t, kMostColumns> values{}; ///< kNull for null

    std::int64_t start() const { return values[EventTable::start]; }
};

/// The meaning of a column's integers. It determines how they change when a row moves to another file.
enum class ColumnRole : std::uint8_t {
    Value,
    RowId, ///< column 0 of tables whose rows are never referenced
    Run,
    Text,
    KernelName,
    Launch,
    RangeId,
    OpId
};
ColumnRole roleOf(EventKind kind, std::size_t column);

/// A run's numbers that its event rows are relative to.
struct RowFrame {
    std::int64_t run = 0;
    std::int64_t clockOrigin = 0; ///< trace clock, ns
    std::int64_t firstRange = 0;
    std::int64_t firstOp = 0;
};

/// The enumerations of events; a file stores their words in its string table.
enum class WordSet : std::uint8_t { OpScope, ApiKind, DeviceEventKind, CopyKind, AllocAction };
inline constexpr std::size_t kWordSets = 5;
inline constexpr std::size_t kMostWords = 16;

/// The words of a set, by value.
std::array<std::string_view, kMostWords> wordsOf(WordSet set);

/// Gives the file's ids for texts and launches. Implemented by the writer's maps.
class RowInterner {
public:
    virtual std::int64_t text(StringId id) = 0;       ///< kNull for none
    virtual std::int64_t kernelName(StringId id) = 0; ///< the same, and remembers the short name
    virtual std::int64_t word(WordSet set, std::size_t value) = 0;
    virtual std::int64_t launch(const LaunchConfig& launch) = 0;

protected:
    ~RowInterner() = default;
};

/// Gives the enumeration values and launches behind a file's ids. Implemented by the reader's caches.
class RowResolver {
public:
    virtual const LaunchConfig& launch(std::int64_t id) = 0;
    virtual int value(WordSet set, std::int64_t id) = 0; ///< -1 if no value of the set has this word

protected:
    ~RowResolver() = default;
};

// Records to rows. Column 0 (id) of kinds that carry no id of their own is left to the caller.
void toRow(const Range& range, const RowFrame& frame, RowInterner& interner, std::int64_t* row);
void toRow(const Op& op, const RowFrame& frame, RowInterner& interner, std::int64_t* row);
void toRow(const ApiCall& call, const RowFrame& frame, RowInterner& interner, std::int64_t* row);
/// Kernels, and copies and memsets: see kindOf.
void toRow(const DeviceEvent& event, const RowFrame& frame, RowInterner& interner, std::int64_t* row);
void toRow(const AllocEvent& event, const RowFrame& frame, RowInterner& interner, std::int64_t* row);
void toRow(const Frame& call, const RowFrame& frame, RowInterner& interner, std::int64_t* row);

inline EventKind kindOf(const DeviceEvent& event)
{
    return event.kind == DeviceEventKind::Kernel ? EventKind::Kernel : EventKind::Copy;
}

// Rows to records.
// \throws Error  for values that no writer of ours writes
Range rangeFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);
Op opFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);
ApiCall apiCallFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);
DeviceEvent kernelFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);
DeviceEvent copyFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);
AllocEvent allocationFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);
Frame frameFrom(const std::int64_t* row, const RowFrame& frame, RowResolver& resolver);

/// Function name of a demangled kernel: without return type, namespaces, template arguments and parameters.
std::string_view shortKernelName(std::string_view demangled);

} // namespace tilescope::store
