// What the tables of ranks say: sums of their rows, and verdicts as sentences.

#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/query/ranks/rank_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::query {

namespace {

std::string lengthText(Nanoseconds time)
{
    return quantity::withUnit(static_cast<double>(time.count()), quantity::Unit::Nanoseconds);
}

Nanoseconds meanOf(Nanoseconds sum, std::size_t count)
{
    return count > 0
               ? Nanoseconds(std::llround(static_cast<double>(sum.count()) / static_cast<double>(count)))
               : sum;
}

using Kind = analysis::StragglerVerdict::Kind;

/// \param noun   of whom it is about: rank
/// \param title  of a verdict that one is late
std::string verdictWords(const analysis::StragglerVerdict& verdict, const std::string& name,
                         const std::string& noun, const std::string& title, const std::string& none)
{
    const std::string count = std::to_string(verdict.lastIn) + " of " + counted(verdict.steps, "step");
    const std::string times = "late by " + lengthText(verdict.median) + " in the median (" +
                              lengthText(verdict.least) + " to " + lengthText(verdict.most) + ")";
    const std::string who = name.empty() ? "No " + noun + " was last more often than another."
                                         : "Last in " + count + ": " + name + ", " + times + ".";
    const std::string chance = quantity::threeDigits(verdict.chance);
    switch (verdict.kind) {
    case Kind::TooFewSteps:
        return who + " " + counted(verdict.steps, "step") + (verdict.steps == 1 ? " allows" : " allow") +
               " no " + (noun == "rank" ? "straggler verdict" : "verdict about hosts") +
               ": it takes at least " + std::to_string(analysis::kFewestStepsForVerdict) + ".";
    case Kind::NoStraggler:
        return none + " " + who + (name.empty() ? "" : " Chance explains it (probability " + chance + ").");
    default:
        return title + ": " + name + ", last in " + count + " (by chance with probability " + chance + "), " +
               times + ".";
    }
}

} // namespace

Timestamp CollectiveRow::firstStart() const
{
    return std::ranges::min(ranks, {}, &CollectiveRank::start).start;
}

Nanoseconds CollectiveRow::wait() const
{
    Nanoseconds sum{0};
    for (const CollectiveRank& rank : ranks)
        sum += rank.wait;
    return sum;
}

Nanoseconds CollectiveRow::exposed() const
{
    Nanoseconds sum{0};
    for (const CollectiveRank& rank : ranks)
        sum += rank.exposed;
    return meanOf(sum, ranks.size());
}

Nanoseconds CollectiveRow::overlapped() const
{
    Nanoseconds sum{0};
    for (const CollectiveRank& rank : ranks)
        sum += rank.duration - rank.exposed;
    return meanOf(sum, ranks.size());
}

const CollectiveRank* CollectiveRow::tightest() const
{
    const CollectiveRank* found = nullptr;
    for (const CollectiveRank& rank : ranks)
        if (rank.slack && (!found || std::pair(-rank.slack->stall, rank.slack->slack) <
                                         std::pair(-found->slack->stall, found->slack->slack)))
            found = &rank;
    return found;
}

std::string RanksTable::sentence() const
{
    const bool isWhole = !rows.empty() && rows.front().step == kNoStep;
    if (straggler.kind == Kind::NothingToCompare && isWhole && rankCount > 1 &&
        collectives.size() > static_cast<std::size_t>(incomplete))
        return "Without steps no rank is called late: each collective says who was last.";
    if (straggler.kind == Kind::NothingToCompare)
        return rankCount < 2 ? "The run has one process: no other rank can be late."
                             : "No collective was recorded on all of its ranks: who is late is unknown.";
    return verdictWords(straggler, stragglerName, "rank", "Straggler", "No straggler.");
}

std::string RanksTable::hostSentence() const
{
    if (lateHost.kind != Kind::NothingToCompare && lateHost.steps == 0)
        return "No host is late: in no step does one start after all others by more than clocks tell apart.";
    return lateHost.kind == Kind::NothingToCompare
               ? std::string()
               : verdictWords(lateHost, lateHostName, "host", "Late host", "No host is late.");
}

std::string RanksTable::groupSentence() const
{
    if (groups.empty())
        return {};
    constexpr std::size_t kMostNamed = 5;
    std::vector<const GroupVerdict*> late;
    for (const GroupVerdict& each : groups)
        if (each.verdict.kind == Kind::Straggler)
            late.push_back(&each);
    if (late.empty())
        return "In none of " + counted(std::ssize(groups), "group") + " of ranks the same rank is late.";
    std::ranges::stable_sort(late, std::ranges::greater{},
                             [](const GroupVerdict* each) { return each->verdict.median; });
    std::string text = "In " + std::to_string(late.size()) + " of " + counted(std::ssize(groups), "group") +
                       " of ranks the same rank is late: ";
    for (std::size_t i = 0; i < std::min(kMostNamed, late.size()); ++i)
        text += (i == 0 ? "" : ", ") + late[i]->name + " in " +
                (late[i]->group.empty() ? "a group without a name" : late[i]->group) + " (" +
                std::to_string(late[i]->verdict.lastIn) + " of " + counted(late[i]->verdict.steps, "step") +
                ", " + lengthText(late[i]->verdict.median) + ")";
    return text + (late.size() > kMostNamed ? " and others." : ".");
}

bool RanksTable::hasSeveralGroups() const
{
    return std::ranges::any_of(
        collectives, [this](const CollectiveRow& row) { return row.group != collectives.front().group; });
}

std::vector<const RankRow*> RanksTable::meanRows() const
{
    const bool anyTypical = std::ranges::any_of(rows, [](const RankRow& row) { return row.leftOut.empty(); });
    std::vector<const RankRow*> chosen;
    for (const RankRow& row : rows)
        if (!anyTypical || row.leftOut.empty())
            chosen.push_back(&row);
    return chosen;
}

std::optional<analysis::RankStep> RanksTable::meanStep() const
{
    using analysis::RankStep;
    constexpr std::array kParts{&RankStep::compute,       &RankStep::exposedCommunication,
                                &RankStep::exposedCopies, &RankStep::host,
                                &RankStep::idle,          &RankStep::overlapped};
    const std::vector<const RankRow*> chosen = meanRows();
    if (chosen.empty())
        return {};
    RankStep mean;
    mean.wall.start = Timestamp{};
    Nanoseconds wall{0};
    for (const RankRow* row : chosen) {
        wall += row->parts.wall.length();
        for (Nanoseconds RankStep::*part : kParts)
            mean.*part += row->parts.*part;
    }
    mean.wall.end = mean.wall.start + meanOf(wall, chosen.size());
    for (Nanoseconds RankStep::*part : kParts)
        mean.*part = meanOf(mean.*part, chosen.size());
    return mean;
}

std::optional<double> RanksTable::linkPercent(const CollectiveRow& row) const
{
    if (!link || !row.bandwidth || !(link->bytesPerSecond > 0))
        return {};
    constexpr double kGiga = 1e9;
    return 100 * row.bandwidth->bus * kGiga / link->bytesPerSecond;
}

} // namespace tilescope::query
