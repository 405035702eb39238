#pragma once

#include "core/model/memory.h"
#include "core/store/event_rows.h"
#include "core/store/row_inserter.h"

namespace tilescope::store {

class StoredRows;

/// Writes what is known of a run's memory beside its events. Belongs to the write connection.
class MemoryRows {
public:
    MemoryRows(SQLite::Database& database, RowLedger& ledger);
    void insert(const MemoryFacts& facts, const RowFrame& frame);

private:
    RowInserter blocks_;
    RowInserter segments_;
    RowInserter readings_;
    RowInserter saved_;
};

/// What MemoryRows wrote of a run: blocks, segments, readings and saved tensors.
MemoryFacts readMemory(StoredRows& rows, RunId run);

} // namespace tilescope::store
