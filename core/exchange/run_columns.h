#pragma once

#include "core/exchange/column_of.h"
#include "core/model/text.h"
#include "core/query/runs/run_tables.h"

#include <optional>
#include <string_view>

namespace tilescope::exchange {

inline const RunResult& resultOf(const query::RunRow& run)
{
    return run.record.result;
}

inline const std::optional<analysis::Statistics>& stepOf(const query::RunRow& run)
{
    return run.stepMs();
}

/// Why a median has no interval.
inline constexpr std::string_view kNoInterval = "n < 6: no interval";

/// The columns of runs.
/// \tparam Row  resultOf(row) returns its RunResult, stepOf(row) the statistics of its timed steps, ms
template <class Row> struct RunColumns {
    using Of = ColumnOf<Row>;

    Of status = Of("status", "status", [](const Row& row) { return wordOf(resultOf(row).status); },
                   {.keep = 2, .meaning = Meaning::Status});
    Of reason = Of("reason", "", [](const Row& row) { return cellOrNull(resultOf(row).reason); },
                   {.audience = Audience::Programs});
    Of parameters = Of("parameters", "", [](const Row& row) { return resultOf(row).parameters; },
                       {.audience = Audience::Programs});
    Of step = Of("step_ms", "median step", [](const Row& row) { return stepOf(row); },
                 {.unit = Unit::Milliseconds, .keep = 2, .unitGroup = 1});
    Of interval = Of("95 % interval", "95 % interval",
                     [](const Row& row) {
                         if (!stepOf(row))
                             return Cell();
                         return stepOf(row)->ci95 ? Cell(*stepOf(row)->ci95) : cellOf(kNoInterval);
                     },
                     {.unit = Unit::Milliseconds, .audience = Audience::People, .unitGroup = 1});
    Of samples = Of("n", "n",
                    [](const Row& row) { return stepOf(row) ? std::optional(stepOf(row)->n) : std::nullopt; },
                    {.keep = 0, .audience = Audience::People});
    Of beforeBackward =
        Of("before_backward", "before backward", [](const Row& row) { return resultOf(row).beforeBackward; },
           {.keep = 0, .unitGroup = 1});
    Of peakAllocated = Of("peak_allocated", "peak allocated",
                          [](const Row& row) { return resultOf(row).peakAllocated; }, {.unitGroup = 1});
    Of peakReserved =
        Of("peak_reserved", "peak reserved", [](const Row& row) { return resultOf(row).peakReserved; },
           {.keep = 0, .unitGroup = 1});
    Of traceOverhead = Of("trace_overhead", "tracing cost",
                          [](const Row& row) { return resultOf(row).traceOverhead; }, {.keep = 0});
    Of loss =
        Of("loss", "", [](const Row& row) { return resultOf(row).loss; }, {.audience = Audience::Programs});
};

} // namespace tilescope::exchange
