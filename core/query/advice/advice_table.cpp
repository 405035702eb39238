#include "core/query/advice/advice_table.h"

#include "core/analysis/advice/conversions.h"
#include "core/analysis/advice/fragmentation.h"
#include "core/analysis/advice/small_kernels.h"
#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/kernels/stall_reasons.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/base/shell_word.h"
#include "core/query/advice/advice_trace.h"
#include "core/query/advice/advice_words.h"
#include "core/query/advice/waiting_advice.h"
#include "core/query/kernels/kernel_stalls.h"
#include "core/query/ranks/rank_delays.h"
#include "core/query/steps/step_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>

namespace tilescope::query {

namespace {

using analysis::AdviceRule;
using analysis::DeviceWork;
using analysis::HostCause;
using analysis::IdleCause;
using analysis::KernelFamily;
using analysis::Stake;
using quantity::Unit;

constexpr const char* kNoGpu = "no GPU activity was recorded";
constexpr const char* kNoSheet = "the peak rates of the device are unknown";

bool isCompute(const ActivityKind& kind)
{
    return kind.work == DeviceWork::Compute;
}

bool isCommunication(const ActivityKind& kind)
{
    return kind.work == DeviceWork::Communication;
}

bool isProduct(const ActivityKind& kind)
{
    return kind.event == DeviceEventKind::Kernel &&
           (kind.family == KernelFamily::Matmul || kind.family == KernelFamily::Convolution ||
            kind.family == KernelFamily::Attention);
}

bool isFp32Product(const ActivityKind& kind)
{
    return isProduct(kind) && analysis::multipliesOutsideTensorCores(kind.fullName);
}

bool isConversion(const ActivityKind& kind)
{
    return kind.event == DeviceEventKind::Kernel && analysis::convertsType(kind.fullName);
}

std::string launchText(const ActivityKind& kind)
{
    const auto volume = [](const std::array<std::uint32_t, 3>& extent) {
        return quantity::Scale{}.text(std::int64_t{extent[0]} * extent[1] * extent[2]);
    };
    const LaunchConfig& launch = kind.launch;
    std::string text = quantity::withUnit(100 * kind.reach->share, Unit::Percent) +
                       " of the warps, limited by " + std::string(wordOf(kind.reach->limit)) + ": grid " +
                       volume(launch.grid) + ", block " + volume(launch.block);
    if (launch.registersPerThread > 0)
        text += ", " + std::to_string(launch.registersPerThread) + " registers";
    if (const std::uint32_t shared = launch.staticShared + launch.dynamicShared)
        text += ", " + quantity::withUnit(shared, Unit::Bytes) + " shared";
    return text;
}

/// Applies the rules to the traces: to each process by itself, so that what is at stake in a mean step is the mean of
/// theirs.
class Advisor {
public:
    Advisor(const store::RunReader& reader, AdviceTraces traces)
        : reader_(reader), traces_(std::move(traces)),
          waiting_(waitingRecords(reader, {.run = traces_.run.run, .topology = traces_.topology})),
          onGpu_(traces_.any(&AdviceTrace::onGpu)), isWhole_(traces_.any(&AdviceTrace::isWhole))
    {
    }

    AdviceTable judge(const RankDelays& delays)
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
        std::ranges::stable_sort(table_.rows, std::greater(), &Advice::atStake);
        std::ranges::sort(table_.unjudged, {}, &UnjudgedRule::rule);
        for (std::size_t i = 0; i < analysis::kAdviceRules; ++i) {
            const auto rule = static_cast<AdviceRule>(i);
            if (std::ranges::find(table_.rows, rule, &Advice::rule) == table_.rows.end() &&
                std::ranges::find(table_.unjudged, rule, &UnjudgedRule::rule) == table_.unjudged.end())
                table_.silent.push_back(rule);
        }
        return std::move(table_);
    }

private:
    void cannotJudge(AdviceRule rule, std::string why) { table_.unjudged.push_back({rule, std::move(why)}); }

    /// Whether there is GPU activity; otherwise notes why the rule is not judged.
    bool hasGpuFor(AdviceRule rule)
    {
        if (!onGpu_)
            cannotJudge(rule, kNoGpu);
        return onGpu_;
    }

