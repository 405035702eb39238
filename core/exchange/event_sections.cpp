#include "core/exchange/sections.h"

#include "core/exchange/columns.h"
#include "core/exchange/number.h"
#include "core/model/text.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

template <class Snapshot, class Get>
Column column(const std::shared_ptr<const Snapshot>& snapshot, std::string key, std::string title, Get get)
{
    return {.key = std::move(key),
            .title = std::move(title),
            .cell = [snapshot, get](std::size_t row) -> Cell { return get(snapshot->rows[row]); }};
}

Column with(Column column, Unit unit, int keep = 1, Audience audience = Audience::Everyone)
{
    column.unit = unit;
    column.keep = keep;
    column.audience = audience;
    return column;
}

Column elided(Column column, int keep = 2)
{
    column.elidable = true;
    column.keep = keep;
    return column;
}

Column forPrograms(Column column)
{
    column.audience = Audience::Programs;
    return column;
}

bool isCpuRun(const store::RunRecord& run)
{
    return run.result.device == "cpu";
}

/// Why a run has no events of a kind, as far as its record tells.
std::string whyNoEvents(const store::RunRecord& run, const std::string& what)
{
    const std::string name = "Run " + std::to_string(run.run.value);
    switch (run.result.status) {
    case RunStatus::Ok:
        return name + " recorded no " + what + ": it was not traced (trace: off or trace_steps: 0).";
    case RunStatus::Running:
        return name + " is running and has recorded no " + what + " so far.";
    default:
        return name + " has no " + what + ": it ended as " + std::string(wordOf(run.result.status)) +
               (run.result.reason.empty() ? "." : " (" + run.result.reason + ").");
    }
}

std::string titleOf(query::Grouping grouping)
{
    return std::string(query::wordOf(grouping));
}

std::string percentText(Nanoseconds part, Nanoseconds whole)
{
    const double percent = 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
    return scaleFor(Unit::Percent, percent).text(percent) + " %";
}

} // namespace

Table tableOf(std::shared_ptr<const query::KernelsTable> kernels)
{
    using Row = query::KernelRow;
    Table table{.heading = describeRun(kernels->run) + "; traced steps", .rows = kernels->rows.size()};
    auto& columns = table.columns;
    if (kernels->grouping == query::Grouping::Name) {
        columns.push_back(
            forPrograms(column(kernels, "name", "name", [](const Row& row) { return cellOf(row.key); })));
        columns.push_back(elided(
            column(kernels, "short_name", "kernel", [](const Row& row) { return cellOf(row.shortName); })));
        columns.push_back(
            with(column(kernels, "family", "family", [](const Row& row) { return cellOf(row.family); }),
                 Unit::None, 1));
    } else {
        const std::string group = titleOf(kernels->grouping);
        columns.push_back(
            elided(column(kernels, group, group, [](const Row& row) { return cellOf(row.key); })));
        columns.push_back(
            with(column(kernels, "kernels", "kernels", [](const Row& row) { return Cell(row.kernels); }),
                 Unit::None, 0));
    }
    columns.push_back(
        with(column(kernels, "instances", "count", [](const Row& row) { return Cell(row.instances); }),
             Unit::None, 1));
    columns.push_back(with(column(kernels, "steps", "steps", [](const Row& row) { return Cell(row.steps); }),
                           Unit::None, 0));
    columns.push_back(with(column(kernels, "instances_per_step", "per step",
                                  [](const Row& row) { return Cell(row.instancesPerStep()); }),
                           Unit::None, 1));
    columns.push_back(
        with(column(kernels, "total_ns", "total", [](const Row& row) { return cellOf(row.total); }),
             Unit::Nanoseconds, 2));
    columns.push_back(
        with(column(kernels, "avg_ns", "avg", [](const Row& row) { return cellOf(row.average); }),
             Unit::Nanoseconds, 1));
    columns.push_back(
        with(column(kernels, "min_ns", "min", [](const Row& row) { return cellOf(row.shortest); }),
             Unit::Nanoseconds, 0));
    columns.push_back(
        with(column(kernels, "max_ns", "max", [](const Row& row) { return cellOf(row.longest); }),
             Unit::Nanoseconds, 0));
    columns.push_back(
        with(column(kernels, "percent", "GPU time", [](const Row& row) { return Cell(row.percent); }),
             Unit::Percent, 2));
    if (kernels->grouping == query::Grouping::Name)
        columns.push_back(
            elided(column(kernels, "does", "does", [](const Row& row) { return cellOrNull(row.does); }), 0));

    const std::string run = std::to_string(kernels->run.run.value);
    if (kernels->events == 0)
        table.whyEmpty =
            isCpuRun(kernels->run)
                ? "Run " + run +
                      " ran on the CPU, where there are no kernels but ops: tilescope show FILE ops."
                : whyNoEvents(kernels->run, "kernels");
    else
        table.whyEmpty =
            "None of the run's " + std::to_string(kernels->events) + " device events is selected.";
    if (kernels->outsideSteps > 0)
        table.notes.push_back(std::to_string(kernels->outsideSteps) +
                              " device events between steps are not counted.");
    return table;
}

