#pragma once

#include "core/model/events.h"
#include "core/model/processes.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_inserter.h"

#include <span>
#include <vector>

namespace tilescope::store {

class StoredRows;
class StringMap;

/// Writes who took part in a run, and what its processes and streams waited for and told each other. Belongs
/// to the write connection.
class ProcessRows {
public:
    ProcessRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings);
    void insert(const RunTopology& topology, const RowFrame& frame);
    void insert(const ThreadName& thread, const RowFrame& frame);
    void insert(const Collective& collective, const RowFrame& frame);
    void insert(const Wait& wait, const RowFrame& frame);

private:
    StringMap& strings_;
    RowInserter clocks_;
    RowInserter processes_;
    RowInserter devices_;
    RowInserter streams_;
    RowInserter threads_;
    RowInserter collectives_;
    RowInserter waits_;
};

// What ProcessRows wrote of a run, in the order of writing.
RunTopology readTopology(StoredRows& rows, RunId run);
std::vector<ThreadName> readThreads(StoredRows& rows, RunId run);
std::vector<Collective> readCollectives(StoredRows& rows, RunId run);
std::vector<Wait> readWaits(StoredRows& rows, RunId run);

} // namespace tilescope::store