    /// The sum over the processes.
    /// \param ofOne  the stake of a trace
    template <class OfOne> Stake sumOver(const OfOne& ofOne)
    {
        std::vector<Stake> stakes;
        for (AdviceTrace& trace : traces_.processes)
            stakes.push_back(ofOne(trace));
        return analysis::sumOf(stakes);
    }

    std::string ofAStep() const { return isWhole_ ? " of the recording" : " of a step"; }
    std::string inAStep() const { return isWhole_ ? " in the recording" : " in a step"; }

    std::string timeText(Nanoseconds time) const
    {
        return quantity::withUnit(table_.perStep(time), Unit::Nanoseconds) + ofAStep() + " (" +
               quantity::withUnit(table_.percent(time), Unit::Percent) + ")";
    }

    /// "12 small kernels" in a mean step.
    std::string countText(const Stake& stake, std::string_view one, std::string_view several = {}) const
    {
        double count = 0;
        for (const analysis::StakePart& part : stake.parts)
            count += static_cast<double>(part.count);
        count /= static_cast<double>(std::max<std::int64_t>(1, table_.steps));
        const bool isWhole = count == std::floor(count);
        return (isWhole ? quantity::Scale{}.text(static_cast<std::int64_t>(count))
                        : quantity::threeDigits(count)) +
               " " + plural(count == 1 ? 1 : 2, one, several);
    }

    std::string show(const std::string& section) const
    {
        return "tilescope show " + shellPath(reader_.file()) + " " + section + " --run " +
               std::to_string(traces_.run.run.value) + traces_.option;
    }

    /// A section about all ranks.
    std::string showAll(const std::string& section) const
    {
        return "tilescope show " + shellPath(reader_.file()) + " " + section + " --run " +
               std::to_string(traces_.run.run.value);
    }

    bool isWorthNaming(Nanoseconds atStake) const
    {
        return atStake.count() > 0 &&
               static_cast<double>(atStake.count()) >=
                   analysis::kLeastShareAtStake * static_cast<double>(table_.wall.count());
    }

    /// \param command   shows related rows
    /// \param sentence  makes it; called if enough is at stake
    template <class Sentence>
    void find(AdviceRule rule, const Stake& stake, std::string command, const Sentence& sentence)
    {
        if (isWorthNaming(stake.time))
            add(rule, stake, {.sentence = sentence(), .command = std::move(command)});
    }

    void add(AdviceRule rule, const Stake& stake, Advice advice)
    {
        advice.rule = rule;
        advice.bound = boundOf(rule, onGpu_);
        if (advice.remedy.empty())
            advice.remedy = remedyOf(rule);
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

    std::uint32_t kernelSource(const ActivityKind& kind, std::string note = {})
    {
        return traces_.sources.of({.kind = kind.event == DeviceEventKind::Memcpy ? "copy" : "kernel",
                                   .name = kind.name,
                                   .note = std::move(note)});
    }

    std::uint32_t placeSource(const ActivityKind& kind)
    {
        return traces_.sources.of(
            {.kind = "module", .name = kind.place.empty() ? "outside of modules" : kind.place});
    }

    // --- idle time of the GPU; on a CPU, time in which data is loaded -------------------------------------------

    void judgeIdle()
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
            const std::vector<analysis::Interval> busy =
                trace.busyWith([](const ActivityKind&) { return true; });
            const std::vector<analysis::Interval> idle = analysis::difference(trace.walls, busy);
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
        if (!traces_.any(&AdviceTrace::hasCalls))
            cannotJudge(AdviceRule::Synchronization, "no CUDA calls of the host were recorded");
        else
            synchronization(of(IdleCause::Synchronization));
        if (!traces_.any(&AdviceTrace::hasLaunches))
            cannotJudge(AdviceRule::LaunchBound, "it was not recorded when the host launched");
        else
            launching(of(IdleCause::Launching));
    }

    // --- idle time of the GPU by the stacks of the host -------------------------------------------------------

