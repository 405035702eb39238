#include "core/query/advice/advisor.h"

#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/base/shell_word.h"
#include "core/query/advice/advice_words.h"
#include "core/query/runs/per_step.h"
#include "core/query/steps/step_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace tilescope::query {

using analysis::AdviceRule;
using quantity::Unit;

namespace {

/// Whether what the rule asks for makes kernels shorter, but not fewer.
bool shortensKernels(AdviceRule rule)
{
    constexpr std::array kRules{AdviceRule::LowOccupancy,  AdviceRule::TensorCores,
                                AdviceRule::KernelStalls,  AdviceRule::IdleTensorPipe,
                                AdviceRule::ExcessTraffic, AdviceRule::LowIssue,
                                AdviceRule::ReducedClocks};
    return std::ranges::find(kRules, rule) != kRules.end();
}

} // namespace

Advisor::Advisor(const store::RunReader& reader, AdviceTraces traces)
    : reader_(reader), traces_(std::move(traces)),
      waiting_(waitingRecords(reader, {.run = traces_.run.run, .topology = traces_.topology})),
      methods_(methodsInUse(traces_)), onGpu_(traces_.any(&AdviceTrace::onGpu)),
      isWhole_(traces_.any(&AdviceTrace::isWhole))
{
    methods_.loadsInWorkers = methods_.loadsInWorkers || waiting_.loadsInWorkers();
}

AdviceTable Advisor::judge(const RankDelays& delays)
{
    table_.run = traces_.run;
    if (traces_.processes.size() == 1) {
        table_.rank = traces_.processes.front().rank;
        table_.numbers = traces_.processes.front().numbers;
    }
    table_.process = traces_.process;
    table_.isWhole = isWhole_;
    table_.hasHostStacks = waiting_.isKnown();
    table_.steps = traces_.steps();
    table_.choice = traces_.choice;
    table_.wall = traces_.wall();
    if (table_.steps == 0)
        return std::move(table_);
    judgeGeneration();
    judgeIdle();
    judgeHost();
    judgeSmallKernels();
    judgeCopies();
    judgeCommunication();
    judgeSmallCollectives();
    judgeRanks(delays);
    judgeOccupancy();
    judgeTensorCores();
    judgeConversions();
    judgeRecomputation();
    judgeLayouts();
    judgeUnevenRanks();
    judgeEagerSteps();
    judgeStalls();
    judgeHardware();
    std::ranges::stable_sort(table_.rows, std::greater(), &Advice::atStake);
    putHiddenLast();
    std::ranges::sort(table_.unjudged, {}, &UnjudgedRule::rule);
    for (std::size_t i = 0; i < analysis::kAdviceRules; ++i) {
        const auto rule = static_cast<AdviceRule>(i);
        if (rule >= analysis::kFirstOfGeneration && !generation_.of(StepType::Decode))
            continue; // the program does not generate
        if (std::ranges::find(table_.rows, rule, &Advice::rule) == table_.rows.end() &&
            std::ranges::find(table_.unjudged, rule, &UnjudgedRule::rule) == table_.unjudged.end())
            table_.silent.push_back(rule);
    }
    return std::move(table_);
}

void Advisor::putHiddenLast()
{
    if (isWhole_ || !onGpu_)
        return;
    using analysis::StepVerdict;
    std::int64_t launchBound = 0;
    std::int64_t dataBound = 0;
    std::int64_t all = 0;
    for (const StepRow& row : steps(reader_, {.run = traces_.run.run, .topology = traces_.topology}).rows)
        if (traces_.choice.isTypical(row.numbers.process, row.step)) {
            ++all;
            launchBound += row.verdict() == StepVerdict::LaunchBound ? 1 : 0;
            dataBound += row.verdict() == StepVerdict::DataBound ? 1 : 0;
        }
    if (2 * (launchBound + dataBound) <= all)
        return;
    const std::string most =
        2 * dataBound > all ? std::string(wordOf(StepVerdict::DataBound))
        : 2 * launchBound > all
            ? std::string(wordOf(StepVerdict::LaunchBound))
            : fmt::format("{} or {}", wordOf(StepVerdict::LaunchBound), wordOf(StepVerdict::DataBound));
    const auto firstHidden =
        std::stable_partition(table_.rows.begin(), table_.rows.end(),
                              [](const Advice& advice) { return !shortensKernels(advice.rule); });
    for (auto hidden = firstHidden; hidden != table_.rows.end(); ++hidden)
        hidden->sentence += " Most steps are " + most + ": shorter kernels alone do not make them shorter.";
}

bool Advisor::hasGpuFor(AdviceRule rule)
{
    if (!onGpu_)
        cannotJudge(rule, kNoGpu);
    return onGpu_;
}

std::string Advisor::timeText(Nanoseconds time) const
{
    return quantity::withUnit(table_.perStep(time), Unit::Nanoseconds) + ofAStep() + " (" +
           quantity::withUnit(table_.percent(time), Unit::Percent) + ")";
}

double Advisor::countOf(const Stake& stake) const
{
    double count = 0;
    for (const analysis::StakePart& part : stake.parts)
        count += static_cast<double>(part.count);
    return meanPerStep(count, table_.steps);
}

std::string Advisor::countText(const Stake& stake, std::string_view one, std::string_view several) const
{
    const double count = countOf(stake);
    const bool isWhole = count == std::floor(count);
    return (isWhole ? quantity::Scale{}.text(static_cast<std::int64_t>(count))
                    : quantity::threeDigits(count)) +
           " " + plural(count == 1 ? 1 : 2, one, several);
}

std::string Advisor::show(const std::string& section) const
{
    return "tilescope show " + shellPath(reader_.file()) + " " + section + " --run " +
           std::to_string(traces_.run.run.value) + traces_.option;
}

std::string Advisor::showAll(const std::string& section) const
{
    return "tilescope show " + shellPath(reader_.file()) + " " + section + " --run " +
           std::to_string(traces_.run.run.value);
}

bool Advisor::isWorthNaming(Nanoseconds atStake) const
{
    return atStake.count() > 0 && static_cast<double>(atStake.count()) >=
                                      analysis::kLeastShareAtStake * static_cast<double>(table_.wall.count());
}

void Advisor::add(AdviceRule rule, const Stake& stake, Advice advice)
{
    advice.rule = rule;
    if (advice.bound.empty())
        advice.bound = boundOf(rule, onGpu_);
    if (advice.remedy.empty())
        advice.remedy = remedyOf(rule, methods_);
    advice.atStake = stake.time;
    for (const analysis::StakePart& part : stake.parts) {
        if (part.atStake.count() <= 0)
            continue;
        const AdviceSource& source = traces_.sources[part.group];
        advice.evidence.push_back({.kind = source.kind,
                                   .name = source.name,
                                   .place = source.place,
                                   .note = source.note,
                                   .count = part.count,
                                   .total = part.total,
                                   .atStake = part.atStake});
    }
    table_.rows.push_back(std::move(advice));
}

std::uint32_t Advisor::kernelSource(const ActivityKind& kind, std::string note)
{
    return traces_.sources.of({.kind = kind.event == DeviceEventKind::Memcpy ? "copy" : "kernel",
                               .name = kind.name,
                               .note = std::move(note)});
}

std::uint32_t Advisor::copySource(const ActivityKind& kind)
{
    return traces_.sources.of({.kind = "copy", .name = kind.name, .place = kind.place});
}

std::uint32_t Advisor::placeSource(const ActivityKind& kind)
{
    return traces_.sources.of(
        {.kind = "module", .name = kind.place.empty() ? "outside of modules" : kind.place});
}

} // namespace tilescope::query
