#include "core/exchange/sections.h"

#include "core/exchange/number.h"
#include "core/exchange/section_parts.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

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
        columns.push_back(with(
            column(kernels, "family", "family", [](const Row& row) { return cellOf(wordOf(row.family)); }),
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
        with(column(kernels, "avg_ns", "avg", [](const Row& row) { return cellOf(row.average()); }),
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

} // namespace tilescope::exchange