    /// " Most at train.py:41 in step: 12.1 ms of a step (11.0 ms to 13.2 ms)." Empty: no line is known.
    std::string costliest(std::initializer_list<HostCause> causes) const
    {
        const std::vector<WaitingLine> lines = waiting_.linesOf(causes);
        if (lines.empty() || lines.front().place.empty() || lines.front().time.count() <= 0)
            return {};
        const WaitingLine& line = lines.front();
        const auto ofAMeanStep = [this](double time) {
            return quantity::withUnit(time / static_cast<double>(std::max<std::int64_t>(1, table_.steps)),
                                      Unit::Nanoseconds);
        };
        return " Most at " + line.place + ": " + ofAMeanStep(static_cast<double>(line.time.count())) +
               (line.interval
                    ? " (" + ofAMeanStep(line.interval->low) + " to " + ofAMeanStep(line.interval->high) + ")"
                    : "") +
               ".";
    }

    /// " 28.1 ms are below forward of modeling_llama.py:26: compile that module."
    std::string moduleText() const
    {
        const std::optional<WaitingLine> module = waiting_.module();
        if (!module || !isWorthNaming(module->time))
            return {};
        return " " + quantity::withUnit(table_.perStep(module->time), Unit::Nanoseconds) + " are below " +
               module->place + ": compile that module.";
    }

