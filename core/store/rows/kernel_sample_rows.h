#pragma once

#include "core/model/kernel_samples.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_inserter.h"

namespace tilescope::store {

class StoredRows;
class StringMap;

/// Writes the samples of a run's kernels. Belongs to the write connection.
class KernelSampleRows {
public:
    KernelSampleRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings);
    void insert(const KernelSamples& samples, const RowFrame& frame);

private:
    StringMap& strings_;
    RowInserter kernels_;
    RowInserter instructions_;
    RowInserter stalls_;
    RowInserter code_;
    RowInserter sources_;
};

/// Reads the rows that KernelSampleRows wrote for a run.
/// \param withCode  also machine code and source text
KernelSamples readKernelSamples(StoredRows& rows, RunId run, bool withCode);

} // namespace tilescope::store
