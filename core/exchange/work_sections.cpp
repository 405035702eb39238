#include "core/exchange/columns.h"
#include "core/exchange/number.h"
#include "core/exchange/sections.h"

#include "core/analysis/stats/statistics.h"
#include "core/model/ceilings.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::exchange {

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

std::optional<double> per(std::optional<double> value, double unit)
{
    return value ? std::optional(*value / unit) : std::nullopt;
}

std::optional<double> percent(const std::optional<analysis::RooflinePoint>& point)
{
    return point ? std::optional(100 * point->fraction) : std::nullopt;
}

Cell boundCell(const query::RooflineRow& row)
{
    const auto& point = row.measured ? row.measured : row.sheet;
    return point ? cellOf(analysis::wordOf(point->bound)) : Cell();
}

/// `743 TFLOP/s`: a rate with a prefix that leaves up to three digits.
std::string rateText(double value, const std::string& unit)
{
    const Scale scale = scaleFor(Unit::Operations, value);
    return scale.text(value) + " " + (unit == "1/s" ? scale.suffix + "/s" : scale.suffix + unit);
}

/// Programs read a rate in one unit, people in the one that suits it.
void showRateOnce(Table& table)
{
    for (Column& column : table.columns) {
        if (column.key == "tflops")
            column.audience = Audience::Programs;
        else if (column.key == "FLOP/s")
            column.audience = Audience::People;
    }
}

std::string ceilingsText(const char* name, const analysis::Ceilings& ceilings, const std::string& from)
{
    if (!ceilings.flops && !ceilings.bytes)
        return std::string(name) + ": " + from + ".";
    const auto rate = [](const std::optional<double>& value, double unit, const char* suffix) {
        return value ? fmt::format("{:.4g} {}", *value / unit, suffix) : std::string("no peak");
    };
    return fmt::format("{}: {} and {} ({}).", name, rate(ceilings.flops, kTera, "TFLOP/s"),
                       rate(ceilings.bytes, kGiga, "GB/s"), from);
}

} // namespace

Table tableOf(std::shared_ptr<const query::RooflineTable> roofline)
{
    using Row = query::RooflineRow;
    const auto column = [&roofline](std::string key, std::string title, Unit unit, int keep, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [roofline, get](std::size_t row) -> Cell { return get(roofline->rows[row]); },
                      .unit = unit,
                      .keep = keep};
    };
    Table table{.heading = describeRun(roofline->run) + "; traced steps", .rows = roofline->rows.size()};
    const std::string group(query::wordOf(roofline->grouping));
    table.columns = {
        column(group, group, Unit::None, 2, [](const Row& row) { return cellOf(row.key); }),
        column("instances", "count", Unit::None, 0, [](const Row& row) { return Cell(row.instances); }),
        column("time_ns", roofline->onGpu ? "GPU time" : "time", Unit::Nanoseconds, 2,
               [](const Row& row) { return cellOf(row.time); }),
        column("counted_ns", "counted", Unit::Nanoseconds, 0,
               [](const Row& row) { return cellOf(row.counted); }),
        column("flops", "FLOP", Unit::Operations, 1,
               [](const Row& row) { return row.work ? Cell(row.work->flops.count) : Cell(); }),
        column("bytes", "bytes", Unit::Bytes, 1,
               [](const Row& row) { return row.work ? cellOf(row.work->bytes) : Cell(); }),
        column("tflops", "", Unit::None, 2,
               [](const Row& row) {
                   return row.work ? cellOf(per(flopsPerSecond(*row.work, row.counted), kTera)) : Cell();
               }),
        column("FLOP/s", "FLOP/s", Unit::Operations, 2,
               [](const Row& row) {
                   return row.work ? cellOf(flopsPerSecond(*row.work, row.counted)) : Cell();
               }),
        column("gbps", "GB/s", Unit::None, 2,
               [](const Row& row) {
                   return row.work ? cellOf(per(bytesPerSecond(*row.work, row.counted), kGiga)) : Cell();
               }),
        column("intensity", "FLOP/B", Unit::None, 1,
               [](const Row& row) { return row.work ? cellOf(intensityOf(*row.work)) : Cell(); }),
        column("bound", "bound", Unit::None, 1, boundCell),
        column("percent_of_measured", "of measured", Unit::Percent, 2,
               [](const Row& row) { return cellOf(percent(row.measured)); }),
        column("percent_of_sheet", "of data sheet", Unit::Percent, 1,
               [](const Row& row) { return cellOf(percent(row.sheet)); }),
        column("why", "", Unit::None, 0, [](const Row& row) { return cellOrNull(row.why); })};
    table.columns.front().elidable = true;
    table.columns.back().audience = Audience::Programs;
    showRateOnce(table);
    // What is missing from every row alike stands under the table.
    if (std::any_of(roofline->rows.begin(), roofline->rows.end(), [](const Row& row) { return !row.work; })) {
        table.columns.push_back(column("why not", "why not", Unit::None, 0, [](const Row& row) {
            return row.work ? Cell() : cellOrNull(row.why);
        }));
        table.columns.back().audience = Audience::People;
        table.columns.back().elidable = true;
    }
    table.whyEmpty = "Run " + std::to_string(roofline->run.run.value) +
                     " has no kernels or ops of traced steps in this selection.";
    if (table.rows == 0)
        return table;
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
    const auto column = [&mfu](std::string key, std::string title, Unit unit, int keep, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [mfu, get](std::size_t row) -> Cell { return get(mfu->rows[row]); },
                      .unit = unit,
                      .keep = keep};
    };
    const auto flops = [](const std::optional<analysis::Flops>& value) {
        return value ? Cell(value->count) : Cell();
    };
    const auto share = [](std::optional<double> value) { return cellOf(per(value, 0.01)); };
    Table table{.rows = mfu->rows.size()};
    table.columns = {
        column("run", "run", Unit::None, 2, [](const Row& row) { return Cell(row.run.value); }),
        column("step", "step", Unit::None, 2, [](const Row& row) { return Cell(std::int64_t{row.step}); }),
        column("wall_ns", "wall", Unit::Nanoseconds, 2, [](const Row& row) { return cellOf(row.wall); }),
        column("model_flops", "model FLOP", Unit::Operations, 1,
               [flops](const Row& row) { return flops(row.model); }),
        column("hardware_flops", "done FLOP", Unit::Operations, 0,
               [flops](const Row& row) { return flops(row.hardware); }),
        column("tflops", "", Unit::None, 1,
               [](const Row& row) {
                   return row.model ? cellOf(per(analysis::flopsPerSecond({*row.model, {}}, row.wall), kTera))
                                    : Cell();
               }),
        column("FLOP/s", "FLOP/s", Unit::Operations, 1,
               [](const Row& row) {
                   return row.model ? cellOf(analysis::flopsPerSecond({*row.model, {}}, row.wall)) : Cell();
               }),
        column("mfu_measured", "MFU of measured", Unit::Percent, 2,
               [share](const Row& row) { return share(row.mfuMeasured); }),
        column("mfu_sheet", "MFU of data sheet", Unit::Percent, 2,
               [share](const Row& row) { return share(row.mfuSheet); }),
        column("hfu_sheet", "HFU of data sheet", Unit::Percent, 0,
               [share](const Row& row) { return share(row.hfuSheet); }),
        column("why", "why not", Unit::None, 0, [](const Row& row) { return cellOrNull(row.why); })};
    table.columns.back().elidable = true;
    showRateOnce(table);
    table.whyEmpty = "No step was timed.";
    table.notes = mfu->formulas;
    return table;
}

