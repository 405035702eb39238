// Following a run that is being written: what its newest chunks hold.

#include "core/store/rows/stored_rows.h"

#include <sqlite3.h>

#include <string>
#include <vector>

namespace tilescope::store {

namespace {

/// Highest number of a range or op that is kept account of: a bit each.
constexpr std::size_t kMostNumbers = std::size_t{1} << 31;

std::size_t sizeOf(const TraceBatch& batch)
{
    return batch.ranges.size() + batch.ops.size() + batch.apiCalls.size() + batch.deviceEvents.size() +
           batch.allocEvents.size() + batch.frames.size();
}

void put(EventKind kind, const std::int64_t* row, const RowFrame& frame, RowResolver& resolver,
         TraceBatch& batch)
{
    switch (kind) {
    case EventKind::Range:
        return batch.ranges.push_back(rangeFrom(row, frame, resolver));
    case EventKind::Op:
        return batch.ops.push_back(opFrom(row, frame, resolver));
    case EventKind::ApiCall:
        return batch.apiCalls.push_back(apiCallFrom(row, frame, resolver));
    case EventKind::Kernel:
        return batch.deviceEvents.push_back(kernelFrom(row, frame, resolver));
    case EventKind::Copy:
        return batch.deviceEvents.push_back(copyFrom(row, frame, resolver));
    case EventKind::Allocation:
        return batch.allocEvents.push_back(allocationFrom(row, frame, resolver));
    case EventKind::Frame:
        return batch.frames.push_back(frameFrom(row, frame, resolver));
    }
}

} // namespace

TraceBatch StoredRows::newEvents(RunId run, EventMark& mark, std::size_t most)
{
    struct NewChunk {
        std::int64_t number;
        EventKind kind;
        IdInterval ids;
    };
    const RowFrame frame = frameOf(run);
    SQLite::Statement row(
        database(), "select id, source, first, last, rows from chunk where run = ? and id > ? order by id");
    row.bind(1, run.value);
    row.bind(2, mark.chunk_);
    TraceBatch batch;
    while (sizeOf(batch) < most && row.executeStep()) {
        const std::string source = row.getColumn(1).getString();
        for (std::size_t kind = 0; kind < kEventKinds; ++kind)
            if (eventTable(static_cast<EventKind>(kind)).name == source)
                readNew(
                    static_cast<EventKind>(kind),
                    {row.getColumn(2).getInt64(), row.getColumn(3).getInt64(), row.getColumn(4).getInt64()},
                    frame, mark, batch);
        mark.chunk_ = row.getColumn(0).getInt64();
    }
    return batch;
}

void StoredRows::readNew(EventKind kind, const IdInterval& ids, const RowFrame& frame, EventMark& mark,
                         TraceBatch& batch)
{
    const bool isNumbered = kind == EventKind::Range || kind == EventKind::Op;
    std::vector<bool>& seen = kind == EventKind::Range ? mark.ranges_ : mark.ops_;
    const std::int64_t first = kind == EventKind::Range ? frame.firstRange : frame.firstOp;
    const std::size_t width = eventTable(kind).columns.size();
    const CachedStatement query = connection.eventQuery(kind);
    sqlite3_bind_int64(query.get(), 1, ids.first);
    sqlite3_bind_int64(query.get(), 2, ids.last);
    std::array<std::int64_t, kMostColumns> values{};
    std::int64_t rows = 0;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(query.get())) == SQLITE_ROW) {
        for (std::size_t column = 0; column < width; ++column) {
            sqlite3_value* value = sqlite3_column_value(query.get(), static_cast<int>(column));
            values[column] = sqlite3_value_type(value) == SQLITE_NULL ? kNull : sqlite3_value_int64(value);
        }
        if (values[1] != frame.run)
            continue;
        if (isNumbered) {
            const auto number = static_cast<std::uint64_t>(values[0]) - static_cast<std::uint64_t>(first);
            if (number >= kMostNumbers)
                damaged("a range or op has an invalid number");
            if (number >= seen.size())
                seen.resize(std::max<std::size_t>(number + 1, 2 * seen.size()));
            if (seen[number])
                continue;
            seen[number] = true;
        }
        ++rows;
        put(kind, values.data(), frame, *this, batch);
    }
    check(database().getHandle(), code);
    // Numbers within a chunk's range may belong to a later chunk, which must skip those already read.
    if (rows != ids.rows && !isNumbered)
        damaged("rows of run " + std::to_string(frame.run) + " are missing");
}

} // namespace tilescope::store