Table tableOf(std::shared_ptr<const query::StepsTable> steps)
{
    using Row = query::StepRow;
    using analysis::StepPartition;
    using analysis::StepVerdict;
    const auto part = [&steps](std::string key, std::string title, Nanoseconds StepPartition::*member) {
        return with(
            column(steps, std::move(key), std::move(title),
                   [member](const Row& row) { return row.onGpu ? cellOf(row.partition.*member) : Cell(); }),
            Unit::Nanoseconds);
    };
    const auto verdict = [](const Row& row) {
        return row.onGpu ? analysis::verdictOf(row.partition) : StepVerdict::Cpu;
    };
    Table table{.rows = steps->rows.size()};
    table.columns = {
        column(steps, "run", "run", [](const Row& row) { return Cell(row.run.value); }),
        column(steps, "step", "step", [](const Row& row) { return Cell(std::int64_t{row.step}); }),
        with(column(steps, "wall_ns", "wall",
                    [](const Row& row) { return cellOf(row.partition.wall.length()); }),
             Unit::Nanoseconds, 2),
        part("gpu_busy_ns", "GPU busy", &StepPartition::gpuBusy),
        part("idle_launch_ns", "idle: launching", &StepPartition::launching),
        part("sync_ns", "idle: sync", &StepPartition::synchronizing),
        part("overhead_ns", "idle: tracing", &StepPartition::tracing),
        part("unexplained_ns", "unexplained", &StepPartition::unexplained),
        column(steps, "verdict", "verdict",
               [verdict](const Row& row) { return cellOf(wordOf(verdict(row))); }),
        elided(column(steps, "why", "why",
                      [](const Row& row) { return row.onGpu ? cellOf(explain(row.partition)) : Cell(); }),
               0)};
    table.columns[8].meaning = Meaning::Verdict;
    table.columns[8].keep = 2;
    table.whyEmpty =
        steps->runs.empty() ? "The file has no runs." : whyNoEvents(steps->runs.back(), "traced steps");
    if (std::any_of(steps->rows.begin(), steps->rows.end(), [](const Row& row) { return row.onGpu; }))
        table.notes.push_back("Traced steps; GPU busy and the four kinds of idle add up to the wall.");
    return table;
}

