#pragma once

#include "core/base/quantity.h"
#include "core/exchange/tables/column_of.h"
#include "core/exchange/tables/table.h"
#include "core/query/runs/grouping.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/time_span.h"
#include "core/store/run_reader.h"

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace tilescope::exchange {

// What the sections of `tilescope show` are put together from.

/// from 1.20 ms to 3.40 ms
inline std::string spanText(const query::TimeSpan& span)
{
    const auto time = [](Nanoseconds at) {
        return quantity::withUnit(static_cast<double>(at.count()), quantity::Unit::Nanoseconds);
    };
    return "from " + time(span.from) + (span.to == Nanoseconds::max() ? "" : " to " + time(span.to));
}

/// The part of a recording that tables of kernels and ops cover.
inline std::string coverageOf(const store::RunRecord& run, const std::optional<query::TimeSpan>& span = {})
{
    return span ? spanText(*span) : run.coversRecording() ? "whole recording" : "traced steps";
}

/// Makes the columns of a table, one entry each: key, title, and a getter that returns a typed value of a row.
template <class Snapshot, class Rows> class ColumnsOf {
    using Row = std::remove_cvref_t<decltype(std::declval<const Rows&>()[0])>;

public:
    /// \param rows  of the snapshot, which the columns keep alive
    ColumnsOf(std::shared_ptr<const Snapshot> snapshot, const Rows& rows)
        : snapshot_(std::move(snapshot)), rows_(&rows)
    {
    }

    /// A column that is defined for all tables with these rows.
    template <class Base> Column operator()(const ColumnOf<Base>& column) const
    {
        Column made = column.about;
        made.cell = [snapshot = snapshot_, rows = rows_, value = column.value](std::size_t row) {
            return value((*rows)[row]);
        };
        return made;
    }
    /// \param get  a member of the row, or a function of the row
    template <class Get>
    Column operator()(std::string key, std::string title, Get get, const Shown& shown = {}) const
    {
        return (*this)(ColumnOf<Row>(std::move(key), std::move(title), get, shown));
    }
    /// For programs only.
    template <class Get> Column programs(std::string key, Get get) const
    {
        return (*this)(std::move(key), "", get, {.audience = Audience::Programs});
    }
    /// On a terminal only.
    template <class Get> Column people(std::string title, Get get, Shown shown = {}) const
    {
        shown.audience = Audience::People;
        return (*this)(title, title, get, shown);
    }

private:
    std::shared_ptr<const Snapshot> snapshot_;
    const Rows* rows_;
};

/// Of a snapshot with a member `rows`.
template <class Snapshot> auto columnsOf(const std::shared_ptr<const Snapshot>& snapshot)
{
    return ColumnsOf(snapshot, snapshot->rows);
}

/// Adds the columns by which programs tell processes without ranks apart.
/// \param column  makes the columns of rows of this kind (ColumnsOf), which have a member `numbers`
template <class Row, class Columns> void addProcessNumbers(Table& table, const Columns& column)
{
    table.columns.push_back(column.programs("process", [](const Row& row) { return row.numbers.process; }));
    table.columns.push_back(column.programs("pid", [](const Row& row) { return row.numbers.pid; }));
}

/// Adds the rank too, of rows that give their process as a query::RowProcess.
/// \param processOf  a member of the row, or a function of it
template <class Columns, class ProcessOf>
void addRowProcess(Table& table, const Columns& column, ProcessOf processOf)
{
    const auto numbers = memberOf(processOf, &query::RowProcess::numbers);
    table.columns.push_back(column.programs("rank", memberOf(processOf, &query::RowProcess::rank)));
    table.columns.push_back(column.programs("process", memberOf(numbers, &query::ProcessNumbers::process)));
    table.columns.push_back(column.programs("pid", memberOf(numbers, &query::ProcessNumbers::pid)));
}

/// The same for a table whose rows all have the same process.
/// \param process  of all rows
inline void addRowProcess(Table& table, const query::RowProcess& process)
{
    const auto add = [&table](std::string key, const auto& value) {
        const Cell cell = value ? Cell(std::int64_t{*value}) : Cell();
        table.columns.push_back({.key = std::move(key),
                                 .cell = [cell](std::size_t) { return cell; },
                                 .audience = Audience::Programs});
    };
    add("rank", process.rank);
    add("process", process.numbers.process);
    add("pid", process.numbers.pid);
}

inline bool isCpuRun(const store::RunRecord& run)
{
    return run.result.device == "cpu";
}

/// Why a run has no events of a kind, according to its record.
std::string whyNoEvents(const store::RunRecord& run, const std::string& what);
/// Why a run has no traced steps; of an imported or recorded run, what shows it nevertheless.
std::string whyNoSteps(const store::RunRecord& run);
/// Why a run has no events of the allocator, and what records them.
std::string whyNoAllocations(const store::RunRecord& run);
/// The same of the GPU's activities, which may have been kept from being recorded.
std::string whyNoActivities(const store::RunRecord& run, const std::string& what);

inline std::string titleOf(query::Grouping grouping)
{
    return std::string(query::wordOf(grouping));
}

} // namespace tilescope::exchange
