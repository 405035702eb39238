#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/exchange/ranks/collective_columns.h"
#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

using Shared = std::shared_ptr<const query::RanksTable>;
using query::CollectiveRank;
using query::CollectiveRow;
using query::RankRow;

RawJson perRank(const CollectiveRow& row, const CollectiveRankColumns& of)
{
    return jsonList(row.ranks, [&of](const CollectiveRank& rank) {
        JsonObject figures;
        for (const auto* each :
             {&of.rank, &of.start, &of.duration, &of.wait, &of.exposed, &of.slack, &of.stall})
            figures.add(each->about.key, each->value(rank));
        figures.add("process", rank.numbers.process).add("pid", rank.numbers.pid);
        return figures.json();
    });
}

/// "3 of 4": recorded ranks of the group.
std::string ranksText(const CollectiveRow& row)
{
    return row.groupSize > 0
               ? std::to_string(row.groupSize - row.missingCount) + " of " + std::to_string(row.groupSize)
               : std::to_string(row.ranks.size());
}

bool hasSlack(const CollectiveRow& row)
{
    return row.tightest() != nullptr;
}

std::string headingOf(const query::RanksTable& ranks)
{
    return describeRun(ranks.run) + (ranks.span ? "; " + spanText(*ranks.span) : "");
}

/// Link: 450 GB/s in one direction (NVLink by NVML); a copy between two GPUs reached 383 GB/s.
std::string linkText(const query::LinkRate& link)
{
    const auto rate = [](double bytesPerSecond) { return withUnit(bytesPerSecond, Unit::BytesPerSecond); };
    std::string text = "Link: " + rate(link.bytesPerSecond) + " in one direction (" + link.source + ")";
    if (link.copied)
        text += "; a copy between two GPUs reached " + rate(*link.copied);
    return text + ".";
}

void addNotes(Table& table, const query::RanksTable& ranks)
{
    for (std::string sentence : {ranks.hostSentence(), ranks.groupSentence()})
        if (!sentence.empty())
            table.notes.push_back(std::move(sentence));
    if (ranks.incomplete > 0)
        table.notes.push_back(
            counted(ranks.incomplete, "collective was", "collectives were") +
            " not recorded on all ranks of the group: transfer may contain waiting for the others, "
            "and nobody is called late.");
    if (ranks.disjoint > 0)
        table.notes.push_back(
            counted(ranks.disjoint, "collective does", "collectives do") +
            " not overlap in time on all of its ranks: their clocks disagree, or the ranks recorded "
            "different numbers of collectives.");
    if (ranks.clockUncertainty)
        table.notes.push_back(
            "The clocks of the hosts are aligned within " +
            withUnit(static_cast<double>(ranks.clockUncertainty->count()), Unit::Nanoseconds) +
            "; smaller differences of start times say nothing.");
}

} // namespace

Table ranksOf(Shared ranks)
{
    using analysis::RankStep;
    const ColumnsOf column(ranks, ranks->rows);
    const auto part = [&column, isKnown = ranks->isComputeKnown](
                          std::string key, std::string title, Nanoseconds RankStep::*member, int keep = 1) {
        return column(std::move(key), std::move(title),
                      [member, isKnown](const RankRow& row) {
                          return isKnown ? std::optional(row.parts.*member) : std::nullopt;
                      },
                      {.keep = keep, .unitGroup = 1});
    };
    const bool hasPeaks =
        std::ranges::any_of(ranks->rows, [](const RankRow& row) { return row.peakAllocated.has_value(); });
    const Audience ifPeaks = hasPeaks ? Audience::Everyone : Audience::Programs;
    Table table{.heading = headingOf(*ranks), .rows = ranks->rows.size()};
    table.columns = {column.programs("run", [run = ranks->run.run](const RankRow&) { return run.value; }),
                     column.programs("rank", &RankRow::rank),
                     column("step", "step",
                            [](const RankRow& row) {
                                return row.step == kNoStep ? std::nullopt : std::optional(row.step);
                            },
                            {.keep = 2})};
    addProcessNumbers<RankRow>(table, column);
    if (ranks->rankCount > 1)
        table.columns.push_back(column.people("rank", &RankRow::title, {.keep = 2}));
    table.columns.push_back(
        column("host", "on host", [](const RankRow& row) { return cellOrNull(row.host); },
               {.audience = ranks->hostCount > 1 ? Audience::Everyone : Audience::Programs}));
    for (Column& each : std::vector<Column>{
             column.programs("start_ns", [origin = ranks->run.clockOrigin](
                                             const RankRow& row) { return row.parts.wall.start - origin; }),
             column("wall_ns", "wall", [](const RankRow& row) { return row.parts.wall.length(); },
                    {.keep = 2, .unitGroup = 1}),
             part("compute_ns", "compute", &RankStep::compute),
             part("overlapped_ns", "with communication", &RankStep::overlapped, 0),
             part("exposed_communication_ns", "exposed communication", &RankStep::exposedCommunication, 2),
             part("exposed_copy_ns", "exposed copies", &RankStep::exposedCopies),
             part("host_ns", "host", &RankStep::host), part("idle_ns", "idle", &RankStep::idle),
             column("peak_allocated", "peak allocated", &RankRow::peakAllocated, {.audience = ifPeaks}),
             column("late_ns", "late", &RankRow::late, {.unitGroup = 1}),
             column("last", "last",
                    [](const RankRow& row) { return row.late ? std::optional(row.isLast) : std::nullopt; },
                    {.audience = Audience::Programs}),
             column.people("last", [](const RankRow& row) { return row.isLast ? "last" : ""; }),
             column.programs("typical", [](const RankRow& row) { return row.leftOut.empty(); }),
             column.programs("why", [](const RankRow& row) { return cellOrNull(row.leftOut); })})
        table.columns.push_back(std::move(each));
    table.whyEmpty = ranks->rowsOfRun > 0
                         ? "None of the run's " + counted(ranks->rowsOfRun, "row") + " is selected."
                         : whyNoSteps(ranks->run);
    if (table.rows > 0) {
        table.notes = {
            ranks->isComputeKnown
                ? "Compute, exposed communication, exposed copies, host and idle add up to the wall."
                : "Neither kernels nor ops were recorded, so that compute and idle time are unknown: record "
                  "with --ops.",
            ranks->sentence()};
        if (ranks->rows.front().step == kNoStep)
            table.notes.push_back("The recording has no steps: these are the parts of all of it.");
        addNotes(table, *ranks);
    }
    return table;
}

