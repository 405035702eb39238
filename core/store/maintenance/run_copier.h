#pragma once

#include "core/store/rows/stored_rows.h"
#include "core/store/rows/writable_file.h"

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace tilescope::store {

/// Copies runs from one file into another, row by row: texts, launches, ranges and ops get the target's ids.
///
/// Each run is one transaction. Rows are checked against the source's books on the way.
class RunCopier {
public:
    RunCopier(StoredRows& source, WritableFile& target) : source_(source), target_(target) {}

    /// \param number  the run's number in the target; none: the next
    /// \return        that number
    std::int64_t copy(RunId run, std::optional<std::int64_t> number = {});

    /// What belongs to no run: the ceilings that the target lacks. One transaction.
    void copyCeilings();

private:
    std::int64_t copyRunRow(RunId run, std::optional<std::int64_t> number);
    void copyRows(RunId run, Source source);
    void copyEvents(RunId run, EventKind kind);
    std::int64_t moved(ColumnRole role, std::int64_t value);
    std::int64_t reserved(Source source, std::int64_t id);
    std::int64_t textOf(std::int64_t id, bool isKernel);

    StoredRows& source_;
    WritableFile& target_;
    RowFrame from_;
    RowFrame to_;
    std::unordered_map<std::int64_t, std::int64_t> texts_;    ///< by the source's id
    std::unordered_map<std::int64_t, std::int64_t> kernels_;  ///< the same, with a short name
    std::unordered_map<std::int64_t, std::int64_t> launches_; ///< by the source's id
};

} // namespace tilescope::store
