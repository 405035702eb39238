#pragma once

#include "core/analysis/stats/run_comparison.h"
#include "core/exchange/table.h"
#include "core/query/runs/run_tables.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tilescope::query {
struct NamedMemory;
}

namespace tilescope::report {

/// A measured value: in milliseconds, bytes, per cent or as a plain number, by its unit.
struct Measured {
    double value = 0;
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< 95 %, of a median
    std::int64_t n = 1;
    exchange::Unit unit = exchange::Unit::None;
};

/// What a run says about a metric: nothing, a number, or words.
using Fact = std::variant<std::monostate, Measured, std::string>;

/// A file that a report is made from.
struct Recording {
    std::filesystem::path file;
    std::shared_ptr<const store::RunReader> reader;
};

/// One run, and what can be asked of it. Metrics are
///
///   step, forward, loss, backward, optimizer   wall of the timed steps, ms: median, its interval, n;
///                                              with `.gpu` the GPU's time
///   warmup.1, timed.1, …                       wall of a single step, counted from 1
///   peak, reserved, before_backward            bytes
///   parameters, trace_overhead, status, reason
///   gpu_busy, mfu                              per cent
///   memory.CATEGORY                            bytes at the peak
///   counter.METRIC                             of the range `step`
///   answer.QUESTION                            its sentence; answer.QUESTION.LABEL  a figure of it
///   tensor.NAME, residual, residual.WHAT       of single tensors, as tensor_facts.h tells
///   result.KEY                                 what a workload that measures no time found out
///   any key of the spec                        as text
///
/// Reads what is asked for, once. One thread.
class RunFacts {
public:
    RunFacts(Recording recording, query::RunRow row);

    /// \throws Error  no such metric
    Fact fact(const std::string& metric) const;
    /// A number alone; none where the run has none.
    /// \throws Error  as fact()
    std::optional<Measured> number(const std::string& metric) const;

    /// The timed steps behind a metric of a phase; none for other metrics.
    std::optional<analysis::TimedRun> timed(const std::string& metric) const;

    /// A resolved key of the spec as text; empty where the run has none of that name.
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
    const query::NamedMemory& named() const;
    Fact gpuBusy() const;
    Fact modelUse() const;

    Recording recording_;
    query::RunRow row_;
    std::map<std::string, std::string, std::less<>> params_;
    mutable std::map<std::string, Fact> known_;
    mutable std::shared_ptr<const query::NamedMemory> named_;
};

/// Whether RunFacts knows a metric of that name.
bool isMetric(std::string_view name);

/// What tells a run from others by these keys: `d_head 64, seq_len 1024`.
std::string labelOf(const RunFacts& run, const std::vector<std::string>& keys);

/// A value with its unit: `12.3 ms (12.1 to 12.6)`, `4.10 GiB`.
std::string textOf(const Measured& measured);

} // namespace tilescope::report