    void judgeHost()
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
                stake.parts.push_back(
                    {.group = source, .count = 0, .total = line.time, .atStake = line.time});
            }
            find(rule, stake, show("waiting"), [&, cause = cause] {
                const std::string does = cause == HostCause::GarbageCollection ? "Python collects garbage."
                                         : cause == HostCause::Optimizer
                                             ? "the host is in the step of an optimizer."
                                             : "the host logs.";
                return "The GPU is idle for " + timeText(stake.time) + " while " + does + costliest({cause});
            });
        }
    }

    /// The idle times of the steps; without steps the path of the whole recording.
    std::string showSteps() const { return show(isWhole_ ? "path" : "steps"); }

    void startUp(const Stake& stake)
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

    void loading(const Stake& stake)
    {
        find(AdviceRule::DataLoading, stake, show("tree"), [&] {
            return (onGpu_ ? "The GPU is idle for " : "The host loads data for ") + timeText(stake.time) +
                   (onGpu_ ? " while the host loads data." : ".") + costliest({HostCause::DataLoading});
        });
    }

    void launching(const Stake& stake)
    {
        find(AdviceRule::LaunchBound, stake, showSteps(), [&] {
            const Nanoseconds idle = std::max(stake.time, idleWhileLaunching());
            return "The GPU is idle for " + timeText(idle) + " while the host prepares launches" +
                   (timeText(idle) == timeText(stake.time)
                        ? "."
                        : ", of which " + timeText(stake.time) +
                              " is not due to start-up, to a synchronization, to loading data or to "
                              "allocating.") +
                   pythonText() +
                   costliest({HostCause::Python, HostCause::Backward, HostCause::Optimizer,
                              HostCause::OffCore, HostCause::CudaCalls, HostCause::Compilation,
                              HostCause::InterpreterLock, HostCause::OtherProcesses}) +
                   moduleText();
        });
    }

    /// Of the idle time, the share in which no thread runs code that records itself.
    std::string pythonText() const
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

    /// As the steps of the run show it: whatever made the host late. 0 if the whole recording counts as one step.
    Nanoseconds idleWhileLaunching() const
    {
        Nanoseconds idle{0};
        if (!isWhole_)
            for (const StepRow& row :
                 steps(reader_, {.run = traces_.run.run, .topology = traces_.topology}).rows)
                if (traces_.choice.isTypical(row.numbers.process, row.step))
                    idle += row.partition.launching;
        return idle;
    }

    void synchronization(const Stake& stake)
    {
        find(AdviceRule::Synchronization, stake, showSteps(), [&] {
            const bool hasPlace = std::ranges::any_of(stake.parts, [&](const analysis::StakePart& part) {
                return part.atStake.count() > 0 && !traces_.sources[part.group].place.empty();
            });
            return "The GPU is idle for " + timeText(stake.time) +
                   " because the host waited for it before it launched more" +
                   (hasPlace || waiting_.isKnown() ? "." : "; where in the program was not recorded.") +
                   costliest({HostCause::Synchronization});
        });
    }

    void memory(const Stake& stake)
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

    Bytes meanOfProcesses(Bytes AdviceTrace::*bytes) const
    {
        std::int64_t sum = 0;
        for (const AdviceTrace& trace : traces_.processes)
            sum += (trace.*bytes).count;
        return Bytes{sum / std::ssize(traces_.processes)};
    }

    static std::string bytesText(Bytes bytes)
    {
        return quantity::withUnit(static_cast<double>(bytes.count), Unit::Bytes);
    }

    // --- activities of the GPU ----------------------------------------------------------------------------------

    void judgeSmallKernels()
    {
        if (!hasGpuFor(AdviceRule::SmallKernels))
            return;
        const Stake stake = sumOver([this](const AdviceTrace& trace) {
            std::vector<std::uint32_t> sources;
            for (const ActivityKind& kind : trace.kinds)
                sources.push_back(kernelSource(kind));
            std::vector<analysis::StreamActivity> activities;
            activities.reserve(trace.activities.size());
            for (const AdviceTrace::Activity& each : trace.activities) {
                const ActivityKind& kind = trace.kinds[each.kind];
                activities.push_back({{each.time, sources[each.kind]},
                                      each.device,
                                      each.stream,
                                      kind.event == DeviceEventKind::Kernel && isCompute(kind)});
            }
            return smallKernels(std::move(activities), trace.walls);
        });
        find(AdviceRule::SmallKernels, stake, show("kernels"), [&] {
            return countText(stake, "kernel") + inAStep() +
                   (stake.parts.size() == 1 && stake.parts.front().count == 1 ? " is" : " are") +
                   " shorter than 10 µs and follow each other; all but the longest of each series "
                   "take " +
                   timeText(stake.time) + ".";
        });
    }

    void judgeCopies()
    {
        if (!onGpu_) {
            cannotJudge(AdviceRule::PageableCopy, kNoGpu);
            cannotJudge(AdviceRule::ExposedCopy, kNoGpu);
            cannotJudge(AdviceRule::HostCopies, kNoGpu);
            return;
        }
        const auto sourceOf = [this](const ActivityKind& kind) {
            return traces_.sources.of({.kind = "copy", .name = kind.name, .place = kind.place});
        };
        const auto isKernel = [](const ActivityKind& kind) { return kind.event == DeviceEventKind::Kernel; };
        const bool hasCopies = traces_.anyKind(&ActivityKind::isBetweenHostAndDevice);
        const bool isKnown = traces_.anyKind([](const ActivityKind& kind) {
            return kind.isPageable() || kind.fullName.find("Pinned") != std::string::npos;
        });
        if (hasCopies && !isKnown)
            cannotJudge(AdviceRule::PageableCopy,
                        "whether the host's memory is page-locked was not recorded");
        const Stake paged = sumOver([&](const AdviceTrace& trace) {
            const auto copies = trace.timesOf([&](const ActivityKind& kind) {
                return kind.isPageable() ? std::optional(sourceOf(kind)) : std::nullopt;
            });
            return stakeOf(copies, trace.walls, trace.busyWith(isKernel));
        });
        find(AdviceRule::PageableCopy, paged, show("kernels"), [&] {
            return countText(paged, "copy", "copies") + inAStep() +
                   " from or to pageable memory run beside no kernel for " + timeText(paged.time) + ".";
        });
        const Stake exposed = sumOver([&](const AdviceTrace& trace) {
            const auto copies = trace.timesOf([&](const ActivityKind& kind) {
                return kind.isBetweenHostAndDevice() && !kind.isPageable() ? std::optional(sourceOf(kind))
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

    /// Copies that cannot be hidden beside kernels, because there are too few of these: only fewer bytes help.
    /// \param hidden  what page-locked memory, or copies beside kernels, save at most
    void judgeHostCopies(Nanoseconds hidden)
    {
        constexpr int kTimesHidden = 2;
        const Stake stake = sumOver([&](const AdviceTrace& trace) {
            const auto copies = trace.timesOf([&](const ActivityKind& kind) {
                return kind.isBetweenHostAndDevice()
                           ? std::optional(
                                 traces_.sources.of({.kind = "copy", .name = kind.name, .place = kind.place}))
                           : std::nullopt;
            });
            return stakeOf(copies, trace.walls, trace.busyWith([](const ActivityKind& kind) {
                return kind.event == DeviceEventKind::Kernel;
            }));
        });
        if (stake.time < kTimesHidden * hidden)
            return;
        find(AdviceRule::HostCopies, stake, show("kernels"), [&] {
            return "For " + timeText(stake.time) + " the GPU only copies from or to the host, " +
                   countText(stake, "copy", "copies") + inAStep() + "." + equalCopiesText();
        });
    }

    /// " Every step copies the same 5 sizes, 1.2 GB in all; …": what is copied again may not have changed.
    std::string equalCopiesText() const
    {
        if (isWhole_)
            return {};
        std::int64_t bytes = 0;
        std::size_t count = 0;
        for (const AdviceTrace& trace : traces_.processes) {
            std::vector<std::map<std::int64_t, int>> sizes(trace.walls.size()); // by step: how often
            for (const AdviceTrace::CopySize& copy : trace.copies) {
                const AdviceTrace::Activity& activity = trace.activities[copy.activity];
                const auto wall = std::ranges::upper_bound(trace.walls, activity.time.start, {},
                                                           &analysis::Interval::start);
                if (wall != trace.walls.begin() && std::prev(wall)->end > activity.time.start &&
                    trace.kinds[activity.kind].copy == CopyKind::HostToDevice)
                    ++sizes[static_cast<std::size_t>(wall - trace.walls.begin() - 1)][copy.bytes];
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
        return " Every step copies the same " +
               counted(static_cast<std::int64_t>(count) / processes, "size") + " to the GPU, " +
               bytesText(Bytes{bytes / processes}) +
               " in all: whether their contents change was not recorded.";
    }

    void judgeCommunication()
    {
        if (!hasGpuFor(AdviceRule::ExposedCommunication))
            return;
        const Stake stake = sumOver([this](const AdviceTrace& trace) {
            const auto times = trace.timesOf([this](const ActivityKind& kind) {
                return isCommunication(kind) ? std::optional(kernelSource(kind)) : std::nullopt;
            });
            return exposedStake(times, trace.walls, trace.busyWith(isCompute));
        });
        find(AdviceRule::ExposedCommunication, stake, show("collectives"), [&] {
            return "Communication runs beside no compute for " + timeText(stake.time) +
                   " and could, which includes waiting for other ranks.";
        });
    }

    /// All-reduces of few bytes take their latency, however few the bytes are.
    void judgeSmallCollectives()
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
                const auto wall =
                    std::ranges::upper_bound(trace.walls, each.time.start, {}, &analysis::Interval::start);
                if (known == isSmall.end() || !known->second || wall == trace.walls.begin())
                    continue;
                analysis::GroupedTime next{each.time, kernelSource(trace.kinds[each.kind])};
                auto& most = longest[static_cast<std::size_t>(wall - trace.walls.begin() - 1)];
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

    void judgeUnevenRanks()
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
                return quantity::withUnit(
                    static_cast<double>(time.count()) /
                        static_cast<double>(std::max<std::size_t>(1, longest.walls.size())),
                    Unit::Nanoseconds);
            };
            return name + " computes for " + ofAStep(*most) + inAStep() + ", the mean rank for " +
                   ofAStep(sum / std::ssize(computing)) + ": the others can wait for it for " +
                   timeText(more) + ".";
        });
    }

    void judgeLayouts()
    {
        if (!hasGpuFor(AdviceRule::ConvolutionLayouts))
            return;
        const auto isLayout = [](const ActivityKind& kind) {
            const auto has = [&kind](std::string_view word) {
                return kind.fullName.find(word) != std::string::npos;
            };
            return kind.event == DeviceEventKind::Kernel &&
                   (has("nchwToNhwc") || has("nhwcToNchw") || has("NchwToNhwc") || has("NhwcToNchw") ||
                    has("nchw_to_nhwc") || has("nhwc_to_nchw") || has("batched_transpose_"));
        };
        const bool convolves = traces_.anyKind(
            [](const ActivityKind& kind) { return kind.family == KernelFamily::Convolution; });
        if (!convolves)
            return;
        const Stake stake = sumOver([&](const AdviceTrace& trace) {
            const auto times = trace.timesOf([&](const ActivityKind& kind) {
                return isLayout(kind) ? std::optional(kernelSource(kind)) : std::nullopt;
            });
            return stakeOf(times, trace.walls,
                           trace.busyWith([&](const ActivityKind& kind) { return !isLayout(kind); }));
        });
        find(AdviceRule::ConvolutionLayouts, stake, show("kernels"), [&] {
            return countText(stake, "kernel") + inAStep() +
                   " only change the layout of tensors for convolutions: " + timeText(stake.time) + ".";
        });
    }

    /// Steps that replay no graph, while others replay most of their work.
    void judgeEagerSteps()
    {
        if (!hasGpuFor(AdviceRule::EagerSteps) || isWhole_)
            return;
        const Stake stake = sumOver([&](const AdviceTrace& trace) {
            std::vector<std::array<std::size_t, 2>> counts(trace.walls.size()); // of all, of those replayed
            const auto count = [&](const AdviceTrace::Activity& activity, std::size_t which) {
                const auto wall = std::ranges::upper_bound(trace.walls, activity.time.start, {},
                                                           &analysis::Interval::start);
                if (wall != trace.walls.begin() && std::prev(wall)->end > activity.time.start)
                    ++counts[static_cast<std::size_t>(wall - trace.walls.begin() - 1)][which];
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

    /// Time without compute that the ranks wait, by name and place.
    Stake stakeOfDelays(const RankDelays& delays, std::vector<RankDelay> RankDelays::Waiting::*list,
                        const char* kind)
    {
        std::vector<Stake> stakes;
        for (std::size_t i = 0; i < delays.ranks.size(); ++i) {
            const AdviceTrace& trace = traces_.processes[i];
            std::vector<analysis::GroupedTime> times;
            for (const RankDelay& delay : delays.ranks[i].*list)
                times.push_back({delay.time, traces_.sources.of(
                                                 {.kind = kind, .name = delay.name, .place = delay.place})});
            stakes.push_back(stakeOf(std::move(times), trace.walls, trace.busyWith(isCompute)));
        }
        return analysis::sumOf(stakes);
    }

    void judgeRanks(const RankDelays& delays)
    {
        using Kind = analysis::StragglerVerdict::Kind;
        const Stake waits = stakeOfDelays(delays, &RankDelays::Waiting::forOthers, "rank");
        if (delays.straggler.kind == Kind::TooFewSteps)
            cannotJudge(AdviceRule::LateRank, "to tell a straggler from chance, it takes " +
                                                  counted(analysis::kFewestStepsForVerdict, "step") +
                                                  " in which a rank was last");
        else if (delays.straggler.kind == Kind::Straggler)
            find(AdviceRule::LateRank, waits, showAll("ranks"), [&] {
                return delays.stragglerName + " is last in " + std::to_string(delays.straggler.lastIn) +
                       " of " + counted(delays.straggler.steps, "step") + "; waiting for late ranks takes " +
                       timeText(waits.time) + ".";
            });
        const Stake gathers = stakeOfDelays(delays, &RankDelays::Waiting::forGathers, "kernel");
        find(AdviceRule::LateGather, gathers, showAll("collectives"), [&] {
            return "Work waits for " + countText(gathers, "all-gather") + inAStep() + " for " +
                   timeText(gathers.time) + ".";
        });
    }

    void judgeOccupancy()
    {
        if (!hasGpuFor(AdviceRule::LowOccupancy))
            return;
        const bool hasLimits = std::ranges::any_of(traces_.processes, [](const AdviceTrace& trace) {
            return std::ranges::any_of(trace.devices,
                                       [](const auto& device) { return device.second.limits.has_value(); });
        });
        if (!hasLimits) {
            cannotJudge(AdviceRule::LowOccupancy, "the compute capability of the GPU was not recorded");
            return;
        }
        const bool needs = traces_.anyKind([](const ActivityKind& kind) {
            return kind.event == DeviceEventKind::Kernel && analysis::needsOccupancy(kind.family);
        });
        const auto hasReach = [](const ActivityKind& kind) { return kind.reach.has_value(); };
        if (needs && !traces_.anyKind(hasReach)) {
            cannotJudge(AdviceRule::LowOccupancy, "grids and blocks of launches were not recorded");
            return;
        }
        const auto isLow = [](const ActivityKind& kind) {
            return kind.reach && kind.reach->share < analysis::kLowOccupancy;
        };
        const Stake stake = sumOver([&](const AdviceTrace& trace) {
            std::map<std::uint32_t, double> shares;
            auto times = trace.timesOf([&](const ActivityKind& kind) -> std::optional<std::uint32_t> {
                if (!isLow(kind))
                    return {};
                const std::uint32_t source = kernelSource(kind, launchText(kind));
                shares[source] = kind.reach->share;
                return source;
            });
            std::erase_if(times, [](const analysis::GroupedTime& each) {
                return each.time.length() < analysis::kSmallKernel;
            });
            return lowOccupancy(std::move(times), trace.walls,
                                trace.busyWith([&](const ActivityKind& kind) { return !isLow(kind); }),
                                [&shares](std::uint32_t source) { return shares[source]; });
        });
        find(AdviceRule::LowOccupancy, stake, show("kernels"), [&] {
            return countText(stake, "kernel") + inAStep() +
                   " can use less than half of the GPU's "
                   "warps; with all of them, they would take up to " +
                   timeText(stake.time) + " less.";
        });
    }

    static const analysis::ProductRates* ratesOf(const AdviceTrace& trace)
    {
        for (const auto& [id, device] : trace.devices)
            if (device.rates)
                return &*device.rates;
        return nullptr;
    }

    bool knowsRates() const
    {
        return std::ranges::all_of(traces_.processes,
                                   [](const AdviceTrace& trace) { return ratesOf(trace) != nullptr; });
    }

    void judgeTensorCores()
    {
        if (!hasGpuFor(AdviceRule::TensorCores))
            return;
        if (!traces_.anyKind(isFp32Product))
            return;
        if (!knowsRates()) {
            cannotJudge(AdviceRule::TensorCores, kNoSheet);
            return;
        }
        const Stake stake = sumOver([this](const AdviceTrace& trace) {
            return unusedTensorCores(
                trace.timesOf([this](const ActivityKind& kind) {
                    return isFp32Product(kind) ? std::optional(kernelSource(kind)) : std::nullopt;
                }),
                trace.walls, trace.busyWith([](const ActivityKind& kind) { return !isFp32Product(kind); }),
                *ratesOf(trace));
        });
        find(AdviceRule::TensorCores, stake, show("kernels"), [&] {
            return countText(stake, "product") + inAStep() +
                   " in fp32 run outside of the tensor cores; there, they would take up to " +
                   timeText(stake.time) + " less.";
        });
    }

    void judgeConversions()
    {
        if (!hasGpuFor(AdviceRule::Conversions))
            return;
        if (!traces_.anyKind(isConversion))
            return;
        if (!knowsRates() && traces_.anyKind(&ActivityKind::isLowPrecisionProduct)) {
            cannotJudge(AdviceRule::Conversions, kNoSheet);
            return;
        }
        const Stake stake = sumOver([this](const AdviceTrace& trace) {
            std::map<std::uint32_t, Nanoseconds> products;
            const auto ofProducts = trace.timesOf([this](const ActivityKind& kind) {
                return kind.isLowPrecisionProduct() ? std::optional(placeSource(kind)) : std::nullopt;
            });
            for (const analysis::StakePart& part : stakeOf(ofProducts, trace.walls).parts)
                products[part.group] = part.atStake;
            const analysis::ProductRates* const rate = ratesOf(trace);
            return costlyConversions(
                trace.timesOf([this](const ActivityKind& kind) {
                    return isConversion(kind) ? std::optional(placeSource(kind)) : std::nullopt;
                }),
                trace.walls, trace.busyWith([](const ActivityKind& kind) { return !isConversion(kind); }),
                products, rate ? *rate : analysis::ProductRates{});
        });
        find(AdviceRule::Conversions, stake, show("kernels") + " --group module", [&] {
            return "Conversions of types cost " + timeText(stake.time) + " more than they save in products.";
        });
    }

    void judgeRecomputation()
    {
        if (!traces_.any(&AdviceTrace::hasBackwardOps) && !traces_.any(&AdviceTrace::hasBackwardWork)) {
            cannotJudge(AdviceRule::Recomputation, "no ops of backward were recorded");
            return;
        }
        const Stake stake = sumOver([this](const AdviceTrace& trace) {
            if (!onGpu_)
                return stakeOf(trace.recomputed, trace.walls);
            const auto times = trace.timesOf([this](const ActivityKind& kind) {
                return kind.isRecomputed ? std::optional(placeSource(kind)) : std::nullopt;
            });
            return stakeOf(times, trace.walls,
                           trace.busyWith([](const ActivityKind& kind) { return !kind.isRecomputed; }));
        });
        find(AdviceRule::Recomputation, stake, show("tree"),
             [&] { return "Backward repeats " + timeText(stake.time) + " of forward."; });
    }

    /// Of sampled kernels.
    void judgeStalls()
    {
        if (!hasGpuFor(AdviceRule::KernelStalls))
            return;
        const std::map<std::string, KernelStall> stalls = kernelStalls(reader_, traces_.run.run);
        if (stalls.empty())
            return cannotJudge(AdviceRule::KernelStalls, "kernels were not sampled (record --inside)");
        const auto stallOf = [&stalls](const ActivityKind& kind) {
            const auto found = stalls.find(kind.fullName);
            return kind.event == DeviceEventKind::Kernel && found != stalls.end() ? &found->second : nullptr;
        };
        std::map<std::uint32_t, std::pair<const KernelStall*, const ActivityKind*>> ofSource;
        const Stake stake = sumOver([&](const AdviceTrace& trace) {
            const auto times = trace.timesOf([&](const ActivityKind& kind) -> std::optional<std::uint32_t> {
                const KernelStall* const stall = stallOf(kind);
                if (!stall)
                    return std::nullopt;
                const std::uint32_t source = kernelSource(kind, stall->reason + lineNote(stall->line));
                ofSource[source] = {stall, &kind};
                return source;
            });
            return scaled(stakeOf(times, trace.walls,
                                  trace.busyWith([&](const ActivityKind& kind) { return !stallOf(kind); })),
                          [&](std::uint32_t source) { return ofSource[source].first->share; });
        });
        if (!isWorthNaming(stake.time))
            return;
        const auto& [stall, kind] = ofSource[stake.parts.front().group];
        const analysis::StallReason reason = analysis::stallReason(stall->reason);
        const std::string readable = analysis::readableKernelName(kind->fullName);
        const std::string root(analysis::parseKernelName(readable).root);
        add(AdviceRule::KernelStalls, stake,
            {.sentence = "In sampled kernels, issue slots stay empty for " + timeText(stake.time) +
                         " because warps wait; most in " + kind->name + ", where " +
                         quantity::withUnit(100 * stall->share, Unit::Percent) + " are empty by " +
                         stall->reason + lineNote(stall->line) + ": " + std::string(reason.name) + ".",
             .remedy = std::string(reason.remedy),
             .command = show("inside") + " --kernel " + shellWord(root.empty() ? readable : root)});
    }

    /// " at train.py:12"
    static std::string lineNote(const SourceLine& line)
    {
        return line.line > 0
                   ? " at " + line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line)
                   : std::string();
    }

    const store::RunReader& reader_;
    AdviceTraces traces_;
    WaitingAdvice waiting_;
    bool onGpu_;
    bool isWhole_;                 ///< no steps were recorded
    Nanoseconds idle_{0};          ///< of the GPUs in all steps
    Nanoseconds outsideOfCode_{0}; ///< of it: no thread is in an op or a CUDA call
    AdviceTable table_;
};

} // namespace

double AdviceTable::perStep(Nanoseconds time) const
{
    return steps > 0 ? static_cast<double>(time.count()) / static_cast<double>(steps) : 0;
}

double AdviceTable::percent(Nanoseconds time) const
{
    return wall.count() > 0 ? 100.0 * static_cast<double>(time.count()) / static_cast<double>(wall.count())
                            : 0;
}

AdviceTable advice(const store::RunReader& reader, std::optional<RunId> run, const ProcessQuery& topology,
                   const std::function<bool()>& cancelled)
{
    AdviceTraces traces = adviceTraces(reader, run, topology, cancelled);
    std::vector<std::optional<std::int32_t>> ranks;
    for (const AdviceTrace& trace : traces.processes)
        ranks.push_back(trace.rank);
    const RankDelays delays = rankDelays(reader, traces.run.run, ranks, cancelled);
    return Advisor(reader, std::move(traces)).judge(delays);
}

} // namespace tilescope::query
