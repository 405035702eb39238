#pragma once

#include "core/base/quantity.h"
#include "core/exchange/columns.h"
#include "core/exchange/table.h"
#include "core/query/runs/grouping.h"
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

/// How a column is shown. Nanoseconds and bytes have their unit by type.
struct Shown {
    Unit unit = Unit::None;
    int keep = 1;
    Audience audience = Audience::Everyone;
    Meaning meaning = Meaning::Plain;
    bool elidable = false;
    bool hasPairs = false;
    bool sharesUnit = false;
};

/// Makes the columns of a table, one entry each: key, title, and a getter that returns a typed value of a row.
template <class Snapshot, class Rows> class ColumnsOf {
    using Row = std::remove_cvref_t<decltype(std::declval<const Rows&>()[0])>;

public:
    /// \param rows  of the snapshot, which the columns keep alive
    ColumnsOf(std::shared_ptr<const Snapshot> snapshot, const Rows& rows)
        : snapshot_(std::move(snapshot)), rows_(&rows)
    {
    }

    /// \param get  a member of the row, or a function of the row
    template <class Get>
    Column operator()(std::string key, std::string title, Get get, const Shown& shown = {}) const
    {
        using Value = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>;
        return {.key = std::move(key),
                .title = std::move(title),
                .cell = [snapshot = snapshot_, rows = rows_,
                         get](std::size_t row) { return toCell(std::invoke(get, (*rows)[row])); },
                .unit = shown.unit == Unit::None ? unitOf<Value>() : shown.unit,
                .audience = shown.audience,
                .meaning = shown.meaning,
                .statistic = std::is_same_v<Value, std::optional<analysis::Statistics>>,
                .elidable = shown.elidable,
                .hasPairs = shown.hasPairs,
                .keep = shown.keep,
                .sharesUnit = shown.sharesUnit};
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

inline bool isCpuRun(const store::RunRecord& run)
{
    return run.result.device == "cpu";
}

/// Why a run has no events of a kind, according to its record.
std::string whyNoEvents(const store::RunRecord& run, const std::string& what);
/// The same of the GPU's activities, which may have been kept from being recorded.
std::string whyNoActivities(const store::RunRecord& run, const std::string& what);

inline std::string titleOf(query::Grouping grouping)
{
    return std::string(query::wordOf(grouping));
}

} // namespace tilescope::exchange