Table tableOf(std::shared_ptr<const query::OpsTable> ops)
{
    using Row = query::OpRow;
    Table table{.heading = describeRun(ops->run) + "; traced steps, host time", .rows = ops->rows.size()};
    const std::string group = titleOf(ops->grouping);
    table.columns = {
        elided(column(ops, group, group == "name" ? "op" : group,
                      [](const Row& row) { return cellOf(row.key); })),
        column(ops, "instances", "count", [](const Row& row) { return Cell(row.instances); }),
        with(column(ops, "total_ns", "total", [](const Row& row) { return cellOf(row.total); }),
             Unit::Nanoseconds),
        with(column(ops, "self_ns", "self", [](const Row& row) { return cellOf(row.self); }),
             Unit::Nanoseconds, 2),
        with(column(ops, "avg_ns", "avg", [](const Row& row) { return cellOf(row.average); }),
             Unit::Nanoseconds, 0),
        with(column(ops, "percent", "self time", [](const Row& row) { return Cell(row.percent); }),
             Unit::Percent, 2)};
    if (ops->events > 0)
        table.whyEmpty = "None of the run's " + std::to_string(ops->events) + " ops is selected.";
    else if (!isCpuRun(ops->run) && ops->run.result.status == RunStatus::Ok)
        table.whyEmpty = "Run " + std::to_string(ops->run.run.value) +
                         " recorded no ops: on a GPU they are recorded with trace: full.";
    else
        table.whyEmpty = whyNoEvents(ops->run, "ops");
    return table;
}

Table tableOf(std::shared_ptr<const query::RangesTable> ranges)
{
    using Row = analysis::RangeTotal;
    Table table{.heading = describeRun(ranges->run) + "; traced steps", .rows = ranges->rows.size()};
    table.columns = {elided(column(ranges, "path", "range", [](const Row& row) { return cellOf(row.path); })),
                     column(ranges, "instances", "count", [](const Row& row) { return Cell(row.instances); }),
                     with(column(ranges, "wall_ns", "wall", [](const Row& row) { return cellOf(row.wall); }),
                          Unit::Nanoseconds),
                     with(column(ranges, "gpu_ns", "GPU", [](const Row& row) { return cellOf(row.gpu); }),
                          Unit::Nanoseconds, ranges->hasGpu ? 2 : 0),
                     with(column(ranges, "percent", ranges->hasGpu ? "of GPU time" : "of step",
                                 [](const Row& row) { return Cell(row.percent); }),
                          Unit::Percent, 2)};
    table.whyEmpty = whyNoEvents(ranges->run, "ranges (that match)");
    if (ranges->gpu.count() > 0)
        table.notes.push_back(percentText(ranges->gpuInModules, ranges->gpu) +
                              " of the GPU time is attributed to a module.");
    return table;
}

Table tableOf(std::shared_ptr<const query::MemoryEventsTable> snapshot)
{
    const auto cell = [&snapshot](std::string key, std::string title, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [snapshot, get](std::size_t row) -> Cell {
                          return get(*snapshot, snapshot->events[row]);
                      }};
    };
    using Table_ = query::MemoryEventsTable;
    Table table{.heading = describeRun(snapshot->run) + "; allocation events, time from the first event",
                .rows = snapshot->events.size()};
    table.columns = {
        with(cell("t_ns", "time",
                  [](const Table_& t, const AllocEvent& e) { return cellOf(e.time - t.origin); }),
             Unit::Nanoseconds, 2),
        cell("action", "action", [](const Table_&, const AllocEvent& e) { return cellOf(wordOf(e.action)); }),
        with(cell("bytes", "bytes", [](const Table_&, const AllocEvent& e) { return Cell(e.bytes); }),
             Unit::Bytes, 2),
        with(cell("address", "address",
                  [](const Table_&, const AllocEvent& e) {
                      return Cell(static_cast<std::int64_t>(e.address));
                  }),
             Unit::Address, 0),
        with(cell("device", "device",
                  [](const Table_&, const AllocEvent& e) { return cellOf(deviceText(e.device)); }),
             Unit::None, 0),
        with(cell("allocated", "allocated",
                  [](const Table_&, const AllocEvent& e) { return Cell(e.allocated); }),
             Unit::Bytes, 2),
        cell("category", "category",
             [](const Table_& t, const AllocEvent& e) { return cellOrNull(t.text(e.category)); }),
        elided(cell("path", "range",
                    [](const Table_& t, const AllocEvent& e) { return cellOrNull(t.text(e.path)); })),
        elided(cell("op", "op", [](const Table_& t, const AllocEvent& e) { return cellOrNull(t.op(e.op)); }),
               1)};
    table.whyEmpty =
        whyNoEvents(snapshot->run, "allocation events (memory: true and a traced step record them)");
    return table;
}

