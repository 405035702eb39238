#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/work/work_columns.h"

#include "core/analysis/stats/statistics.h"
#include "core/model/ceilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tilescope::exchange {

namespace {

/// `743 TFLOP/s`, `120 K launches/s`, `12.3 %`.
std::string valueText(const Ceiling& ceiling)
{
    if (ceiling.unit == "%")
        return withUnit(ceiling.value, Unit::Percent);
    if (ceiling.unit == "1/s")
        return fmt::format("{} {}/s", withUnit(ceiling.value, Unit::Operations),
                           ceiling.kind == "launch" ? "launches" : ceiling.kind);
    if (ceiling.unit == "B/s")
        return withUnit(ceiling.value, Unit::BytesPerSecond);
    if (ceiling.unit == "FLOP/s")
        return withUnit(ceiling.value, Unit::FlopsPerSecond);
    return quantity::threeDigits(ceiling.value) + (ceiling.unit == "1" ? "" : " " + ceiling.unit);
}

std::string ceilingsText(const char* name, const analysis::Ceilings& ceilings, const std::string& from)
{
    if (!ceilings.flops && !ceilings.bytes)
        return std::string(name) + ": " + from + ".";
    const auto rate = [](const std::optional<double>& value, Unit unit) {
        return value ? withUnit(*value, unit) : std::string("no peak");
    };
    return fmt::format("{}: {} and {} ({}).", name, rate(ceilings.flops, Unit::FlopsPerSecond),
                       rate(ceilings.bytes, Unit::BytesPerSecond), from);
}

std::string shareOf(Nanoseconds part, Nanoseconds whole)
{
    return fmt::format("{:.1f} %", whole.count() > 0 ? 100.0 * static_cast<double>(part.count()) /
                                                           static_cast<double>(whole.count())
                                                     : 0.0);
}

/// `12.3 % not counted: the op that launched it is unknown.` For each reason, the largest share first: with the counted
/// part they are the whole time.
std::vector<std::string> uncountedNotes(const query::RooflineTable& roofline, Nanoseconds whole)
{
    std::map<std::string, Nanoseconds> byReason;
    for (const query::RooflineRow& row : roofline.rows)
        if (row.counted < row.time)
            byReason[row.counted == Nanoseconds{0} ? row.why : "parts of rows that are counted"] +=
                row.time - row.counted;
    std::vector<std::pair<std::string, Nanoseconds>> reasons(byReason.begin(), byReason.end());
    std::ranges::stable_sort(reasons, std::ranges::greater{}, [](const auto& each) { return each.second; });
    constexpr std::size_t kNamed = 8;
    std::vector<std::string> notes;
    Nanoseconds rest{0};
    for (std::size_t i = 0; i < reasons.size(); ++i)
        if (i < kNamed)
            notes.push_back(shareOf(reasons[i].second, whole) + " not counted: " + reasons[i].first + ".");
        else
            rest += reasons[i].second;
    if (rest.count() > 0)
        notes.push_back(shareOf(rest, whole) + " not counted for other reasons.");
    return notes;
}

} // namespace

Table tableOf(std::shared_ptr<const query::RooflineTable> roofline)
{
    using Row = query::RooflineRow;
    const auto column = columnsOf(roofline);
    Table table{.heading = describeRun(roofline->run) + "; " + coverageOf(roofline->run),
                .rows = roofline->rows.size()};
    const std::string group = titleOf(roofline->grouping);
    const RooflineColumns of(roofline->onGpu);
    const WorkColumns<Row> work;
    if (roofline->grouping == query::Grouping::Shape)
        table.columns = {column(of.op), column(of.shapes), column(of.firstOp), column(of.family)};
    else
        table.columns = {column(group, group, &Row::key, {.keep = 2, .elidable = true})};
    const auto add = [&](const auto&... columns) { (table.columns.push_back(column(columns)), ...); };
    add(of.instances, of.time, of.counted, work.flops, work.bytes, work.teraflops, work.flopRate,
        work.byteRate, work.intensity, work.bound, work.ofMeasured, work.ofSheet, of.why);
    // What is missing from every row alike stands under the table.
    if (std::any_of(roofline->rows.begin(), roofline->rows.end(), [](const Row& row) { return !row.work; })) {
        table.columns.push_back(
            column.people("why not", [](const Row& row) { return row.work ? Cell() : cellOrNull(row.why); },
                          {.keep = 0, .elidable = true}));
    }
    table.whyEmpty = "Run " + std::to_string(roofline->run.run.value) +
                     " has no kernels or ops of traced steps in this selection.";
    if (table.rows == 0)
        return table;
    if (roofline->fromShapes) {
        Nanoseconds time{0};
        Nanoseconds counted{0};
        Nanoseconds inferred{0};
        for (const Row& row : roofline->rows) {
            time += row.time;
            counted += row.counted;
            inferred += row.inferred;
        }
        if (roofline->grouping != query::Grouping::Range) {
            table.notes.push_back(shareOf(counted, time) + " of the time has counted work.");
            for (std::string& note : uncountedNotes(*roofline, time))
                table.notes.push_back(std::move(note));
        }
        if (inferred.count() > 0)
            table.notes.push_back(
                shareOf(inferred, time) +
                " of it is of kernels without a recorded launch; they count for the op of kernels "
                "with the same name and launch configuration, and after the same kernels where ops share "
                "these.");
    }
    table.notes.push_back(roofline->fromShapes
                              ? "FLOPs and bytes from the shapes of the ops; rates are over the counted time."
                              : "FLOPs and bytes of matmuls and attention from the spec; rates are over the "
                                "time of those families.");
    table.notes.push_back(
        ceilingsText("Measured ceilings", roofline->ceilings.measured, roofline->ceilings.measuredFrom));
    table.notes.push_back(ceilingsText("Data sheet", roofline->ceilings.sheet, roofline->ceilings.sheetFrom));
    return table;
}

