#include "core/query/advice/rank_answers.h"

#include "core/analysis/stats/statistics.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/query/advice/answer_figures.h"

#include <fmt/format.h>

#include <array>
#include <map>

namespace tilescope::query {

namespace {

double nanoseconds(Nanoseconds time)
{
    return static_cast<double>(time.count());
}

Answer exposedCommunication(const RanksTable& ranks)
{
    Answer answer;
    const auto mean = ranks.meanStep();
    if (!mean || ranks.rows.front().step == kNoStep) {
        answer.sentence = "No steps were recorded.";
        return answer;
    }
    const Nanoseconds communication = mean->exposedCommunication + mean->overlapped;
    const auto share = percent(mean->exposedCommunication, mean->wall.length());
    answer.figures = {
        {"step, mean of all ranks", nanoseconds(mean->wall.length()), "ns"},
        {"communication", nanoseconds(communication), "ns"},
        {"exposed communication", nanoseconds(mean->exposedCommunication), "ns"},
        {"exposed, share of the step", share, "%"},
        {"exposed, share of communication", percent(mean->exposedCommunication, communication), "%"}};
    answer.sentence =
        communication.count() == 0
            ? "No communication was recorded in the steps."
            : fmt::format(
                  "A step communicates for {} of {}; for {} ({:.1f} % of the step) nothing is computed "
                  "beside it.",
                  timeText(nanoseconds(communication)), timeText(nanoseconds(mean->wall.length())),
                  timeText(nanoseconds(mean->exposedCommunication)), share.value_or(0));
    return answer;
}

Answer lateRank(const RanksTable& ranks)
{
    Answer answer{.sentence = ranks.sentence()};
    std::map<std::string, Nanoseconds> late;
    for (const RankRow& row : ranks.rows)
        if (row.late)
            late[row.title] += *row.late;
    for (const auto& [title, time] : late)
        answer.figures.push_back({title + ", late in all steps", nanoseconds(time), "ns"});
    return answer;
}

Answer linkUse(const RanksTable& ranks)
{
    Answer answer;
    std::map<std::string, std::vector<double>> rates;
    std::map<std::string, std::vector<double>> shares;
    for (const CollectiveRow& row : ranks.collectives)
        if (row.bandwidth) {
            rates[row.op].push_back(row.bandwidth->bus);
            if (const auto share = ranks.linkPercent(row))
                shares[row.op].push_back(*share);
        }
    std::string list;
    for (const auto& [op, values] : rates) {
        const double median = analysis::median(values);
        answer.figures.push_back({op + ", bus GB/s", median});
        list += (list.empty() ? "" : "; ") + op + " " + quantity::threeDigits(median) + " GB/s";
        if (const auto found = shares.find(op); found != shares.end()) {
            const double share = analysis::median(found->second);
            answer.figures.push_back({op + ", share of the link", share, "%"});
            list += fmt::format(" ({:.0f} % of the link)", share);
        }
    }
    if (list.empty())
        answer.sentence = "No collective of several recorded ranks has a known bandwidth.";
    else
        answer.sentence = "Median bus bandwidth: " + list + "." +
                          (ranks.link ? "" : " The bandwidth of the link is not known.");
    return answer;
}

Answer gatherInTime(const RanksTable& ranks)
{
    Answer answer;
    const GatherTotals totals = gatherTotals(ranks);
    if (totals.gathers == 0) {
        answer.sentence = "No all-gather with work that needs it was recorded.";
        return answer;
    }
    answer.figures = {{"all-gathers", static_cast<double>(totals.gathers)},
                      {"late", static_cast<double>(totals.late)},
                      {"stalls in all", nanoseconds(totals.stall), "ns"}};
    const CollectiveRank& worst = *totals.worst->tightest();
    const std::string where = totals.worst->range.empty() ? "" : " of " + totals.worst->range;
    if (totals.late == 0) {
        answer.figures.push_back({"least slack", nanoseconds(worst.slack->slack), "ns", totals.worst->range});
        answer.sentence = fmt::format(
            "Yes: each of {} ends before it is needed; the one{} has the least slack, {}.",
            counted(totals.gathers, "all-gather"), where, timeText(nanoseconds(worst.slack->slack)));
    } else {
        answer.figures.push_back(
            {"longest stall", nanoseconds(worst.slack->stall), "ns", totals.worst->range});
        answer.sentence = fmt::format(
            "No: {} of {} end after they are needed; the one{} is waited for longest, {}.", totals.late,
            counted(totals.gathers, "all-gather"), where, timeText(nanoseconds(worst.slack->stall)));
    }
    return answer;
}

constexpr std::array kRankQuestions{
    RankQuestion{"exposed-communication",
                 "How much of a step is communication beside which nothing is computed?",
                 exposedCommunication, "ranks"},
    RankQuestion{"late-rank", "Which rank is late?", lateRank, "ranks"},
    RankQuestion{"link-use", "How much of the link's bandwidth do collectives reach?", linkUse,
                 "collectives"},
    RankQuestion{"gather-in-time", "Does each all-gather end before its layer needs it?", gatherInTime,
                 "collectives"}};

} // namespace

std::span<const RankQuestion> rankQuestions()
{
    return kRankQuestions;
}

GatherTotals gatherTotals(const RanksTable& ranks)
{
    GatherTotals totals;
    for (const CollectiveRow& row : ranks.collectives) {
        const CollectiveRank* const rank = row.tightest();
        if (!rank)
            continue;
        ++totals.gathers;
        totals.late += rank->slack->stall.count() > 0 ? 1 : 0;
        totals.stall += rank->slack->stall;
        const auto urgency = [](const CollectiveRank& each) {
            return std::pair(-each.slack->stall, each.slack->slack);
        };
        if (!totals.worst || urgency(*rank) < urgency(*totals.worst->tightest()))
            totals.worst = &row;
    }
    return totals;
}

} // namespace tilescope::query
