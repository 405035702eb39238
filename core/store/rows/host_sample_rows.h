#pragma once

#include "core/model/host_samples.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_inserter.h"

#include <vector>

namespace tilescope::store {

class StoredRows;
class StringMap;

/// Writes the host samples of a run. Belongs to the write connection.
class HostSampleRows {
public:
    HostSampleRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings);
    void insert(const HostSamples& samples, const RowFrame& frame);

private:
    StringMap& strings_;
    RowInserter stacks_;
    RowInserter samples_;
};

/// Reads the rows that HostSampleRows wrote for a run, by process.
std::vector<HostSamples> readHostSamples(StoredRows& rows, RunId run);

} // namespace tilescope::store
