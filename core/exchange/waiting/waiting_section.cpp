#include "core/exchange/waiting/waiting_section.h"

#include "core/base/plural.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/waiting/waiting_columns.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

namespace tilescope::exchange {

namespace {

using query::CodeLine;
using query::WaitingGroup;
using query::WaitingRow;

constexpr double kMuchLate = 0.02;

std::string percent(double share)
{
    return quantity::threeDigits(100 * share) + " %";
}

std::string timeText(double time)
{
    return quantity::withUnit(time, quantity::Unit::Nanoseconds);
}

std::vector<std::string> waitingNotes(const query::WaitingTable& waiting)
{
    std::vector<std::string> notes{idleSentence(waiting)};
    if (std::string lead = leadSentence(waiting); !lead.empty())
        notes.push_back(std::move(lead));
    if (std::string peers = peerSentence(waiting); !peers.empty())
        notes.push_back(std::move(peers));
    for (std::string& sentence : waiting.choice.notes())
        notes.push_back(std::move(sentence));
    if (waiting.group == WaitingGroup::Place || waiting.group == WaitingGroup::Thread)
        notes.push_back("The times are exact and add up to the idle time: the time between two launches of a "
                        "thread while "
                        "the GPU had no work.");
    else
        notes.push_back(
            "The times add up to the idle time, by " + counted(waiting.samples, "sample") +
            "; 95 % intervals are of sampling and late samples. Without an interval a time is exact.");
    if (waiting.lateShare > kMuchLate)
        notes.push_back(
            "The cores were full: " + percent(waiting.lateShare) +
            " of the samples came late, so that shares of code that computes may be too small by as much.");
    return notes;
}

} // namespace

std::string lineText(const std::optional<CodeLine>& line)
{
    if (!line)
        return {};
    return line->line > 0 ? line->file + ":" + std::to_string(line->line) : line->file;
}

std::string idleSentence(const query::WaitingTable& waiting)
{
    const auto per = [&](Nanoseconds time) { return timeText(waiting.perGpuStep(time)); };
    const Nanoseconds whole = waiting.idle + waiting.busy;
    std::string text =
        std::string(waiting.gpus.size() > 1 ? "The GPUs were" : "The GPU was") + " idle for " +
        per(waiting.idle) + " of " + per(whole) + (waiting.steps > 0 ? " a step, " : ", ") +
        percent(static_cast<double>(waiting.idle.count()) / static_cast<double>(whole.count()));
    if (waiting.gpus.size() > 1) {
        const auto [least, most] = std::ranges::minmax_element(
            waiting.gpus, {}, [](const query::GpuIdle& gpu) { return gpu.perStep(gpu.idle); });
        text += ", in the mean of " + std::to_string(waiting.gpus.size()) + ": from " +
                timeText(least->perStep(least->idle)) + " (" + least->title + ") to " +
                timeText(most->perStep(most->idle)) + " (" + most->title + ")";
    }
    return text + ".";
}

std::string leadSentence(const query::WaitingTable& waiting)
{
    if (waiting.lead.launches == 0)
        return {};
    return "A launch was " + timeText(static_cast<double>(waiting.lead.mean().count())) +
           " ahead of its work on average; the host needs " +
           timeText(waiting.perProcessStep(waiting.lead.work)) + (waiting.steps > 0 ? " a step" : "") +
           " from the first launch to the last, without waiting for a GPU." +
           (waiting.isHostBoundNext() ? " That is more than the GPU's work: host-bound next." : "");
}

std::string peerSentence(const query::WaitingTable& waiting)
{
    constexpr std::size_t kMost = 3;
    if (waiting.peers.empty())
        return {};
    std::string text;
    for (std::size_t i = 0; i < std::min(kMost, waiting.peers.size()); ++i) {
        const query::PeerWait& wait = waiting.peers[i];
        text += (i == 0 ? "Within collectives, " : ", ") + wait.title + " waits for " + wait.last + " for " +
                timeText(wait.perStep());
        if (wait.steps > 0)
            text += i == 0 ? " a step (in " + std::to_string(wait.waitsIn) + " of " +
                                 counted(wait.steps, "step") + ")"
                           : "";
    }
    if (waiting.peers.size() > kMost)
        text += " and others less";
    const query::PeerWait& longest = waiting.peers.front();
    text += longest.isOnHost ? ", in calls of the host."
                             : "; a GPU that waits so is busy: this is not part of the idle time.";
    // What the late process does is among the rows, unless those are of another one.
    const auto own = std::ranges::find_if(waiting.rows, [&](const WaitingRow& row) {
        return row.line && row.rank && row.rank == longest.lastRank;
    });
    if (own != waiting.rows.end())
        text += " The costliest line of " + longest.last + " is " + lineText(own->line) + ".";
    else if (longest.lastRank)
        text +=
            " What that one does meanwhile: show waiting --rank " + std::to_string(*longest.lastRank) + ".";
    return text;
}

std::string causesSentence(const query::WaitingTable& waiting)
{
    constexpr std::size_t kMost = 3;
    constexpr double kLeast = 0.05; // of the idle time
    std::string text;
    std::map<std::string, Nanoseconds> causes; // of all processes
    for (const WaitingRow& row : waiting.rows)
        causes[row.cause] += row.idle;
    std::vector<std::pair<Nanoseconds, std::string>> order;
    for (const auto& [cause, time] : causes)
        order.emplace_back(time, cause);
    std::ranges::sort(order, std::greater{});
    for (std::size_t i = 0; i < std::min(kMost, order.size()); ++i) {
        const auto& [time, cause] = order[i];
        if (i > 0 && static_cast<double>(time.count()) < kLeast * static_cast<double>(waiting.idle.count()))
            break;
        const std::string words = timeText(waiting.perGpuStep(time));
        std::string name = titleOfCause(cause);
        if (i > 0 && name != "Python" && !name.starts_with("C and") && !name.starts_with("CUDA"))
            name.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(name.front())));
        text += i == 0 ? name + " takes " + words + " of it" : ", " + name + " " + words;
    }
    return text + ".";
}

