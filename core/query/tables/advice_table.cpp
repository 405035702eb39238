#include "core/query/tables/advice_table.h"

#include "core/analysis/advice/conversions.h"
#include "core/analysis/advice/fragmentation.h"
#include "core/analysis/advice/small_kernels.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/base/shell_word.h"
#include "core/query/tables/advice_trace.h"
#include "core/query/tables/advice_words.h"
#include "core/query/tables/rank_delays.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace tilescope::query {

namespace {

using analysis::AdviceRule;
using analysis::DeviceWork;
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

/// Applies the rules to a trace.
class Advisor {
public:
    Advisor(const store::RunReader& reader, AdviceTrace trace) : reader_(reader), trace_(std::move(trace)) {}

    AdviceTable judge(const RankDelays& delays)
    {
        table_.run = trace_.run;
        table_.rank = trace_.rank;
        table_.process = trace_.process;
        table_.isWhole = trace_.isWhole;
        table_.steps = trace_.steps;
        table_.wall = trace_.wall();
        if (trace_.walls.empty())
            return std::move(table_);
        judgeIdle();
        judgeSmallKernels();
        judgeCopies();
        judgeCommunication();
        judgeRanks(delays);
        judgeOccupancy();
        judgeTensorCores();
        judgeConversions();
        judgeRecomputation();
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
        if (!trace_.onGpu)
            cannotJudge(rule, kNoGpu);
        return trace_.onGpu;
    }

    std::string ofAStep() const { return trace_.isWhole ? " of the recording" : " of a step"; }
    std::string inAStep() const { return trace_.isWhole ? " in the recording" : " in a step"; }

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
               std::to_string(trace_.run.run.value) + trace_.option;
    }

