#include "core/query/advice/advisor.h"

#include "core/base/plural.h"
#include "core/base/quantity.h"

#include <algorithm>
#include <array>
#include <map>

namespace tilescope::query {

using analysis::Stake;
using quantity::Unit;

void Advisor::judgeCopies()
{
    if (!onGpu_) {
        cannotJudge(AdviceRule::PageableCopy, kNoGpu);
        cannotJudge(AdviceRule::ExposedCopy, kNoGpu);
        cannotJudge(AdviceRule::HostCopies, kNoGpu);
        return;
    }
    const bool hasCopies = traces_.anyKind(&ActivityKind::isBetweenHostAndDevice);
    const bool isKnown = traces_.anyKind([](const ActivityKind& kind) {
        return kind.isPageable() || kind.fullName.find("Pinned") != std::string::npos;
    });
    if (hasCopies && !isKnown)
        cannotJudge(AdviceRule::PageableCopy, "whether the host's memory is page-locked was not recorded");
    const Stake paged = sumOver([&](const AdviceTrace& trace) {
        const auto copies = trace.timesOf([&](const ActivityKind& kind) {
            return kind.isPageable() ? std::optional(copySource(kind)) : std::nullopt;
        });
        return stakeOf(copies, trace.walls, trace.busyWith(isKernel));
    });
    find(AdviceRule::PageableCopy, paged, show("kernels"), [&] {
        return countText(paged, "copy", "copies") + inAStep() + " from or to pageable memory " +
               std::string(verb(paged, "runs", "run")) + " beside no kernel for " + timeText(paged.time) +
               ".";
    });
    const Stake exposed = sumOver([&](const AdviceTrace& trace) {
        const auto copies = trace.timesOf([&](const ActivityKind& kind) {
            return kind.isBetweenHostAndDevice() && !kind.isPageable() ? std::optional(copySource(kind))
                                                                       : std::nullopt;
        });
        return exposedStake(copies, trace.walls, trace.busyWith(isKernel));
    });
    find(AdviceRule::ExposedCopy, exposed, show("kernels"), [&] {
        return countText(exposed, "copy", "copies") + inAStep() +
               " between host and GPU could run beside kernels; " + timeText(exposed.time) + " do not.";
    });
    judgeHostCopies(std::max(paged.time, exposed.time));
}

void Advisor::judgeHostCopies(Nanoseconds hidden)
{
    constexpr int kTimesHidden = 2;
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        const auto copies = trace.timesOf([&](const ActivityKind& kind) {
            return kind.isBetweenHostAndDevice() ? std::optional(copySource(kind)) : std::nullopt;
        });
        return stakeOf(copies, trace.walls, trace.busyWith(isKernel));
    });
    if (stake.time < kTimesHidden * hidden)
        return;
    find(AdviceRule::HostCopies, stake, show("kernels"), [&] {
        return "For " + timeText(stake.time) + " the GPU only copies from or to the host, " +
               countText(stake, "copy", "copies") + inAStep() + "." + equalCopiesText();
    });
}

std::string Advisor::equalCopiesText() const
{
    if (isWhole_)
        return {};
    std::int64_t bytes = 0;
    std::size_t count = 0;
    for (const AdviceTrace& trace : traces_.processes) {
        std::vector<std::map<std::int64_t, int>> sizes(trace.walls.size()); // by step: how often
        for (const AdviceTrace::CopySize& copy : trace.copies) {
            const AdviceTrace::Activity& activity = trace.activities[copy.activity];
            const auto step = trace.stepOf(activity);
            if (step && trace.kinds[activity.kind].copy == CopyKind::HostToDevice)
                ++sizes[*step][copy.bytes];
        }
        if (sizes.size() < 3)
            return {};
        for (const auto& [size, times] : sizes.front()) {
            int fewest = times;
            for (const auto& step : sizes)
                fewest = std::min(fewest, step.contains(size) ? step.at(size) : 0);
            bytes += size * fewest;
            count += static_cast<std::size_t>(fewest);
        }
    }
    const auto processes = std::ssize(traces_.processes);
    if (bytes == 0 || processes == 0)
        return {};
    return " Every step copies the same " + counted(static_cast<std::int64_t>(count) / processes, "size") +
           " to the GPU, " +
           quantity::withUnit(static_cast<double>(bytes) / static_cast<double>(processes), Unit::Bytes) +
           " in all: whether their contents change was not recorded.";
}

