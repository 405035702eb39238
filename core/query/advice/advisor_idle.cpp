#include "core/query/advice/advisor.h"

#include "core/analysis/advice/fragmentation.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/unrecorded_work.h"
#include "core/base/quantity.h"
#include "core/query/runs/per_step.h"
#include "core/query/steps/step_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tilescope::query {

using analysis::AdviceRule;
using analysis::HostCause;
using analysis::IdleCause;
using analysis::Stake;
using quantity::Unit;

namespace {

/// What the host does for so long before a launch is not the launch.
constexpr Nanoseconds kLongPause{1'000'000};
/// What the host does while it prepares launches.
constexpr std::initializer_list<HostCause> kOfLaunching = {
    HostCause::Python,     HostCause::Native,        HostCause::Backward,    HostCause::Optimizer,
    HostCause::OffCore,    HostCause::CudaCalls,     HostCause::Compilation, HostCause::InterpreterLock,
    HostCause::OtherRanks, HostCause::OtherProcesses};

std::string bytesText(Bytes bytes)
{
    return quantity::withUnit(static_cast<double>(bytes.count), Unit::Bytes);
}

} // namespace

void Advisor::judgeIdle()
{
    if (!traces_.any(&AdviceTrace::hasHostEvents))
        cannotJudge(AdviceRule::DataLoading, "no host events were recorded");
    if (!onGpu_) {
        for (const AdviceRule rule : {AdviceRule::LaunchBound, AdviceRule::Synchronization,
                                      AdviceRule::Fragmentation, AdviceRule::StartUp})
            cannotJudge(rule, kNoGpu);
        loading(sumOver([](const AdviceTrace& trace) { return stakeOf(trace.loading, trace.walls); }));
        return;
    }
    std::array<std::vector<Stake>, analysis::kIdleCauses> causes;
    for (AdviceTrace& trace : traces_.processes) {
        const std::vector<analysis::Interval> busy = trace.busyWith([](const ActivityKind&) { return true; });
        const std::vector<analysis::Interval> all = analysis::difference(trace.walls, busy);
        const std::vector<analysis::Interval> idle = analysis::difference(all, trace.host.unrecorded);
        unrecorded_ += analysis::lengthOf(all) - analysis::lengthOf(idle);
        idle_ += analysis::lengthOf(idle);
        outsideOfCode_ += analysis::lengthOf(analysis::difference(idle, trace.inCode));
        const auto ofOne = idleCauses(trace.walls, busy, std::move(trace.host));
        for (std::size_t cause = 0; cause < causes.size(); ++cause)
            causes[cause].push_back(ofOne[cause]);
    }
    const auto of = [&causes](IdleCause cause) {
        return analysis::sumOf(causes[static_cast<std::size_t>(cause)]);
    };
    startUp(of(IdleCause::StartUp));
    loading(of(IdleCause::DataLoading));
    memory(of(IdleCause::Allocating));
    if (static_cast<double>(unrecorded_.count()) >=
        analysis::kMuchUnrecorded * static_cast<double>(table_.wall.count()))
        for (const IdleCause cause : {IdleCause::Synchronization, IdleCause::Launching})
            if (!isWorthNaming(of(cause).time))
                cannotJudge(cause == IdleCause::Launching ? AdviceRule::LaunchBound
                                                          : AdviceRule::Synchronization,
                            "for " + timeText(unrecorded_) +
                                " the GPU works on, or waits for, what was not recorded");
    if (!traces_.any(&AdviceTrace::hasCalls))
        cannotJudge(AdviceRule::Synchronization, "no CUDA calls of the host were recorded");
    else
        synchronization(of(IdleCause::Synchronization));
    if (!traces_.any(&AdviceTrace::hasLaunches))
        cannotJudge(AdviceRule::LaunchBound, "it was not recorded when the host launched");
    else
        launching(of(IdleCause::Launching));
}