    /// A section about all ranks.
    std::string showAll(const std::string& section) const
    {
        return "tilescope show " + shellPath(reader_.file()) + " " + section + " --run " +
               std::to_string(trace_.run.run.value);
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
        advice.bound = boundOf(rule, trace_.onGpu);
        advice.remedy = remedyOf(rule);
        advice.atStake = stake.time;
        for (const analysis::StakePart& part : stake.parts) {
            if (part.atStake.count() <= 0)
                continue;
            const AdviceSource& source = trace_.sources[part.group];
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
        return trace_.sources.of({.kind = kind.event == DeviceEventKind::Memcpy ? "copy" : "kernel",
                                  .name = kind.name,
                                  .note = std::move(note)});
    }

    std::uint32_t placeSource(const ActivityKind& kind)
    {
        return trace_.sources.of(
            {.kind = "module", .name = kind.place.empty() ? "outside of modules" : kind.place});
    }

    // --- idle time of the GPU; on a CPU, time in which data is loaded -------------------------------------------

    void judgeIdle()
    {
        if (!trace_.hasHostEvents)
            cannotJudge(AdviceRule::DataLoading, "no host events were recorded");
        if (!trace_.onGpu) {
            for (const AdviceRule rule :
                 {AdviceRule::LaunchBound, AdviceRule::Synchronization, AdviceRule::Fragmentation})
                cannotJudge(rule, kNoGpu);
            loading(stakeOf(trace_.loading, trace_.walls));
            return;
        }
        const auto causes = idleCauses(
            trace_.walls, trace_.busyWith([](const ActivityKind&) { return true; }), std::move(trace_.host));
        const auto of = [&causes](IdleCause cause) -> const Stake& {
            return causes[static_cast<std::size_t>(cause)];
        };
        loading(of(IdleCause::DataLoading));
        memory(of(IdleCause::Allocating));
        if (!trace_.hasCalls)
            cannotJudge(AdviceRule::Synchronization, "no CUDA calls of the host were recorded");
        else
            synchronization(of(IdleCause::Synchronization));
        if (!trace_.hasLaunches)
            cannotJudge(AdviceRule::LaunchBound, "it was not recorded when the host launched");
        else
            launching(of(IdleCause::Launching));
    }

    void loading(const Stake& stake)
    {
        find(AdviceRule::DataLoading, stake, show("tree"), [&] {
            return (trace_.onGpu ? "The GPU is idle for " : "The host loads data for ") +
                   timeText(stake.time) + (trace_.onGpu ? " while the host loads data." : ".");
        });
    }

    void launching(const Stake& stake)
    {
        find(AdviceRule::LaunchBound, stake, show("steps"), [&] {
            return "The GPU is idle for " + timeText(stake.time) + " while the host prepares launches.";
        });
    }

    void synchronization(const Stake& stake)
    {
        find(AdviceRule::Synchronization, stake, show("steps"), [&] {
            const bool hasPlace = std::ranges::any_of(stake.parts, [&](const analysis::StakePart& part) {
                return part.atStake.count() > 0 && !trace_.sources[part.group].place.empty();
            });
            return "The GPU is idle for " + timeText(stake.time) +
                   " because the host waited for it before it launched more" +
                   (hasPlace ? "." : "; where in the program was not recorded.");
        });
    }

    void memory(const Stake& stake)
    {
        if (!trace_.hasReserved && !trace_.hasCalls) {
            cannotJudge(AdviceRule::Fragmentation, "no allocations of a GPU were recorded");
            return;
        }
        const std::optional<Bytes> unused =
            trace_.hasReserved ? analysis::unusedAtPeak(trace_.allocatedAtPeak, trace_.reservedAtPeak)
                               : std::nullopt;
        if (!unused && !isWorthNaming(stake.time)) {
            if (!trace_.hasReserved)
                cannotJudge(AdviceRule::Fragmentation, "no allocations of a GPU were recorded");
            return;
        }
        Advice advice{.bytes = unused, .command = show("memory") + " --group category"};
        if (unused)
            advice.sentence = "At the peak the allocator holds " + bytesText(*unused) + " of its " +
                              bytesText(trace_.reservedAtPeak) + " without use.";
        if (stake.time.count() == 0)
            advice.sentence += " This costs memory but no time: the allocator did not call the driver while "
                               "the GPU was idle.";
        else
            advice.sentence += (unused ? " The" : "The") + std::string(" GPU is idle for ") +
                               timeText(stake.time) +
                               " while the host takes memory from the driver or returns it.";
        add(AdviceRule::Fragmentation, stake, std::move(advice));
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
        std::vector<std::uint32_t> sources;
        for (const ActivityKind& kind : trace_.kinds)
            sources.push_back(kernelSource(kind));
        std::vector<analysis::StreamActivity> activities;
        activities.reserve(trace_.activities.size());
        for (const AdviceTrace::Activity& each : trace_.activities) {
            const ActivityKind& kind = trace_.kinds[each.kind];
            activities.push_back({{each.time, sources[each.kind]},
                                  each.device,
                                  each.stream,
                                  kind.event == DeviceEventKind::Kernel && isCompute(kind)});
        }
        const Stake stake = smallKernels(std::move(activities), trace_.walls);
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
        if (!trace_.onGpu) {
            cannotJudge(AdviceRule::PageableCopy, kNoGpu);
            cannotJudge(AdviceRule::ExposedCopy, kNoGpu);
            return;
        }
        const auto sourceOf = [this](const ActivityKind& kind) {
            return trace_.sources.of({.kind = "copy", .name = kind.name, .place = kind.place});
        };
        const auto pageable = trace_.timesOf([&](const ActivityKind& kind) {
            return kind.isPageable() ? std::optional(sourceOf(kind)) : std::nullopt;
        });
        const bool hasCopies = std::ranges::any_of(trace_.kinds, &ActivityKind::isBetweenHostAndDevice);
        const bool isKnown = std::ranges::any_of(trace_.kinds, [](const ActivityKind& kind) {
            return kind.isPageable() || kind.fullName.find("Pinned") != std::string::npos;
        });
        if (hasCopies && !isKnown)
            cannotJudge(AdviceRule::PageableCopy,
                        "whether the host's memory is page-locked was not recorded");
        const Stake paged = stakeOf(pageable, trace_.walls, trace_.busyWith([](const ActivityKind& kind) {
            return kind.event == DeviceEventKind::Kernel;
        }));
        find(AdviceRule::PageableCopy, paged, show("kernels"), [&] {
            return countText(paged, "copy", "copies") + inAStep() +
                   " from or to pageable memory run beside no kernel for " + timeText(paged.time) + ".";
        });
        const auto copies = trace_.timesOf([&](const ActivityKind& kind) {
            return kind.isBetweenHostAndDevice() && !kind.isPageable() ? std::optional(sourceOf(kind))
                                                                       : std::nullopt;
        });
        const Stake exposed = exposedStake(
            copies, trace_.walls,
            trace_.busyWith([](const ActivityKind& kind) { return kind.event == DeviceEventKind::Kernel; }));
        find(AdviceRule::ExposedCopy, exposed, show("kernels"), [&] {
            return countText(exposed, "copy", "copies") + inAStep() +
                   " between host and GPU could run beside kernels; " + timeText(exposed.time) + " do not.";
        });
    }

    void judgeCommunication()
    {
        if (!hasGpuFor(AdviceRule::ExposedCommunication))
            return;
        const auto times = trace_.timesOf([this](const ActivityKind& kind) {
            return isCommunication(kind) ? std::optional(kernelSource(kind)) : std::nullopt;
        });
        const Stake stake = exposedStake(times, trace_.walls, trace_.busyWith(isCompute));
        find(AdviceRule::ExposedCommunication, stake, show("collectives"), [&] {
            return "Communication runs beside no compute for " + timeText(stake.time) +
                   " and could, which includes waiting for other ranks.";
        });
    }

    /// Their time without compute, by name and place.
    Stake stakeOfDelays(const std::vector<RankDelay>& delays, const char* kind)
    {
        std::vector<analysis::GroupedTime> times;
        for (const RankDelay& delay : delays)
            times.push_back(
                {delay.time, trace_.sources.of({.kind = kind, .name = delay.name, .place = delay.place})});
        return stakeOf(std::move(times), trace_.walls, trace_.busyWith(isCompute));
    }

    void judgeRanks(const RankDelays& delays)
    {
        using Kind = analysis::StragglerVerdict::Kind;
        const Stake waits = stakeOfDelays(delays.forOthers, "rank");
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
        const Stake gathers = stakeOfDelays(delays.forGathers, "kernel");
        find(AdviceRule::LateGather, gathers, showAll("collectives"), [&] {
            return "Work waits for " + countText(gathers, "all-gather") + inAStep() + " for " +
                   timeText(gathers.time) + ".";
        });
    }

    void judgeOccupancy()
    {
        if (!hasGpuFor(AdviceRule::LowOccupancy))
            return;
        const bool hasLimits = std::ranges::any_of(
            trace_.devices, [](const auto& device) { return device.second.limits.has_value(); });
        if (!hasLimits) {
            cannotJudge(AdviceRule::LowOccupancy, "the compute capability of the GPU was not recorded");
            return;
        }
        const bool needs = std::ranges::any_of(trace_.kinds, [](const ActivityKind& kind) {
            return kind.event == DeviceEventKind::Kernel && analysis::needsOccupancy(kind.family);
        });
        const auto hasReach = [](const ActivityKind& kind) { return kind.reach.has_value(); };
        if (needs && std::ranges::none_of(trace_.kinds, hasReach)) {
            cannotJudge(AdviceRule::LowOccupancy, "grids and blocks of launches were not recorded");
            return;
        }
        const auto isLow = [](const ActivityKind& kind) {
            return kind.reach && kind.reach->share < analysis::kLowOccupancy;
        };
        std::map<std::uint32_t, double> shares;
        auto times = trace_.timesOf([&](const ActivityKind& kind) -> std::optional<std::uint32_t> {
            if (!isLow(kind))
                return {};
            const std::uint32_t source = kernelSource(kind, launchText(kind));
            shares[source] = kind.reach->share;
            return source;
        });
        std::erase_if(times, [](const analysis::GroupedTime& each) {
            return each.time.length() < analysis::kSmallKernel;
        });
        const Stake stake =
            lowOccupancy(std::move(times), trace_.walls,
                         trace_.busyWith([&](const ActivityKind& kind) { return !isLow(kind); }),
                         [&shares](std::uint32_t source) { return shares[source]; });
        find(AdviceRule::LowOccupancy, stake, show("kernels"), [&] {
            return countText(stake, "kernel") + inAStep() +
                   " can use less than half of the GPU's "
                   "warps; with all of them, they would take up to " +
                   timeText(stake.time) + " less.";
        });
    }

    const analysis::ProductRates* rates() const
    {
        for (const auto& [id, device] : trace_.devices)
            if (device.rates)
                return &*device.rates;
        return nullptr;
    }

    void judgeTensorCores()
    {
        if (!hasGpuFor(AdviceRule::TensorCores))
            return;
        if (std::ranges::none_of(trace_.kinds, isFp32Product))
            return;
        const analysis::ProductRates* const rate = rates();
        if (!rate) {
            cannotJudge(AdviceRule::TensorCores, kNoSheet);
            return;
        }
        const Stake stake = unusedTensorCores(
            trace_.timesOf([this](const ActivityKind& kind) {
                return isFp32Product(kind) ? std::optional(kernelSource(kind)) : std::nullopt;
            }),
            trace_.walls, trace_.busyWith([](const ActivityKind& kind) { return !isFp32Product(kind); }),
            *rate);
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
        if (std::ranges::none_of(trace_.kinds, isConversion))
            return;
        std::map<std::uint32_t, Nanoseconds> products;
        const auto ofProducts = trace_.timesOf([this](const ActivityKind& kind) {
            return kind.isLowPrecisionProduct() ? std::optional(placeSource(kind)) : std::nullopt;
        });
        for (const analysis::StakePart& part : stakeOf(ofProducts, trace_.walls).parts)
            products[part.group] = part.atStake;
        const analysis::ProductRates* const rate = rates();
        if (!rate && !products.empty()) {
            cannotJudge(AdviceRule::Conversions, kNoSheet);
            return;
        }
        const Stake stake = costlyConversions(
            trace_.timesOf([this](const ActivityKind& kind) {
                return isConversion(kind) ? std::optional(placeSource(kind)) : std::nullopt;
            }),
            trace_.walls, trace_.busyWith([](const ActivityKind& kind) { return !isConversion(kind); }),
            products, rate ? *rate : analysis::ProductRates{});
        find(AdviceRule::Conversions, stake, show("kernels") + " --group module", [&] {
            return "Conversions of types cost " + timeText(stake.time) + " more than they save in products.";
        });
    }

    void judgeRecomputation()
    {
        if (!trace_.hasBackwardOps && !trace_.hasBackwardWork) {
            cannotJudge(AdviceRule::Recomputation, "no ops of backward were recorded");
            return;
        }
        Stake stake;
        if (trace_.onGpu)
            stake = stakeOf(trace_.timesOf([this](const ActivityKind& kind) {
                return kind.isRecomputed ? std::optional(placeSource(kind)) : std::nullopt;
            }),
                            trace_.walls,
                            trace_.busyWith([](const ActivityKind& kind) { return !kind.isRecomputed; }));
        else
            stake = stakeOf(trace_.recomputed, trace_.walls);
        find(AdviceRule::Recomputation, stake, show("tree"),
             [&] { return "Backward repeats " + timeText(stake.time) + " of forward."; });
    }

    const store::RunReader& reader_;
    AdviceTrace trace_;
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

AdviceTable advice(const store::RunReader& reader, std::optional<RunId> run, const PartyQuery& parties,
                   const std::function<bool()>& cancelled)
{
    AdviceTrace trace = adviceTrace(reader, run, parties, cancelled);
    const RankDelays delays = rankDelays(reader, trace.run.run, trace.rank, cancelled);
    return Advisor(reader, std::move(trace)).judge(delays);
}

} // namespace tilescope::query
