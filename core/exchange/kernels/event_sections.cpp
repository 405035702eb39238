#include "core/exchange/tables/sections.h"

#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/exchange/kernels/kernel_columns.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"

#include <algorithm>
#include <map>
#include <string>

namespace tilescope::exchange {

namespace {

/// "By type: 20 train steps, mean 12.3 ms, GPU busy 80.1 %; 5 validation steps, mean 3.1 ms, GPU busy 95.3 %." Outliers are
/// left out. Empty: all steps are of one type.
std::string typesText(const query::StepsTable& steps)
{
    struct OfType {
        std::int64_t count = 0;
        Nanoseconds wall{0};
        Nanoseconds busy{0};
    };
    std::map<StepType, OfType> types;
    for (const query::StepRow& row : steps.rows) {
        if (!row.leftOut.empty() && row.leftOut != "is of type " + std::string(wordOf(row.type)))
            continue;
        OfType& type = types[row.type];
        ++type.count;
        type.wall += row.partition.wall.length();
        type.busy += row.partition.gpuBusy;
    }
    if (types.size() < 2)
        return {};
    std::string text = "By type: ";
    for (const auto& [type, sum] : types) {
        const auto wall = static_cast<double>(sum.wall.count());
        text += (text.ends_with(": ") ? "" : "; ") + steps.choice.counted(sum.count, wordOf(type)) +
                ", mean " +
                quantity::withUnit(wall / static_cast<double>(sum.count), quantity::Unit::Nanoseconds);
        if (wall > 0 && sum.busy.count() > 0)
            text += ", GPU busy " + quantity::withUnit(100 * static_cast<double>(sum.busy.count()) / wall,
                                                       quantity::Unit::Percent);
    }
    return text + ".";
}

} // namespace

namespace {

std::string percentText(Nanoseconds part, Nanoseconds whole)
{
    const double percent = 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
    return scaleFor(Unit::Percent, percent).text(percent) + " %";
}

} // namespace

Table tableOf(std::shared_ptr<const query::KernelsTable> kernels)
{
    const auto column = columnsOf(kernels);
    const KernelColumns of;
    const bool byName = kernels->grouping == query::Grouping::Name;
    const std::string group = titleOf(kernels->grouping);
    Table table{.heading = describeRun(kernels->run) + "; " + coverageOf(kernels->run, kernels->span),
                .rows = kernels->rows.size()};
    if (byName)
        table.columns = {column(of.name), column(of.shortName), column(of.family)};
    else
        table.columns = {column(group, group, &query::KernelRow::key, {.keep = 2, .elidable = true}),
                         column(of.kernels)};
    for (const auto* each : {&of.instances, &of.steps, &of.instancesPerStep, &of.total, &of.mean,
                             &of.shortest, &of.longest, &of.percent})
        table.columns.push_back(column(*each));
    if (byName)
        table.columns.push_back(column(of.does));

    const std::string run = std::to_string(kernels->run.run.value);
    if (kernels->events == 0)
        table.whyEmpty =
            isCpuRun(kernels->run)
                ? "Run " + run +
                      " ran on the CPU, where there are no kernels but ops: tilescope show FILE ops."
                : whyNoActivities(kernels->run, "kernels");
    else
        table.whyEmpty = "None of the run's " + counted(kernels->events, "device event") + " is selected.";
    if (kernels->outsideSteps > 0)
        table.notes.push_back(counted(kernels->outsideSteps, "device event between steps is",
                                      "device events between steps are") +
                              " not counted.");
    return table;
}

Table tableOf(std::shared_ptr<const query::StepsTable> steps)
{
    using Row = query::StepRow;
    using analysis::StepPartition;
    const auto column = columnsOf(steps);
    const auto part = [&column](std::string key, std::string title, Nanoseconds StepPartition::*member) {
        return column(std::move(key), std::move(title),
                      [member](const Row& row) {
                          return row.onGpu ? std::optional(row.partition.*member) : std::nullopt;
                      },
                      {.unitGroup = 1});
    };
    Table table{.rows = steps->rows.size()};
    table.columns = {column("run", "run", [](const Row& row) { return row.run.value; }),
                     column("step", "step", &Row::step), column.programs("rank", &Row::rank)};
    addProcessNumbers<Row>(table, column);
    if (steps->hasProcesses)
        table.columns.push_back(column("process", "process", &Row::process, {.audience = Audience::People}));
    for (Column& each : std::vector<Column>{
             column("wall_ns", "wall", [](const Row& row) { return row.partition.wall.length(); },
                    {.keep = 2, .unitGroup = 1}),
             part("gpu_busy_ns", "GPU busy", &StepPartition::gpuBusy),
             part("idle_launch_ns", "idle: launching", &StepPartition::launching),
             part("sync_ns", "idle: sync", &StepPartition::synchronizing),
             part("overhead_ns", "idle: tracing", &StepPartition::tracing),
             part("unexplained_ns", "unexplained", &StepPartition::unexplained),
             column("verdict", "verdict", [](const Row& row) { return wordOf(row.verdict()); },
                    {.keep = 2, .meaning = Meaning::Verdict}),
             column.programs("type", [](const Row& row) { return std::string(wordOf(row.type)); }),
             column.programs("source", [](const Row& row) { return cellOrNull(row.source); }),
             column.programs("typical", [](const Row& row) { return row.leftOut.empty(); }),
             column("why", "why",
                    [](const Row& row) {
                        if (!row.leftOut.empty())
                            return cellOf("not typical: " + row.leftOut);
                        if (row.unrecorded > Nanoseconds(0))
                            return cellOf("for " +
                                          quantity::withUnit(static_cast<double>(row.unrecorded.count()),
                                                             quantity::Unit::Nanoseconds) +
                                          " the GPU works on, or waits for, what was not recorded");
                        if (row.verdict() == analysis::StepVerdict::Unjudged)
                            return cellOf("activities of the step are missing or have impossible times");
                        if (!row.onGpu)
                            return Cell();
                        return cellOf(explain(row.partition) +
                                      (row.hostDecides     ? ", but its work waits for the launches"
                                       : row.waitsForData  ? ", most of it to load data"
                                       : row.waitsForRanks ? ", but collectives wait for other ranks"
                                                           : ""));
                    },
                    {.keep = 0, .elidable = true})})
        table.columns.push_back(std::move(each));
    table.whyEmpty = !steps->last  ? "The file has no runs."
                     : steps->span ? "No traced step lies in the time span."
                                   : whyNoSteps(*steps->last);
    if (steps->span)
        table.notes.push_back("Only the parts of steps " + spanText(*steps->span) +
                              " after the first event.");
    if (std::any_of(steps->rows.begin(), steps->rows.end(), [](const Row& row) { return row.onGpu; }))
        table.notes.push_back("Traced steps; GPU busy and the four kinds of idle add up to the wall.");
    for (std::string& sentence : steps->choice.notes())
        table.notes.push_back(std::move(sentence));
    if (std::string types = typesText(*steps); !types.empty())
        table.notes.push_back(std::move(types));
    if (steps->start)
        table.notes.push_back(steps->start->text());
    return table;
}

Table tableOf(std::shared_ptr<const query::OpsTable> ops)
{
    Table table{.heading = describeRun(ops->run) + "; " + coverageOf(ops->run, ops->span) + ", host time",
                .rows = ops->rows.size()};
    const auto column = columnsOf(ops);
    const std::string group = titleOf(ops->grouping);
    const OpColumns of;
    table.columns = {
        column(group, group == "name" ? "op" : group, &query::KernelRow::key, {.keep = 2, .elidable = true}),
        column(KernelColumns().instances),
        column(of.total),
        column(of.self),
        column(of.mean),
        column(of.percent)};
    if (ops->events > 0)
        table.whyEmpty = "None of the run's " + counted(ops->events, "op") + " is selected.";
    else if (!isCpuRun(ops->run) && !ops->run.coversRecording() && ops->run.result.status == RunStatus::Ok)
        table.whyEmpty = "Run " + std::to_string(ops->run.run.value) +
                         " recorded no ops: on a GPU they are recorded with trace: full.";
    else
        table.whyEmpty = whyNoEvents(ops->run, "ops");
    return table;
}

Table tableOf(std::shared_ptr<const query::RangesTable> ranges)
{
    const bool isWhole = ranges->scope == analysis::RangeScope::Recording;
    Table table{.heading = describeRun(ranges->run) + "; " +
                           (ranges->span ? spanText(*ranges->span)
                            : isWhole    ? "whole recording"
                                         : "traced steps"),
                .rows = ranges->rows.size()};
    const auto column = columnsOf(ranges);
    const RangeColumns of(ranges->hasGpu);
    table.columns = {column(of.path), column(of.instances), column(of.wall), column(of.gpu),
                     column(of.percent)};
    table.whyEmpty = ranges->paths > 0 ? "No range of the run matches."
                     : ranges->span    ? "No range lies in the time span."
                                       : whyNoEvents(ranges->run, "ranges");
    if (ranges->gpu.count() > 0)
        table.notes.push_back(percentText(ranges->gpuInModules, ranges->gpu) +
                              " of the GPU time is attributed to a module.");
    if (isWhole && table.rows > 0)
        table.notes.push_back("The recording has no steps: these are the ranges of all of it.");
    return table;
}

} // namespace tilescope::exchange