std::string Advisor::costliest(std::initializer_list<HostCause> causes, Nanoseconds stake) const
{
    const std::vector<WaitingLine> lines = waiting_.linesOf(causes);
    if (lines.empty() || lines.front().place.empty() || lines.front().time.count() <= 0)
        return {};
    const WaitingLine& line = lines.front();
    const double least = line.interval ? line.interval->low : static_cast<double>(line.time.count());
    if (least > static_cast<double>(stake.count()))
        return {};
    const auto ofAMeanStep = [this](double time) {
        return quantity::withUnit(meanPerStep(time, table_.steps), Unit::Nanoseconds);
    };
    return " Most at " + line.place + ": " + ofAMeanStep(static_cast<double>(line.time.count())) +
           (line.interval
                ? " (" + ofAMeanStep(line.interval->low) + " to " + ofAMeanStep(line.interval->high) + ")"
                : "") +
           ".";
}

std::string Advisor::moduleText(Nanoseconds stake) const
{
    const std::optional<WaitingLine> module = waiting_.module();
    if (!module || !isWorthNaming(module->time) || module->time > stake || methods_.compiles ||
        methods_.replays())
        return {};
    std::set<std::string> models;
    for (const AdviceTrace& trace : traces_.processes)
        models.insert(trace.models.begin(), trace.models.end());
    const bool isNamed = models.size() == 1 && !analysis::isModuleWrapper(*models.begin());
    return " " + quantity::withUnit(table_.perStep(module->time), Unit::Nanoseconds) + " are below " +
           (isNamed ? *models.begin() + ", " : "") + module->place + ": compile that module.";
}

void Advisor::judgeHost()
{
    const std::pair<AdviceRule, HostCause> rules[] = {
        {AdviceRule::GarbageCollection, HostCause::GarbageCollection},
        {AdviceRule::HostOptimizer, HostCause::Optimizer},
        {AdviceRule::Logging, HostCause::Logging}};
    for (const auto& [rule, cause] : rules) {
        if (!hasGpuFor(rule))
            continue;
        if (!waiting_.isKnown()) {
            cannotJudge(rule, "no stacks of Python were recorded");
            continue;
        }
        Stake stake;
        for (const WaitingLine& line : waiting_.linesOf({cause})) {
            const std::uint32_t source = traces_.sources.of(
                {.kind = "frame", .name = line.place.empty() ? "no line of Python" : line.place});
            stake.time += line.time;
            stake.parts.push_back({.group = source, .count = 0, .total = line.time, .atStake = line.time});
        }
        find(rule, stake, show("waiting"), [&, cause = cause] {
            const std::string does = cause == HostCause::GarbageCollection ? "Python collects garbage."
                                     : cause == HostCause::Optimizer
                                         ? "the host is in the step of an optimizer."
                                         : "the host logs.";
            return "The GPU is idle for " + timeText(stake.time) + " while " + does +
                   costliest({cause}, stake.time);
        });
    }
}

void Advisor::startUp(const Stake& stake)
{
    find(AdviceRule::StartUp, stake, showSteps(), [&] {
        std::map<std::string, Nanoseconds> causes;
        for (const analysis::StakePart& part : stake.parts)
            causes[traces_.sources[part.group].note] += part.atStake;
        const auto most =
            std::ranges::max_element(causes, {}, [](const auto& cause) { return cause.second; });
        return "The GPU is idle for " + timeText(stake.time) + " while the host starts up" +
               (most == causes.end() || most->first.empty() ? "." : ", most for " + most->first + ".");
    });
}

void Advisor::loading(const Stake& stake)
{
    find(AdviceRule::DataLoading, stake, show(waiting_.isKnown() ? "waiting" : "tree"), [&] {
        return (onGpu_ ? "The GPU is idle for " : "The host loads data for ") + timeText(stake.time) +
               (onGpu_ ? " while the host loads data." : ".") +
               costliest({HostCause::DataLoading}, stake.time);
    });
}

