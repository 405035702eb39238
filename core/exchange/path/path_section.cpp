#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

using Paths = std::shared_ptr<const query::PathTable>;
using analysis::PathPart;
using query::PathRow;
using query::PathSegmentRow;

std::string whyNoPath(const query::PathTable& paths)
{
    return paths.rowsOfRun > 0
               ? "None of the run's " + counted(paths.rowsOfRun, "critical path") + " is selected."
               : whyNoEvents(paths.run, "steps, kernels or ops");
}

bool hasSteps(const query::PathTable& paths)
{
    return std::ranges::any_of(paths.rows, [](const PathRow& row) { return row.step.has_value(); });
}

/// What the recording lacks that a path is better with.
std::vector<std::string> pathNotesOf(const query::PathTable& paths)
{
    std::vector<std::string> notes;
    if (!hasSteps(paths))
        notes.push_back("The recording has no steps: the path is that of all of it.");
    if (paths.onGpu && !paths.hasCalls)
        notes.push_back("The recording holds no CUDA calls: what the host waits for is unknown.");
    if (paths.onGpu && !paths.hasOps)
        notes.push_back("The recording holds no ops: host time is named by module only.");
    if (paths.span)
        notes.push_back("Only the parts of paths " + spanText(*paths.span) + " after the first event.");
    if (!paths.rangeGlob.empty())
        notes.push_back("Only what the paths spend in ranges " + paths.rangeGlob + ".");
    return notes;
}

/// How much is unexplained, and what the recording lacks; empty if it is little.
std::string unexplainedText(const query::PathTable& paths)
{
    const analysis::PathParts sum = paths.typicalParts();
    const double all = static_cast<double>(sum.sum().count());
    const double share = all > 0 ? static_cast<double>(sum[PathPart::Unexplained].count()) / all : 0;
    if (share < query::kMuchUnexplained)
        return {};
    std::string text =
        quantity::withUnit(100 * share, quantity::Unit::Percent) + " of the paths is unexplained: ";
    const std::string unrecorded = paths.unrecorded * 20 < sum[PathPart::Unexplained]
                                       ? std::string()
                                       : "for " +
                                             quantity::withUnit(static_cast<double>(paths.unrecorded.count()),
                                                                quantity::Unit::Nanoseconds) +
                                             " the GPU works on, or waits for, what was not recorded";
    const std::string launches = paths.withoutLaunch == 0
                                     ? std::string()
                                     : "the launches of " + std::to_string(paths.withoutLaunch) + " of " +
                                           std::to_string(paths.activities) +
                                           " activities of the GPU were not recorded";
    if (!unrecorded.empty() || !launches.empty())
        return text + unrecorded + (unrecorded.empty() || launches.empty() ? "" : "; ") + launches + ".";
    if (paths.onGpu && !paths.hasCalls)
        return text + "the recording holds no CUDA calls.";
    return text + "threads and streams begin, or wait, without a recorded cause.";
}

/// "Mean of 28 typical steps: 5.10 ms: compute 62 %, host 30 %, launch 8 %."; empty for fewer than `least`.
std::string meanText(const query::PathTable& paths, std::string_view kind, std::int64_t least,
                     const std::function<bool(const PathRow&)>& has)
{
    analysis::PathParts sum;
    std::int64_t steps = 0;
    for (const PathRow& row : paths.rows) {
        if (!row.step || !has(row))
            continue;
        ++steps;
        for (std::size_t i = 0; i < analysis::kPathParts; ++i)
            sum[static_cast<PathPart>(i)] += row.parts[static_cast<PathPart>(i)];
    }
    if (steps < least || sum.sum().count() == 0)
        return {};
    std::vector<std::pair<Nanoseconds, PathPart>> parts;
    for (std::size_t i = 0; i < analysis::kPathParts; ++i)
        parts.emplace_back(sum[static_cast<PathPart>(i)], static_cast<PathPart>(i));
    std::ranges::sort(parts, std::greater{});
    const auto whole = static_cast<double>(sum.sum().count());
    std::string text = "Mean of " + paths.choice.counted(steps, kind) + ": " +
                       quantity::withUnit(whole / static_cast<double>(steps), quantity::Unit::Nanoseconds) +
                       ": ";
    for (const auto& [time, part] : parts)
        if (const double percent = 100 * static_cast<double>(time.count()) / whole; percent >= 1)
            text += (text.ends_with(": ") ? "" : ", ") + std::string(wordOf(part)) + " " +
                    quantity::withUnit(percent, quantity::Unit::Percent);
    return text + ".";
}

/// The mean of the typical steps, and of the steps of each other type.
std::vector<std::string> meanTexts(const query::PathTable& paths)
{
    std::vector<std::string> texts;
    const auto add = [&texts](std::string text) {
        if (!text.empty())
            texts.push_back(std::move(text));
    };
    add(meanText(paths, paths.choice.leftOut.empty() ? "" : "typical", 2,
                 [](const PathRow& row) { return row.leftOut.empty(); }));
    for (const StepType type : {StepType::Train, StepType::Validation, StepType::Prefill, StepType::Decode})
        add(meanText(paths, wordOf(type), 1, [&](const PathRow& row) {
            return row.leftOut == "is of type " + std::string(wordOf(type));
        }));
    return texts;
}

