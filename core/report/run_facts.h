#pragma once

#include "core/analysis/compare/run_comparison.h"
#include "core/exchange/tables/column_of.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tilescope::query {
struct AdviceTable;
struct NamedMemory;
struct RanksTable;
struct StepForecast;
} // namespace tilescope::query

namespace tilescope::report {

/// A measured value in milliseconds, bytes or per cent, or a plain number.
struct Measured {
    double value = 0;
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< 95 %, of a median
    std::int64_t n = 1;
    exchange::Unit unit = exchange::Unit::None;
};

/// The value of a metric of a run: none, a number or a text.
using Fact = std::variant<std::monostate, Measured, std::string>;

/// An input file of a report.
struct Recording {
    std::filesystem::path file;
    std::shared_ptr<const store::RunReader> reader;
};

/// The metrics of one run:
///
///     step, forward, loss, backward, optimizer   wall time of the timed steps, ms: median, its interval, n;
///                                                with `.gpu` the GPU's time
///     warmup.1, timed.1, …                       wall time of a single step, counted from 1
///     peak, reserved, before_backward            bytes
///     parameters, trace_overhead, status, reason
///     final_loss                                 value of the loss in the last timed step
///     gpu_busy, mfu                              per cent
///     prefill, decode, sample                    of mode generate: wall time of its phases; step: of a token
///     first_token, per_token_p99                 of mode generate, ms
///     tokens_per_second, bytes_per_token, cache_bytes, bandwidth   the last: per cent of a measured copy
///     memory.CATEGORY                            bytes at the peak
///     counter.METRIC                             of the range `step`
///     answer.QUESTION                            its sentence; answer.QUESTION.LABEL: one of its figures
///     advice                                     the costliest findings as text; advice.RULE: time at stake, ms
///     tensor.NAME, residual, residual.WHAT       of single tensors; see tensor_facts.h
///     ranks.WHAT, collective.WHAT                of a run with ranks; see rank_facts.h
///     moment.WHEN.WHAT, block.WHAT               memory at moments of a step, and of a block; see block_facts.h
///     forecast.WHAT                              of formulas; see forecast_facts.h
///     result.KEY                                 results of a workload that measures no time
///     any key of the spec                        as text
///
/// Reads data on first use and keeps it. One thread.
class RunFacts {
public:
    RunFacts(Recording recording, query::RunRow row);

    /// \throws Error  no such metric
    Fact fact(const std::string& metric) const;
    /// The metric's number; none if the run has none.
    /// \throws Error  like fact()
    std::optional<Measured> number(const std::string& metric) const;

    /// The timed steps behind the metric of a phase; none for other metrics.
    std::optional<analysis::TimedRun> timed(const std::string& metric) const;

    /// A resolved key of the spec as text; empty if the run has no such key.
    std::string_view param(std::string_view key) const;
    const store::RunRecord& record() const { return row_.record; }
    RunStatus status() const { return row_.record.result.status; }
    const Recording& recording() const { return recording_; }
    /// `tilescope show FILE SECTION --run N`
    std::string command(std::string_view section) const;

private:
    Fact read(const std::string& metric) const;
    Fact phaseTime(std::string_view phase, bool gpu) const;
    Fact singleStep(std::string_view kind, std::string_view number) const;
    Fact memoryShare(std::string_view category) const;
    Fact counter(std::string_view metric) const;
    Fact answer(std::string_view rest) const;
    Fact environment(std::string_view key) const;
    const query::AdviceTable& advice() const;
    const query::NamedMemory& named() const;
    const query::RanksTable& ranks() const;
    const query::StepForecast& forecast() const;
    Fact gpuBusy() const;
    Fact modelUse() const;

    Recording recording_;
    query::RunRow row_;
    std::map<std::string, std::string, std::less<>> params_;
    mutable std::map<std::string, Fact> known_;
    mutable std::shared_ptr<const query::AdviceTable> advice_;
    mutable std::shared_ptr<const query::NamedMemory> named_;
    mutable std::shared_ptr<const query::RanksTable> ranks_;
    mutable std::shared_ptr<const query::StepForecast> forecast_;
};

/// The value of a cell in the column's unit, but times in milliseconds: none, a number or a text.
Fact factOf(const exchange::Cell& cell, exchange::Unit unit);
template <class Row> Fact factOf(const exchange::ColumnOf<Row>& column, const Row& row)
{
    return factOf(column.value(row), column.about.unit);
}

/// The column that a metric names; null if none.
template <class Row>
const exchange::ColumnOf<Row>*
columnOf(std::string_view metric,
         std::initializer_list<std::pair<std::string_view, const exchange::ColumnOf<Row>*>> columns)
{
    const auto* found = std::ranges::find(columns, metric, [](const auto& column) { return column.first; });
    return found == columns.end() ? nullptr : found->second;
}

/// Whether RunFacts has a metric of that name.
bool isMetric(std::string_view name);

/// The values of these keys as a label: `d_head 64, seq_len 1024`.
std::string labelOf(const RunFacts& run, const std::vector<std::string>& keys);

/// Whether a median is shown with its interval: only if that is wider than a tenth of it.
bool showsInterval(double median, const std::optional<analysis::ConfidenceInterval>& interval);

/// A value with its unit, and its interval where that is shown: `12.3 ms (11.1 to 14.6)`, `4.10 GiB`.
std::string textOf(const Measured& measured);

} // namespace tilescope::report