std::string titleOfCause(std::string_view cause)
{
    std::string title(cause);
    std::ranges::replace(title, '-', ' ');
    if (title == "gil")
        return "Waiting for the GIL";
    if (title == "cuda calls")
        return "CUDA calls";
    if (title == "off core")
        return "Waiting off the core";
    if (title == "other ranks")
        return "Waiting for other ranks";
    if (title == "native")
        return "C and C++ code";
    if (!title.empty())
        title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
    return title;
}

Table tableOf(std::shared_ptr<const query::WaitingTable> waiting)
{
    const auto column = columnsOf(waiting);
    const WaitingColumns of(*waiting);
    const bool withLines = waiting->group == WaitingGroup::Line || waiting->group == WaitingGroup::Innermost;
    const bool isOfCode = withLines || waiting->group == WaitingGroup::Function;
    const bool isOfPlaces = waiting->group == WaitingGroup::Place;
    const bool isExact = isOfPlaces || waiting->group == WaitingGroup::Thread;
    const auto only = [&](const WaitingColumns::Of& one, Audience audience) {
        Column made = column(one);
        made.audience = audience;
        return made;
    };
    const auto peopleIf = [&](const WaitingColumns::Of& one, bool shown) {
        return only(one, shown ? Audience::Everyone : Audience::Programs);
    };
    const auto codeColumn = [&](std::string key, std::optional<CodeLine> WaitingRow::*line, auto get) {
        return column.programs(std::move(key), [line, get](const WaitingRow& row) {
            return row.*line ? get(*(row.*line)) : Cell();
        });
    };
    const auto file = [](const CodeLine& line) { return cellOrNull(line.file); };
    const auto number = [](const CodeLine& line) { return line.line > 0 ? Cell(line.line) : Cell(); };
    const auto function = [](const CodeLine& line) { return cellOrNull(line.function); };
    const bool hasRanks =
        std::ranges::any_of(waiting->rows, [](const WaitingRow& row) { return row.rank.has_value(); });
    Table table{.heading = describeRun(waiting->run) + "; by " + std::string(wordOf(waiting->group)) +
                           (waiting->span ? ", " + spanText(*waiting->span) : ""),
                .rows = waiting->rows.size()};
    table.columns = {
        column.programs("run", [run = waiting->run.run](const WaitingRow&) { return run.value; }),
        column("rank", "rank", &WaitingRow::rank,
               {.keep = 2, .audience = hasRanks ? Audience::Everyone : Audience::Programs}),
        column.programs("process", [](const WaitingRow& row) { return row.numbers.process; }),
        column.programs("pid", [](const WaitingRow& row) { return row.numbers.pid; }),
        peopleIf(of.cause, !isExact || waiting->rows.empty()),
        codeColumn("file", &WaitingRow::line, file),
        codeColumn("line", &WaitingRow::line, number),
        codeColumn("function", &WaitingRow::line, function),
        codeColumn("next_file", &WaitingRow::next, file),
        codeColumn("next_line", &WaitingRow::next, number),
        codeColumn("next_function", &WaitingRow::next, function)};
    if (waiting->isOfSeveral() && !hasRanks)
        table.columns.push_back(only(of.process, Audience::People));
    if (isOfCode || isOfPlaces) {
        table.columns.push_back(only(of.line, Audience::People));
        if (!withLines)
            table.columns.back().title = isOfPlaces ? "from" : "file";
    }
    if (isOfPlaces)
        table.columns.push_back(
            column.people("to", [](const WaitingRow& row) { return cellOrNull(lineText(row.next)); },
                          {.keep = 2, .elidable = true}));
    if (isOfCode || isOfPlaces) {
        table.columns.push_back(only(of.function, Audience::People));
        table.columns.back().elidable = true;
    }
    table.columns.push_back(peopleIf(of.thread, isExact));
    table.columns.push_back(only(of.idle, Audience::People));
    for (Column& each : std::vector<Column>{column.programs("steps", &WaitingRow::steps),
                                            column.programs("idle_ns", &WaitingRow::idle), column(of.share),
                                            column.programs("interval_ns", [](const WaitingRow& row) {
                                                return row.interval ? Cell(*row.interval) : Cell();
                                            })})
        table.columns.push_back(std::move(each));
    if (!isExact)
        table.columns.push_back(only(of.interval, Audience::People));
    table.columns.push_back(peopleIf(of.samples, !isExact));
    for (const WaitingColumns::Of* exact : {&of.count, &of.most, &of.median, &of.longest})
        table.columns.push_back(peopleIf(*exact, isExact));
    table.columns.push_back(peopleIf(of.work, isOfPlaces));
    const bool hasCalls =
        std::ranges::any_of(waiting->rows, [](const WaitingRow& row) { return !row.calls.empty(); });
    table.columns.push_back(peopleIf(of.calls, waiting->group == WaitingGroup::Cause && hasCalls));
    table.whyEmpty = waiting->whyEmpty;
    if (table.rows > 0)
        table.notes = waitingNotes(*waiting);
    return table;
}

} // namespace tilescope::exchange