std::string Advisor::placeText(Nanoseconds stake) const
{
    // A few long waits at a place are preparations, not work that every step needs.
    constexpr std::int64_t kIdlePerPlace = 5; // at most: the place has a fifth of the idle time or more
    constexpr std::int64_t kWaitsPerLongWait =
        2; // at least: half of the waits or fewer take 90 % of the time
    constexpr std::int64_t kMediansPerLongWait = 10; // at least, on average
    constexpr Nanoseconds kLeastLongest{2'000'000};
    constexpr std::int64_t kPlacePerKnownCauses =
        2; // at least: other findings explain less than half of the time
    const std::optional<WaitingPlaceFact>& place = waiting_.place();
    if (!place || place->time > stake || kIdlePerPlace * place->time < idle_ ||
        kWaitsPerLongWait * place->most > place->count || place->longest < kLeastLongest ||
        place->time < kMediansPerLongWait * place->most * place->median)
        return {};
    // These causes have findings of their own.
    if (kPlacePerKnownCauses *
            waiting_.timeOf({HostCause::GarbageCollection, HostCause::Logging, HostCause::DataLoading,
                             HostCause::Compilation, HostCause::Import}) >=
        place->time)
        return {};
    std::string text = " Between " + place->from + " and " + place->to + ", " + std::to_string(place->most) +
                       " of " + std::to_string(place->count) + " waits take 90 % of " +
                       quantity::withUnit(table_.perStep(place->time), Unit::Nanoseconds) + ", at most " +
                       quantity::withUnit(static_cast<double>(place->longest.count()), Unit::Nanoseconds) +
                       " at a time: the host prepares something there.";
    if (place->work.find("cudnn_generated") != std::string::npos)
        text +=
            " The work that follows is of cuDNN's graphs, which are planned anew for each new shape: keep "
            "shapes, such as the "
            "length of a cache, fixed" +
            std::string(place->work.find("sdpa") != std::string::npos
                            ? ", or choose another attention by torch.backends.cuda.enable_cudnn_sdp(False)."
                            : ".");
    return text;
}

void Advisor::launching(const Stake& stake)
{
    if (!isWorthNaming(stake.time))
        return;
    // As in the table of steps, which counts calls that let a stream wait as synchronization.
    const Nanoseconds inSteps = idleWhileLaunching();
    const Nanoseconds idle = inSteps.count() > 0 ? inSteps : stake.time;
    const Nanoseconds named = std::max(idle, stake.time); // in the sentence
    Nanoseconds inPauses{0};
    for (const analysis::StakePart& part : stake.parts)
        if (part.total >= part.count * kLongPause)
            inPauses += part.atStake;
    const bool isPaused = 2 * inPauses >= stake.time;
    Advice advice{.command = showSteps()};
    if (isPaused)
        advice.remedy =
            "Most of it is in few long pauses: do that work of the host on another thread or in another "
            "process, or before the GPU needs its result. A CUDA graph does not shorten it.";
    advice.sentence = "The GPU is idle for " + timeText(idle) + " while the host prepares launches" +
                      (timeText(idle) == timeText(stake.time) ? "."
                       : idle < stake.time
                           ? ", and for " + timeText(stake.time - idle) + " in calls that let a stream wait."
                           : ", of which " + timeText(stake.time) +
                                 " is not due to start-up, to a synchronization, to loading data or to "
                                 "allocating.") +
                      pythonText() + costliest(kOfLaunching, named) + (isPaused ? "" : moduleText(named)) +
                      placeText(named);
    add(AdviceRule::LaunchBound, stake, std::move(advice));
}

std::string Advisor::pythonText() const
{
    if (!traces_.any(&AdviceTrace::hasOps) || idle_.count() == 0)
        return {};
    const double share =
        100 * static_cast<double>(outsideOfCode_.count()) / static_cast<double>(idle_.count());
    return " In " + quantity::withUnit(share, Unit::Percent) +
           " of all idle time no op and no CUDA call runs: the host is in Python, or in code that "
           "records "
           "nothing.";
}

Nanoseconds Advisor::idleWhileLaunching() const
{
    Nanoseconds idle{0};
    if (!isWhole_)
        for (const StepRow& row : steps(reader_, {.run = traces_.run.run, .topology = traces_.topology}).rows)
            if (traces_.choice.isTypical(row.numbers.process, row.step))
                idle += row.partition.launching;
    return idle;
}

