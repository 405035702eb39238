#include "core/exchange/waiting_section.h"

#include "core/base/plural.h"
#include "core/exchange/section_parts.h"
#include "core/exchange/sections.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

using query::CodeLine;
using query::WaitingGroup;
using query::WaitingRow;

constexpr double kMuchLate = 0.02;

std::string lineText(const std::optional<CodeLine>& line)
{
    if (!line)
        return {};
    return line->line > 0 ? line->file + ":" + std::to_string(line->line) : line->file;
}

std::string percent(double share)
{
    return quantity::threeDigits(100 * share) + " %";
}

/// The GPU was idle for 64.5 of 75.0 ms a step, 86.0 %.
std::string idleSentence(const query::WaitingTable& waiting)
{
    const auto per = [&](Nanoseconds time) {
        return quantity::withUnit(static_cast<double>(time.count()) /
                                      static_cast<double>(std::max<std::int64_t>(waiting.steps, 1)),
                                  quantity::Unit::Nanoseconds);
    };
    const Nanoseconds whole = waiting.idle + waiting.busy;
    return "The GPU was idle for " + per(waiting.idle) + " of " + per(whole) +
           (waiting.steps > 0 ? " a step, " : ", ") +
           percent(static_cast<double>(waiting.idle.count()) / static_cast<double>(whole.count())) + ".";
}

std::string whyNothingWaits(const query::WaitingTable& waiting)
{
    const std::string run = "Run " + std::to_string(waiting.run.run.value);
    if (!waiting.hasStacks)
        return run + " holds no stacks of Python at launches" +
               (waiting.recorded.empty()
                    ? ": `tilescope record --host-samples 500` keeps them of Python programs that use a GPU."
                    : ": " + waiting.recorded + ".");
    return waiting.hasStep ? "The GPU was never idle." : run + " has no such step.";
}

std::vector<std::string> waitingNotes(const query::WaitingTable& waiting)
{
    std::vector<std::string> notes{idleSentence(waiting)};
    for (std::string& sentence : waiting.choice.notes())
        notes.push_back(std::move(sentence));
    if (waiting.group == WaitingGroup::Place || waiting.group == WaitingGroup::Thread)
        notes.push_back("The times are exact and add up to the idle time: the time between two launches of a "
                        "thread while "
                        "the GPU had no work.");
    else
        notes.push_back("The times add up to the idle time, by " + counted(waiting.samples, "sample") +
                        "; 95 % intervals are of sampling alone. Without an interval a time is exact.");
    if (waiting.lateShare > kMuchLate)
        notes.push_back(
            "The cores were full: " + percent(waiting.lateShare) +
            " of the samples came late, so that shares of code that computes may be too small by as much.");
    return notes;
}

} // namespace

Table tableOf(std::shared_ptr<const query::WaitingTable> waiting)
{
    const auto column = columnsOf(waiting);
    const bool isOfCode = waiting->group == WaitingGroup::Line || waiting->group == WaitingGroup::Function;
    const bool isOfPlaces = waiting->group == WaitingGroup::Place;
    const bool isExact = isOfPlaces || waiting->group == WaitingGroup::Thread;
    const auto codeColumn = [&](std::string key, std::optional<CodeLine> WaitingRow::*line, auto get) {
        return column.programs(std::move(key), [line, get](const WaitingRow& row) {
            return row.*line ? get(*(row.*line)) : Cell();
        });
    };
    const auto file = [](const CodeLine& line) { return cellOrNull(line.file); };
    const auto number = [](const CodeLine& line) { return line.line > 0 ? Cell(line.line) : Cell(); };
    const auto function = [](const CodeLine& line) { return cellOrNull(line.function); };
    const auto onlyFor = [](bool everyone) { return everyone ? Audience::Everyone : Audience::Programs; };
    const bool hasRanks =
        std::ranges::any_of(waiting->rows, [](const WaitingRow& row) { return row.rank.has_value(); });
    Table table{.heading = describeRun(waiting->run) + "; by " + std::string(wordOf(waiting->group)),
                .rows = waiting->rows.size()};
    table.columns = {
        column.programs("run", [run = waiting->run.run](const WaitingRow&) { return run.value; }),
        column("rank", "rank", &WaitingRow::rank, {.keep = 2, .audience = onlyFor(hasRanks)}),
        column("cause", "cause", [](const WaitingRow& row) { return cellOrNull(row.cause); },
               {.keep = 2, .audience = onlyFor(!isExact || waiting->rows.empty())}),
        codeColumn("file", &WaitingRow::line, file),
        codeColumn("line", &WaitingRow::line, number),
        codeColumn("function", &WaitingRow::line, function),
        codeColumn("next_file", &WaitingRow::next, file),
        codeColumn("next_line", &WaitingRow::next, number),
        codeColumn("next_function", &WaitingRow::next, function)};
    const auto people = [&](std::string title, auto get) {
        table.columns.push_back(column.people(std::move(title), get, {.keep = 2, .elidable = true}));
    };
    if (isOfCode || isOfPlaces)
        people(isOfPlaces                             ? "from"
               : waiting->group == WaitingGroup::Line ? "line"
                                                      : "file",
               [](const WaitingRow& row) { return cellOrNull(lineText(row.line)); });
    if (isOfPlaces)
        people("to", [](const WaitingRow& row) { return cellOrNull(lineText(row.next)); });
    if (isOfCode || isOfPlaces)
        people("function",
               [](const WaitingRow& row) { return row.line ? cellOrNull(row.line->function) : Cell(); });
    for (Column& each : std::vector<Column>{
             column("thread", "thread", [](const WaitingRow& row) { return cellOrNull(row.thread); },
                    {.audience = onlyFor(isExact)}),
             column("idle_ns", "idle", &WaitingRow::idle, {.keep = 2}),
             column("idle_percent", "of the idle time", [](const WaitingRow& row) { return 100 * row.share; },
                    {.unit = Unit::Percent, .keep = 2, .shortTitle = "share"}),
             column.programs("interval_ns", [](const WaitingRow& row) {
                 return row.interval ? Cell(*row.interval) : Cell();
             })})
        table.columns.push_back(std::move(each));
    if (!isExact)
        table.columns.push_back(column.people("95 %", [](const WaitingRow& row) -> Cell {
            if (!row.interval || row.idle.count() <= 0)
                return {};
            const double one = row.share / static_cast<double>(row.idle.count());
            return percent(row.interval->low * one) + " to " + percent(row.interval->high * one);
        }));
    for (Column& each : std::vector<Column>{
             column("samples", "samples", &WaitingRow::samples, {.audience = onlyFor(!isExact)}),
             column("count", "times", &WaitingRow::count, {.audience = onlyFor(isExact)}),
             column("median_ns", "median", &WaitingRow::median, {.audience = onlyFor(isExact)}),
             column("longest_ns", "longest", &WaitingRow::longest, {.audience = onlyFor(isExact)})})
        table.columns.push_back(std::move(each));
    table.whyEmpty = whyNothingWaits(*waiting);
    if (table.rows > 0)
        table.notes = waitingNotes(*waiting);
    return table;
}

} // namespace tilescope::exchange