Table tableOf(std::shared_ptr<const std::vector<Ceiling>> ceilings)
{
    const auto column = [&ceilings](std::string key, std::string title, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [ceilings, get](std::size_t row) -> Cell { return get((*ceilings)[row]); },
                      .keep = 2};
    };
    const auto programs = [&column](std::string key, auto get) {
        Column made = column(std::move(key), "", get);
        made.audience = Audience::Programs;
        return made;
    };
    const auto people = [&column](std::string title, auto get) {
        Column made = column(title, title, get);
        made.audience = Audience::People;
        return made;
    };
    Table table{.rows = ceilings->size()};
    table.columns = {
        column("kind", "ceiling", [](const Ceiling& row) { return cellOf(row.kind); }),
        programs("value", [](const Ceiling& row) { return Cell(row.value); }),
        programs("unit", [](const Ceiling& row) { return cellOf(row.unit); }),
        programs("spread", [](const Ceiling& row) { return Cell(row.spread); }),
        people("reached", [](const Ceiling& row) { return cellOf(rateText(row.value, row.unit)); }),
        people("\u00b1",
               [](const Ceiling& row) {
                   return cellOf(fmt::format("{:.1f} %", row.value > 0 ? 100 * row.spread / row.value : 0.0));
               }),
        column("n", "samples", [](const Ceiling& row) { return Cell(row.n); }),
        programs("device", [](const Ceiling& row) { return cellOf(row.device); }),
        column("device_name", "device", [](const Ceiling& row) { return cellOf(row.deviceName); }),
        programs("measured", [](const Ceiling& row) { return Cell(row.measuredUnixNs); }),
        programs("program", [](const Ceiling& row) { return cellOf(row.program); }),
        programs("busy_host", [ceilings](const Ceiling& row) {
            const bool isTold = hostWaitingAt(*ceilings, row).has_value();
            return isTold ? Cell(isFromBusyHost(*ceilings, row)) : Cell();
        })};
    if (std::ranges::any_of(*ceilings, [&](const Ceiling& row) { return isFromBusyHost(*ceilings, row); }))
        table.columns.push_back(people("host", [ceilings](const Ceiling& row) {
            return cellOf(isFromBusyHost(*ceilings, row) ? "busy" : "");
        }));
    table.whyEmpty = "The file has no ceilings: tilescope doctor --ceilings -o FILE measures them.";
    return table;
}

} // namespace tilescope::exchange