void Advisor::synchronization(const Stake& stake)
{
    find(AdviceRule::Synchronization, stake, showSteps(), [&] {
        const bool hasPlace = std::ranges::any_of(stake.parts, [&](const analysis::StakePart& part) {
            return part.atStake.count() > 0 && !traces_.sources[part.group].place.empty();
        });
        return "The GPU is idle for " + timeText(stake.time) +
               " because the host waited for it before it launched more" +
               (hasPlace || waiting_.isKnown() ? "." : "; where in the program was not recorded.") +
               costliest({HostCause::Synchronization}, stake.time);
    });
}

void Advisor::memory(const Stake& stake)
{
    const bool hasReserved = traces_.any(&AdviceTrace::hasReserved);
    if (!hasReserved && !traces_.any(&AdviceTrace::hasCalls)) {
        cannotJudge(AdviceRule::Fragmentation, "no allocations of a GPU were recorded");
        return;
    }
    const Bytes reserved = meanOfProcesses(&AdviceTrace::reservedAtPeak);
    const std::optional<Bytes> unused =
        hasReserved ? analysis::unusedAtPeak(meanOfProcesses(&AdviceTrace::allocatedAtPeak), reserved)
                    : std::nullopt;
    if (!unused && !isWorthNaming(stake.time)) {
        if (!hasReserved)
            cannotJudge(AdviceRule::Fragmentation, "no allocations of a GPU were recorded");
        return;
    }
    Advice advice{.bytes = unused, .command = show("memory") + " --group category"};
    if (unused)
        advice.sentence = "At the peak the allocator holds " + bytesText(*unused) + " of its " +
                          bytesText(reserved) + " without use.";
    if (stake.time.count() == 0)
        advice.sentence += " This costs memory but no time: the allocator did not call the driver while "
                           "the GPU was idle.";
    else
        advice.sentence += (unused ? " The" : "The") + std::string(" GPU is idle for ") +
                           timeText(stake.time) +
                           " while the host takes memory from the driver or returns it.";
    add(AdviceRule::Fragmentation, stake, std::move(advice));
}

void Advisor::judgeEagerSteps()
{
    if (!hasGpuFor(AdviceRule::EagerSteps) || isWhole_)
        return;
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        std::vector<std::array<std::size_t, 2>> counts(trace.walls.size()); // of all, of those replayed
        const auto count = [&](const AdviceTrace::Activity& activity, std::size_t which) {
            if (const auto step = trace.stepOf(activity))
                ++counts[*step][which];
        };
        for (const AdviceTrace::Activity& activity : trace.activities)
            count(activity, 0);
        for (const std::uint32_t activity : trace.replayed)
            count(trace.activities[activity], 1);
        const bool othersReplay =
            std::ranges::any_of(counts, [](const auto& each) { return 2 * each[1] > each[0]; });
        std::vector<analysis::Interval> eager;
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (othersReplay && counts[i][0] > 0 && counts[i][1] == 0)
                eager.push_back(trace.walls[i]);
        const std::uint32_t source =
            traces_.sources.of({.kind = "range", .name = "steps that replay no graph"});
        std::vector<analysis::GroupedTime> times;
        for (const analysis::Interval& wall : eager)
            times.push_back({wall, source});
        return stakeOf(std::move(times), trace.walls,
                       trace.busyWith([](const ActivityKind&) { return true; }));
    });
    find(AdviceRule::EagerSteps, stake, showSteps(), [&] {
        return "Some steps replay CUDA graphs, others launch their work one by one; in these the GPU is "
               "idle for " +
               timeText(stake.time) + ".";
    });
}

Bytes Advisor::meanOfProcesses(Bytes AdviceTrace::*bytes) const
{
    std::int64_t sum = 0;
    for (const AdviceTrace& trace : traces_.processes)
        sum += (trace.*bytes).count;
    return Bytes{sum / std::ssize(traces_.processes)};
}

} // namespace tilescope::query