Table tableOf(std::shared_ptr<const query::MfuTable> mfu)
{
    using Row = query::MfuRow;
    const auto column = columnsOf(mfu);
    const auto flops = [](const std::optional<analysis::Flops>& value) {
        return value ? Cell(value->count) : Cell();
    };
    const auto rate = [](const Row& row) {
        return row.model ? analysis::flopsPerSecond({*row.model, {}}, row.wall) : std::nullopt;
    };
    Table table{.rows = mfu->rows.size()};
    table.columns = {
        column("run", "run", [](const Row& row) { return row.run.value; }, {.keep = 2}),
        column("step", "step", &Row::step, {.keep = 2}),
        column("wall_ns", "wall", &Row::wall, {.keep = 2}),
        column("model_flops", "model", [flops](const Row& row) { return flops(row.model); },
               {.unit = Unit::Flops, .unitGroup = 1}),
        column("hardware_flops", "done", [flops](const Row& row) { return flops(row.hardware); },
               {.unit = Unit::Flops, .keep = 0, .unitGroup = 1}),
        column.programs("tflops", [rate](const Row& row) { return per(rate(row), 1e12); }),
        column.people("rate", rate, {.unit = Unit::FlopsPerSecond}),
        column("mfu_measured_percent", "MFU of measured",
               [](const Row& row) { return per(row.mfuMeasured, 0.01); }, {.unit = Unit::Percent, .keep = 2}),
        column("mfu_sheet_percent", "MFU of data sheet",
               [](const Row& row) { return per(row.mfuSheet, 0.01); }, {.unit = Unit::Percent, .keep = 2}),
        column("hfu_sheet_percent", "HFU of data sheet",
               [](const Row& row) { return per(row.hfuSheet, 0.01); }, {.unit = Unit::Percent, .keep = 0}),
        column("why", "why not", [](const Row& row) { return cellOrNull(row.why); },
               {.keep = 0, .elidable = true})};
    table.whyEmpty = "No step was timed.";
    table.notes = mfu->formulas;
    return table;
}

Table tableOf(std::shared_ptr<const std::vector<Ceiling>> ceilings)
{
    const ColumnsOf column(ceilings, *ceilings);
    Table table{.rows = ceilings->size()};
    table.columns = {column("kind", "ceiling", &Ceiling::kind, {.keep = 2}),
                     column.programs("value", &Ceiling::value),
                     column.programs("unit", &Ceiling::unit),
                     column.programs("spread", &Ceiling::spread),
                     column.people("value", [](const Ceiling& row) { return valueText(row); }, {.keep = 2}),
                     column.people("\u00b1",
                                   [](const Ceiling& row) {
                                       return row.n > 1 && row.value > 0
                                                  ? Cell(
                                                        fmt::format("{:.1f} %", 100 * row.spread / row.value))
                                                  : Cell();
                                   },
                                   {.keep = 2}),
                     column("n", "samples", &Ceiling::n, {.keep = 2}),
                     column.programs("device", &Ceiling::device),
                     column("device_name", "device", &Ceiling::deviceName, {.keep = 2}),
                     column.programs("measured", &Ceiling::measuredUnixNs),
                     column.programs("program", &Ceiling::program),
                     column.programs("busy_host", [ceilings](const Ceiling& row) {
                         const bool isTold = hostWaitingAt(*ceilings, row).has_value();
                         return isTold ? Cell(isFromBusyHost(*ceilings, row)) : Cell();
                     })};
    if (std::ranges::any_of(*ceilings, [&](const Ceiling& row) { return isFromBusyHost(*ceilings, row); }))
        table.columns.push_back(column.people(
            "host", [ceilings](const Ceiling& row) { return isFromBusyHost(*ceilings, row) ? "busy" : ""; },
            {.keep = 2}));
    table.whyEmpty = "The file has no ceilings: tilescope doctor --ceilings -o FILE measures them.";
    return table;
}

} // namespace tilescope::exchange
