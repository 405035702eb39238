#pragma once

#include "core/store/rows/row_inserter.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/writable_file.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace tilescope::store {

/// Copies runs from one file into another, row by row: texts, launches, ranges and ops get the target's ids.
///
/// A transaction has whole runs, short ones together; the caller commits the last. Rows are compared
/// with the source's checksums on the way.
class RunCopier {
public:
    RunCopier(StoredRows& source, WritableFile& target);
    ~RunCopier();
    RunCopier(const RunCopier&) = delete;
    RunCopier& operator=(const RunCopier&) = delete;

    /// \param number  the run's number in the target; none: the next
    /// \return        that number
    /// \throws Error  the source is damaged or the target cannot be written; the transaction is to be rolled back
    std::int64_t copy(RunId run, std::optional<std::int64_t> number = {});

    /// Copies the ceilings, which belong to no run, that the target lacks.
    void copyCeilings();

private:
    /// Compares the texts and launch configurations, to which the rows of all runs refer, with their checksums once:
    /// the copies get new ones.
    void checkShared();
    /// How the value of a column differs in a copy.
    enum class Changed : std::uint8_t { Not, Id, Run, FirstRange, FirstOp, Status, Reason, Range, Text };
    struct Table;

    static Changed changeOf(std::string_view table, std::string_view column);
    std::int64_t copyRows(RunId run, std::optional<std::int64_t> number);
    std::int64_t copyRunRow(RunId run, std::optional<std::int64_t> number);
    Table& tableOf(SQLite::Statement& row, const std::string& name);
    void copyRow(SQLite::Statement& row, const std::string& name, std::optional<std::int64_t> run);
    /// A cell of the copy of the current row, which gets the number `id`. Valid until the row is left.
    Cell cellOf(SQLite::Statement& row, int column, Changed change, std::int64_t id);
    void copyEvents(RunId run, EventKind kind);
    std::int64_t moved(ColumnRole role, std::int64_t value);
    std::int64_t reserved(ChunkWriter::Table& table, std::int64_t id);
    std::int64_t textOf(std::int64_t id, bool isKernel);

    StoredRows& source_;
    WritableFile& target_;
    ChunkWriter::Table& ranges_; ///< of the target
    ChunkWriter::Table& ops_;
    RowFrame from_;
    RowFrame to_;
    bool died_ = false;      ///< the writer of the run that is copied
    bool isChecked_ = false; ///< checkShared() has run
    std::map<std::string, std::unique_ptr<Table>> tables_;
    std::unordered_map<std::int64_t, std::int64_t> texts_;    ///< by the source's id
    std::unordered_map<std::int64_t, std::int64_t> kernels_;  ///< the same, with a short name
    std::unordered_map<std::int64_t, std::int64_t> launches_; ///< by the source's id
};

} // namespace tilescope::store