Table collectivesOf(Shared ranks)
{
    const ColumnsOf column(ranks, ranks->collectives);
    const CollectiveColumns of(*ranks);
    Table table{.heading = headingOf(*ranks), .rows = ranks->collectives.size()};
    const bool showsSlack = std::ranges::any_of(ranks->collectives, hasSlack);
    const auto shownIf = [&column](bool isShown, const ColumnOf<CollectiveRow>& definition) {
        Column made = column(definition);
        made.audience = isShown ? Audience::Everyone : Audience::Programs;
        return made;
    };
    table.columns = {
        column.programs("run", [run = ranks->run.run](const CollectiveRow&) { return run.value; }),
        column(of.step),
        column(of.sequence),
        shownIf(ranks->hasSeveralGroups(), of.group),
        column(of.op),
        column(of.bytes),
        column.programs("ranks",
                        [](const CollectiveRow& row) {
                            return row.groupSize > 0 ? std::optional(row.groupSize) : std::nullopt;
                        }),
        column.people("ranks", ranksText, {.keep = 0}),
        column.programs("missing_ranks",
                        [](const CollectiveRow& row) {
                            return jsonList(row.missing, [](std::int32_t rank) { return rank; });
                        }),
        column.programs("missing_count", &CollectiveRow::missingCount),
        column(of.transfer),
        column.programs("late_rank", &CollectiveRow::lastRank),
        column(of.last),
        column(of.late),
        column(of.wait),
        column(of.algorithmRate),
        column(of.busRate),
        shownIf(ranks->link.has_value(), of.linkPercent),
        column(of.exposed),
        column(of.overlapped),
        shownIf(showsSlack, of.slack),
        shownIf(showsSlack, of.stall),
        column.programs(
            "slack_rank",
            [](const CollectiveRow& row) { return hasSlack(row) ? row.tightest()->rank : std::nullopt; }),
        column.programs("slack_rule",
                        [](const CollectiveRow& row) {
                            return hasSlack(row) ? cellOf(wordOf(row.tightest()->slack->rule)) : Cell();
                        }),
        column.programs("needed_by",
                        [](const CollectiveRow& row) {
                            return hasSlack(row) ? cellOf(row.tightest()->neededBy) : Cell();
                        }),
        column(of.range),
        column.programs("typical", [](const CollectiveRow& row) { return row.leftOut.empty(); }),
        column.programs("why", [](const CollectiveRow& row) { return cellOrNull(row.leftOut); }),
        column.programs("per_rank", [ofRank = CollectiveRankColumns(ranks->run.clockOrigin)](
                                        const CollectiveRow& row) { return perRank(row, ofRank); })};
    if (ranks->collectivesOfRun > 0)
        table.whyEmpty =
            "None of the run's " + counted(ranks->collectivesOfRun, "collective") + " is selected.";
    else if (ranks->rowsOfRun > 0)
        table.whyEmpty = "Run " + std::to_string(ranks->run.run.value) + " recorded no collectives.";
    else
        table.whyEmpty = whyNoEvents(ranks->run, "collectives");
    if (table.rows == 0)
        return table;
    table.notes = {"Transfer: the shortest of the ranks. Wait: sum over the ranks that started before the "
                   "last. Exposed and "
                   "overlapped: mean over the ranks.",
                   ranks->sentence()};
    if (showsSlack) {
        std::int64_t gathers = 0;
        std::int64_t stalls = 0;
        for (const CollectiveRow& row : ranks->collectives) {
            gathers += hasSlack(row) ? 1 : 0;
            stalls += hasSlack(row) && row.tightest()->slack->stall.count() > 0 ? 1 : 0;
        }
        table.notes.push_back(
            std::to_string(gathers - stalls) + " of " + counted(gathers, "all-gather") + " ended before " +
            (gathers == 1 ? "it was" : "they were") +
            " needed. Slack: from its end to the first kernel that needs it; stall: how long the "
            "kernel's stream stood still for it.");
    }
    if (ranks->link)
        table.notes.push_back(linkText(*ranks->link));
    addNotes(table, *ranks);
    return table;
}

} // namespace tilescope::exchange
