#include "core/exchange/kernels/counter_section.h"

#include "core/base/plural.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

using query::CounterRow;

/// Whether the counter is the share of the time in which a GPU limited its clocks.
bool isLimit(const CounterRow& row)
{
    return row.name == kPowerCapCounter || row.name == kThermalSlowdownCounter ||
           row.name == kHardwareSlowdownCounter;
}

/// GPU 0 limited its clocks in 37.0 % of the time: Power cap.
std::string limitText(const CounterRow& row)
{
    return row.place + " limited its clocks in " + query::counterText(row.figures.mean, row.unit) +
           " of the time: " + row.name + ".";
}

} // namespace

Table tableOf(std::shared_ptr<const query::CountersTable> counters)
{
    using Figures = analysis::CounterFigures;
    const auto column = columnsOf(counters);
    Table table{.heading = describeRun(counters->run) + "; " + coverageOf(counters->run, counters->span),
                .rows = counters->rows.size()};
    const auto figure = [&](std::string key, std::string title, double Figures::*member) {
        table.columns.push_back(
            column.programs(std::move(key), [member](const CounterRow& row) { return row.figures.*member; }));
        table.columns.push_back(column.people(
            std::move(title),
            [member](const CounterRow& row) { return query::counterText(row.figures.*member, row.unit); },
            {.keep = 2}));
    };
    const bool anyFailed =
        std::ranges::any_of(counters->rows, [](const CounterRow& row) { return row.failed > 0; });
    table.columns = {
        column.programs("run", [run = counters->run.run](const CounterRow&) { return run.value; }),
        column.programs("device",
                        [](const CounterRow& row) {
                            return row.device ? std::optional(row.device.value) : std::nullopt;
                        }),
        column.people("of", &CounterRow::place, {.keep = 2}),
        column("name", "counter", &CounterRow::name, {.keep = 2}),
        column.programs("unit", [](const CounterRow& row) { return cellOrNull(row.unit); }),
        column("samples", "readings", [](const CounterRow& row) { return row.figures.samples; }),
        column("failed", "failed", &CounterRow::failed,
               {.audience = anyFailed ? Audience::Everyone : Audience::Programs})};
    figure("minimum", "minimum", &Figures::minimum);
    figure("mean", "mean", &Figures::mean);
    figure("maximum", "maximum", &Figures::maximum);
    addRowProcess(table, column, &CounterRow::process);
    table.whyEmpty = counters->anyRecorded
                         ? "No counter was read in this time span."
                         : "Run " + std::to_string(counters->run.run.value) + " recorded no counters.";
    if (table.rows == 0)
        return table;
    table.notes = {"A value holds until the next reading; the mean weighs it with that time."};
    for (const CounterRow& row : counters->rows)
        if (isLimit(row) && row.figures.mean > 0)
            table.notes.push_back(limitText(row));
    return table;
}

} // namespace tilescope::exchange