void Advisor::judgeCommunication()
{
    if (!hasGpuFor(AdviceRule::ExposedCommunication))
        return;
    const auto timesOf = [this](const AdviceTrace& trace) {
        return trace.timesOf([this](const ActivityKind& kind) {
            return isCommunication(kind) ? std::optional(kernelSource(kind)) : std::nullopt;
        });
    };
    // Of each process: what compute could hide or, if that is little, all of it.
    constexpr int kTimesHidden = 2;
    Nanoseconds hidden{0};
    bool isAlone = false;
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        const Stake beside = exposedStake(timesOf(trace), trace.walls, trace.busyWith(isCompute));
        const Stake alone = stakeOf(timesOf(trace), trace.walls, trace.busyWith(isCompute));
        hidden += beside.time;
        if (alone.time < kTimesHidden * beside.time)
            return beside;
        isAlone = isAlone || isWorthNaming(alone.time);
        return alone;
    });
    if (!isAlone) {
        find(AdviceRule::ExposedCommunication, stake, show("collectives"), [&] {
            return "Communication runs beside no compute for " + timeText(stake.time) +
                   " and could, which includes waiting for other ranks.";
        });
        return;
    }
    add(AdviceRule::ExposedCommunication, stake,
        {.sentence = "Communication runs beside no compute for " + timeText(stake.time) +
                     ", which includes waiting for other ranks; there is compute beside which " +
                     timeText(hidden) + " of it could run.",
         .bound = "the time of communication in which no compute kernel runs",
         .remedy = "Exchange fewer bytes or exchange them less often (gradient accumulation, a larger batch "
                   "for each "
                   "rank, gradients in half precision), use a faster link, and look for a late rank with "
                   "show ranks.",
         .command = show("collectives")});
}

void Advisor::judgeSmallCollectives()
{
    constexpr std::int64_t kSmall = 256 << 10;
    if (!hasGpuFor(AdviceRule::SmallCollectives))
        return;
    bool isKnown = false;
    std::map<std::uint32_t, bool> isSmall; // by correlation
    for (const Collective& collective : reader_.collectives(traces_.run.run)) {
        const bool reduces = reader_.text(collective.op).find("reduce") != std::string_view::npos;
        isKnown = isKnown || collective.bytes > 0;
        if (collective.correlation && collective.device && reduces && collective.bytes > 0)
            isSmall[collective.correlation.value] = collective.bytes <= kSmall;
    }
    if (isSmall.empty()) {
        if (traces_.anyKind(isCommunication) && !isKnown)
            cannotJudge(AdviceRule::SmallCollectives, "the sizes of collectives were not recorded");
        return;
    }
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        std::vector<analysis::GroupedTime> times;
        std::vector<std::optional<analysis::GroupedTime>> longest(trace.walls.size());
        for (const auto& [activity, correlation] : trace.communications) {
            const auto known = isSmall.find(correlation);
            const AdviceTrace::Activity& each = trace.activities[activity];
            const auto step = trace.stepOf(each);
            if (known == isSmall.end() || !known->second || !step)
                continue;
            analysis::GroupedTime next{each.time, kernelSource(trace.kinds[each.kind])};
            auto& most = longest[*step];
            if (!most) {
                most = next;
                continue;
            }
            if (most->time.length() < next.time.length())
                std::swap(next, *most);
            times.push_back(next);
        }
        return stakeOf(std::move(times), trace.walls, trace.busyWith(isCompute));
    });
    find(AdviceRule::SmallCollectives, stake, showAll("collectives"), [&] {
        return countText(stake, "all-reduce") + inAStep() +
               " of at most 256 KiB, besides the longest one, take " + timeText(stake.time) +
               " beside no compute.";
    });
}