/// A segment and the path that it belongs to.
struct Placed {
    const PathRow* path;
    const PathSegmentRow* segment;
};

} // namespace

Table pathsOf(Paths paths)
{
    const ColumnsOf column(paths, paths->rows);
    const auto part = [&column](std::string key, std::string title, PathPart which) {
        return column(std::move(key), std::move(title),
                      [which](const PathRow& row) { return row.parts[which]; }, {.unitGroup = 1});
    };
    Table table{.heading = describeRun(paths->run), .rows = paths->rows.size()};
    table.columns = {column.programs("run", [run = paths->run.run](const PathRow&) { return run.value; }),
                     column.programs("rank", &PathRow::rank),
                     column("step", "step", &PathRow::step, {.keep = 2})};
    addProcessNumbers<PathRow>(table, column);
    if (std::ranges::any_of(paths->rows, [](const PathRow& row) { return !row.title.empty(); }))
        table.columns.push_back(column.people("rank", &PathRow::title, {.keep = 2}));
    for (Column& each : std::vector<Column>{
             column.programs("start_ns", [origin = paths->run.clockOrigin](
                                             const PathRow& row) { return row.wall.start - origin; }),
             column("wall_ns", "wall", [](const PathRow& row) { return row.wall.length(); },
                    {.keep = 2, .unitGroup = 1}),
             part("host_ns", "host", PathPart::Host), part("launch_ns", "launch", PathPart::Launch),
             part("compute_ns", "compute", PathPart::Compute), part("memory_ns", "memory", PathPart::Memory),
             part("communication_ns", "communication", PathPart::Communication),
             part("data_loading_ns", "data loading", PathPart::DataLoading),
             part("synchronization_ns", "sync", PathPart::Synchronization),
             part("unexplained_ns", "unexplained", PathPart::Unexplained),
             column.programs("typical", [](const PathRow& row) { return row.leftOut.empty(); }),
             column.programs("why", [](const PathRow& row) { return cellOrNull(row.leftOut); }),
             column("bound", "most by", [](const PathRow& row) { return wordOf(row.parts.largest()); },
                    {.keep = 2})})
        table.columns.push_back(std::move(each));
    table.whyEmpty = whyNoPath(*paths);
    if (table.rows > 0) {
        table.notes = pathNotesOf(*paths);
        table.notes.insert(table.notes.begin(),
                           paths->rangeGlob.empty()
                               ? "The parts add up to the wall time."
                               : "The parts add up to the time of the path in the range.");
        for (std::string& mean : meanTexts(*paths))
            table.notes.push_back(std::move(mean));
        for (std::string& sentence : paths->choice.notes())
            table.notes.push_back(std::move(sentence));
        if (std::string sentence = unexplainedText(*paths); !sentence.empty())
            table.notes.push_back(std::move(sentence));
        if (hasSteps(*paths))
            table.notes.push_back("Segments of a path: --step N.");
    }
    return table;
}

Table pathSegmentsOf(Paths paths)
{
    auto rows = std::make_shared<std::vector<Placed>>();
    for (const PathRow& path : paths->rows)
        for (const PathSegmentRow& segment : path.segments)
            rows->push_back({&path, &segment});
    // The rows point into the paths, which they keep alive.
    const auto owner =
        std::make_shared<const std::pair<Paths, std::shared_ptr<std::vector<Placed>>>>(paths, rows);
    const ColumnsOf column(owner, *rows);
    const auto text = [](std::string PathSegmentRow::*member) {
        return [member](const Placed& row) { return cellOrNull(row.segment->*member); };
    };
    const bool hasRanks =
        std::ranges::any_of(*rows, [](const Placed& row) { return !row.segment->process.empty(); });
    Table table{.heading = describeRun(paths->run), .rows = rows->size()};
    table.columns = {
        column.programs("run", [run = paths->run.run](const Placed&) { return run.value; }),
        column.programs("step", [](const Placed& row) { return row.path->step; }),
        column.programs("path_rank", [](const Placed& row) { return row.path->rank; }),
        column.programs("start_ns",
                        [origin = paths->run.clockOrigin](const Placed& row) {
                            return row.path->wall.start - origin + row.segment->start;
                        }),
        column("offset_ns", "at", [](const Placed& row) { return row.segment->start; }, {.keep = 2}),
        column("duration_ns", "time", [](const Placed& row) { return row.segment->duration; }, {.keep = 2}),
        column("part", "part", [](const Placed& row) { return wordOf(row.segment->part); }, {.keep = 2}),
        column("name", "op, call or kernel", text(&PathSegmentRow::name), {.keep = 2, .elidable = true}),
        column("family", "family", text(&PathSegmentRow::family), {.keep = 0}),
        column("module", "module", text(&PathSegmentRow::module), {.elidable = true}),
        column("lane", "on", text(&PathSegmentRow::lane)),
        column.programs("rank", [](const Placed& row) { return row.segment->rank; }),
        column("cause", "after",
               [](const Placed& row) {
                   return row.segment->cause ? Cell(std::string(wordOf(*row.segment->cause))) : Cell();
               },
               {.keep = 0})};
    if (hasRanks)
        table.columns.push_back(column.people("rank", text(&PathSegmentRow::process)));
    table.whyEmpty = whyNoPath(*paths);
    if (table.rows > 0)
        table.notes = pathNotesOf(*paths);
    return table;
}

} // namespace tilescope::exchange