Table tableOf(std::shared_ptr<const query::MemoryGroupsTable> groups)
{
    using Row = query::MemoryGroupRow;
    Table table{.heading = describeRun(groups->run), .rows = groups->rows.size()};
    table.columns = {
        elided(
            column(groups, "key", titleOf(groups->grouping), [](const Row& row) { return cellOf(row.key); })),
        with(column(groups, "at_peak", "at peak", [](const Row& row) { return cellOf(row.atPeak); }),
             Unit::Bytes, 2),
        with(column(groups, "max", "max", [](const Row& row) { return cellOf(row.max); }), Unit::Bytes),
        column(groups, "allocations", "allocations", [](const Row& row) { return Cell(row.allocations); })};
    table.whyEmpty =
        whyNoEvents(groups->run, "allocation events (memory: true and a traced step record them)");
    if (groups->peak)
        table.notes.push_back(
            "Peak on " + deviceText(groups->device) + ": " +
            withUnit(static_cast<double>(groups->allocated.count), Unit::Bytes) + " allocated, " +
            withUnit(static_cast<double>(groups->reserved.count), Unit::Bytes) + " reserved, " +
            withUnit(static_cast<double>((*groups->peak - groups->origin).count()), Unit::Nanoseconds) +
            " after the first event; the rows add up to it.");
    return table;
}

Table tableOf(std::shared_ptr<const query::LiveMemoryTable> live)
{
    const auto cell = [&live](std::string key, std::string title, auto get) {
        return Column{
            .key = std::move(key), .title = std::move(title), .cell = [live, get](std::size_t row) -> Cell {
                return get(live->from, live->from.events[live->blocks[row].event]);
            }};
    };
    using Events = query::MemoryEventsTable;
    Table table{.heading = describeRun(live->from.run) + "; live allocations", .rows = live->blocks.size()};
    table.columns = {
        with(cell("bytes", "bytes", [](const Events&, const AllocEvent& e) { return Cell(e.bytes); }),
             Unit::Bytes, 2),
        cell("category", "category",
             [](const Events& t, const AllocEvent& e) { return cellOrNull(t.text(e.category)); }),
        elided(cell("path", "range",
                    [](const Events& t, const AllocEvent& e) { return cellOrNull(t.text(e.path)); })),
        elided(cell("op", "op", [](const Events& t, const AllocEvent& e) { return cellOrNull(t.op(e.op)); }),
               1),
        with(cell("t_ns", "since",
                  [](const Events& t, const AllocEvent& e) { return cellOf(e.time - t.origin); }),
             Unit::Nanoseconds, 1),
        with(cell("address", "address",
                  [](const Events&, const AllocEvent& e) {
                      return Cell(static_cast<std::int64_t>(e.address));
                  }),
             Unit::Address, 0),
        with(cell("device", "device",
                  [](const Events&, const AllocEvent& e) { return cellOf(deviceText(e.device)); }),
             Unit::None, 0)};
    if (live->from.events.empty()) {
        table.whyEmpty =
            whyNoEvents(live->from.run, "allocation events (memory: true and a traced step record them)");
        return table;
    }
    table.whyEmpty = "No allocation of the trace is live at that moment.";
    table.notes.push_back(
        "At " + withUnit(static_cast<double>((live->at - live->from.origin).count()), Unit::Nanoseconds) +
        " after the first event " + deviceText(live->device) + " has " +
        withUnit(static_cast<double>(live->allocated.count), Unit::Bytes) + " allocated, " +
        withUnit(static_cast<double>(live->untraced.count), Unit::Bytes) + " of it since before the trace.");
    return table;
}

} // namespace tilescope::exchange
