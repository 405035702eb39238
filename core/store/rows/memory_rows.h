#pragma once

#include "core/model/memory.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_inserter.h"

namespace tilescope::store {

class StoredRows;
class StringMap;

/// Writes the facts about a run's memory other than its events. Belongs to the write connection.
class MemoryRows {
public:
    MemoryRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings);
    void insert(const MemoryFacts& facts, const RowFrame& frame);

private:
    StringMap& strings_;
    RowInserter blocks_;
    RowInserter segments_;
    RowInserter readings_;
    RowInserter saved_;
    RowInserter places_;
};

/// What MemoryRows wrote of a run: blocks, segments, readings, saved tensors and places in the code.
MemoryFacts readMemory(StoredRows& rows, RunId run);

} // namespace tilescope::store
