#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/text.h"
#include "core/model/flags.h"
#include "core/model/text.h"
#include "core/query/runs/run_tables.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

inline const RunResult& resultOf(const query::RunRow& run)
{
    return run.record.result;
}

inline const std::optional<analysis::Statistics>& stepOf(const query::RunRow& run)
{
    return run.stepMs();
}

inline const std::string& workloadOf(const query::RunRow& run)
{
    return run.record.workload;
}

/// Why a median has no interval.
inline constexpr std::string_view kNoInterval = "n < 6: no interval";
inline constexpr std::string_view kNoIntervalAsCorrelated = "steps too correlated for an interval";

inline std::string_view noInterval(const analysis::Statistics& statistics)
{
    return statistics.n < analysis::kFewestForInterval ? kNoInterval : kNoIntervalAsCorrelated;
}

/// The columns of runs.
/// \tparam Row  resultOf(row) returns its RunResult, stepOf(row) the statistics of its timed steps in ms, and
///              workloadOf(row) its workload
template <class Row> struct RunColumns {
    using Of = ColumnOf<Row>;

    Of workload = Of("workload", "workload", [](const Row& row) { return workloadOf(row); }, {.keep = 0});
    Of status = Of("status", "status", [](const Row& row) { return wordOf(resultOf(row).status); },
                   {.keep = 2, .meaning = Meaning::Status});
    Of reason = Of("reason", "", [](const Row& row) { return cellOrNull(resultOf(row).reason); },
                   {.audience = Audience::Programs});
    Of parameters = Of("parameters", "", [](const Row& row) { return resultOf(row).parameters; },
                       {.audience = Audience::Programs});
    Of step = Of("step_ms", "median step", [](const Row& row) { return stepOf(row); },
                 {.unit = Unit::Milliseconds, .keep = 2, .unitGroup = 1, .shortTitle = "step"});
    Of interval =
        Of("95 % interval", "95 % interval",
           [](const Row& row) {
               if (!stepOf(row))
                   return Cell();
               return stepOf(row)->ci95 ? Cell(*stepOf(row)->ci95) : cellOf(noInterval(*stepOf(row)));
           },
           {.unit = Unit::Milliseconds, .audience = Audience::People, .unitGroup = 1, .shortTitle = "95 %"});
    Of samples = Of("n", "n",
                    [](const Row& row) { return stepOf(row) ? std::optional(stepOf(row)->n) : std::nullopt; },
                    {.keep = 0, .audience = Audience::People});
    Of beforeBackward =
        Of("before_backward", "before backward", [](const Row& row) { return resultOf(row).beforeBackward; },
           {.keep = 0, .unitGroup = 1});
    Of peakAllocated =
        Of("peak_allocated", "peak allocated", [](const Row& row) { return resultOf(row).peakAllocated; },
           {.unitGroup = 1, .shortTitle = "peak"});
    Of peakReserved =
        Of("peak_reserved", "peak reserved", [](const Row& row) { return resultOf(row).peakReserved; },
           {.keep = 0, .unitGroup = 1});
    /// A traced step as a multiple of a timed one.
    Of traceOverhead = Of("trace_overhead", "tracing cost, x timed",
                          [](const Row& row) { return resultOf(row).traceOverhead; }, {.keep = 0});
    Of losses = Of("loss", "",
                   [](const Row& row) {
                       const auto& each = resultOf(row).losses;
                       return each.empty() ? Cell() : Cell(jsonList(each));
                   },
                   {.audience = Audience::Programs});
    Of finalLoss =
        Of("final_loss", "final loss", [](const Row& row) { return resultOf(row).finalLoss(); }, {.keep = 0});
    /// Their names; the sheet of a run has their details.
    Of flags = Of("flags", "flags",
                  [](const Row& row) {
                      std::vector<std::string> names;
                      for (const std::string& flag : resultOf(row).flags)
                          names.emplace_back(flagName(flag));
                      return cellOrNull(joined(names));
                  },
                  {.keep = 2, .audience = Audience::People, .elidable = true, .hasPairs = true});
};

} // namespace tilescope::exchange
