#pragma once

#include "core/model/counter_track.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_inserter.h"

#include <span>
#include <vector>

namespace tilescope::store {

class StoredRows;
class StringMap;

/// Writes the counters of a run. Belongs to the write connection.
class CounterRows {
public:
    CounterRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings);
    void insert(const CounterTrack& track, const RowFrame& frame);

private:
    StringMap& strings_;
    RowInserter tracks_;
};

/// Reads the rows that CounterRows wrote for a run, in the order of writing.
std::vector<CounterTrack> readCounterTracks(StoredRows& rows, RunId run);

} // namespace tilescope::store