Stake Advisor::stakeOfDelays(const RankDelays& delays, std::vector<RankDelay> RankDelays::Waiting::*list,
                             const char* kind)
{
    std::vector<Stake> stakes;
    for (std::size_t i = 0; i < delays.ranks.size(); ++i) {
        const AdviceTrace& trace = traces_.processes[i];
        std::vector<analysis::GroupedTime> times;
        for (const RankDelay& delay : delays.ranks[i].*list)
            times.push_back(
                {delay.time, traces_.sources.of({.kind = kind, .name = delay.name, .place = delay.place})});
        stakes.push_back(stakeOf(std::move(times), trace.walls, trace.busyWith(isCompute)));
    }
    return analysis::sumOf(stakes);
}

void Advisor::judgeRanks(const RankDelays& delays)
{
    using Kind = analysis::StragglerVerdict::Kind;
    const Stake waits = stakeOfDelays(delays, &RankDelays::Waiting::forOthers, "rank");
    if (delays.straggler.kind == Kind::TooFewSteps)
        cannotJudge(AdviceRule::LateRank, "to tell a straggler from chance, it takes " +
                                              counted(analysis::kFewestStepsForVerdict, "step") +
                                              " in which a rank was last");
    else if (delays.straggler.kind == Kind::Straggler)
        find(AdviceRule::LateRank, waits, showAll("ranks"), [&] {
            return delays.stragglerName + " is last in " + std::to_string(delays.straggler.lastIn) + " of " +
                   counted(delays.straggler.steps, "step") + "; waiting for late ranks takes " +
                   timeText(waits.time) + ".";
        });
    const Stake gathers = stakeOfDelays(delays, &RankDelays::Waiting::forGathers, "kernel");
    find(AdviceRule::LateGather, gathers, showAll("collectives"), [&] {
        return "Work waits for " + countText(gathers, "all-gather") + inAStep() + " for " +
               timeText(gathers.time) + ".";
    });
}

void Advisor::judgeUnevenRanks()
{
    if (!hasGpuFor(AdviceRule::UnevenRanks))
        return;
    constexpr double kUneven = 1.1;
    std::vector<Nanoseconds> computing;
    for (const AdviceTrace& trace : traces_.processes)
        computing.push_back(
            analysis::lengthOf(analysis::intersection(trace.walls, trace.busyWith(isCompute))));
    if (computing.size() < 2 || !traces_.anyKind(isCommunication))
        return;
    const bool sameSteps = std::ranges::all_of(traces_.processes, [&](const AdviceTrace& trace) {
        return trace.walls.size() == traces_.processes.front().walls.size();
    });
    if (!sameSteps)
        return cannotJudge(AdviceRule::UnevenRanks, "the ranks recorded different numbers of steps");
    const auto most = std::ranges::max_element(computing);
    Nanoseconds sum{0};
    for (const Nanoseconds each : computing)
        sum += each;
    const Nanoseconds more = *most * std::ssize(computing) - sum;
    if (static_cast<double>(most->count()) * static_cast<double>(std::ssize(computing)) <
        kUneven * static_cast<double>(sum.count()))
        return;
    const AdviceTrace& longest = traces_.processes[static_cast<std::size_t>(most - computing.begin())];
    const std::string name = longest.rank ? "rank " + std::to_string(*longest.rank) : "one process";
    Stake stake{.time = more};
    stake.parts.push_back({.group = traces_.sources.of({.kind = "rank", .name = name}),
                           .count = std::ssize(longest.walls),
                           .total = *most,
                           .atStake = more});
    find(AdviceRule::UnevenRanks, stake, showAll("ranks"), [&] {
        const auto ofAStep = [&](Nanoseconds time) {
            return quantity::withUnit(static_cast<double>(time.count()) /
                                          static_cast<double>(std::max<std::size_t>(1, longest.walls.size())),
                                      Unit::Nanoseconds);
        };
        return name + " computes for " + ofAStep(*most) + inAStep() + ", the mean rank for " +
               ofAStep(sum / std::ssize(computing)) + ": the others can wait for it for " + timeText(more) +
               ".";
    });
}

} // namespace tilescope::query
