#include "core/base/plural.h"
#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

#include <algorithm>

namespace tilescope::exchange {

Table tableOf(std::shared_ptr<const query::WhatIfTable> whatIf)
{
    using Row = query::WhatIfRow;
    constexpr double kPercent = 100;
    constexpr double kNsPerMs = 1e6;
    const auto column = columnsOf(whatIf);
    const auto time = [&column](std::string title, auto get, int keep) {
        return column.people(std::move(title), [get](const Row& row) { return get(row) * kNsPerMs; },
                             {.unit = Unit::Nanoseconds, .keep = keep, .unitGroup = 1});
    };
    Table table{.heading = describeRun(whatIf->run) + "; " + whatIf->change, .rows = whatIf->rows.size()};
    table.columns = {
        column.programs("run", [run = whatIf->run.run](const Row&) { return run.value; }),
        column.programs("rank", &Row::rank),
        column.programs("change", [change = whatIf->change](const Row&) { return change; }),
        column.programs("changed_ns", [changed = whatIf->changed](const Row&) { return changed; }),
        column.programs("removed_host_ns", [host = whatIf->removedHost](const Row&) { return host; }),
        column.programs("assumption", [text = whatIf->assumption](const Row&) { return cellOrNull(text); })};
    addProcessNumbers<Row>(table, column);
    if (std::ranges::any_of(whatIf->rows, [](const Row& row) { return !row.title.empty(); }))
        table.columns.push_back(column.people("rank", &Row::title, {.keep = 2}));
    for (Column& each : std::vector<Column>{
             column("steps", "steps",
                    [](const Row& row) {
                        return std::ranges::count_if(
                            row.steps, [](const query::WhatIfStep& step) { return step.leftOut.empty(); });
                    },
                    {.keep = 0}),
             column.programs("recorded_ms", [](const Row& row) { return std::optional(row.recordedMs); }),
             column.programs("predicted_ms", [](const Row& row) { return std::optional(row.predictedMs); }),
             column.programs("ratio", [](const Row& row) { return std::optional(row.ratio); }),
             column.programs("timed_ms", &Row::timedMs),
             column.programs("predicted_timed_ms", &Row::predictedTimedMs),
             time(
                 "recorded", [](const Row& row) { return row.recordedMs.median; }, 2),
             time(
                 "predicted", [](const Row& row) { return row.predictedMs.median; }, 2),
             time(
                 "least", [](const Row& row) { return row.predictedMs.min; }, 1),
             time(
                 "most", [](const Row& row) { return row.predictedMs.max; }, 1),
             column.people("of recorded", [](const Row& row) { return kPercent * row.ratio.median; },
                           {.unit = Unit::Percent, .keep = 2}),
             column.programs("per_step", [](const Row& row) {
                 return jsonList(row.steps, [](const query::WhatIfStep& step) {
                     return JsonObject()
                         .add("step", step.step)
                         .add("wall_ns", step.wall)
                         .add("predicted_ns", step.predicted)
                         .add("typical", step.leftOut.empty())
                         .json();
                 });
             })})
        table.columns.push_back(std::move(each));
    table.whyEmpty = whyNoEvents(whatIf->run, "steps, kernels or ops");
    if (table.rows == 0)
        return table;
    const bool hasSteps = std::ranges::any_of(whatIf->rows.front().steps,
                                              [](const auto& step) { return step.step.has_value(); });
    table.notes = {hasSteps ? "Medians over the steps; least and most are of single steps."
                            : "The recording has no steps: the prediction is of all of it."};
    for (std::string& sentence : whatIf->choice.notes())
        table.notes.push_back(std::move(sentence));
    if (!whatIf->assumption.empty())
        table.notes.push_back(whatIf->assumption);
    if (whatIf->removedHost > Nanoseconds(0))
        table.notes.push_back("What is left out took the host " +
                              withUnit(static_cast<double>(whatIf->removedHost.count()), Unit::Nanoseconds) +
                              " to launch, in all steps and ranks.");
    for (const Row& row : whatIf->rows)
        if (row.timedMs && row.title.empty())
            table.notes.push_back("Timed without tracing, a step takes " +
                                  withUnit(*row.timedMs * kNsPerMs, Unit::Nanoseconds) + "; predicted " +
                                  withUnit(*row.predictedTimedMs * kNsPerMs, Unit::Nanoseconds) + ".");
    return table;
}

} // namespace tilescope::exchange
