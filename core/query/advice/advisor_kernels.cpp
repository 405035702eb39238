#include "core/query/advice/advisor.h"

#include "core/analysis/advice/conversions.h"
#include "core/analysis/advice/small_kernels.h"
#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/kernels/stall_reasons.h"
#include "core/base/quantity.h"
#include "core/base/shell_word.h"
#include "core/query/kernels/kernel_stalls.h"

#include <algorithm>
#include <map>

namespace tilescope::query {

using analysis::AdviceRule;
using analysis::KernelFamily;
using analysis::Stake;
using quantity::Unit;

namespace {

constexpr const char* kNoSheet = "the peak rates of the device are unknown";

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

const analysis::ProductRates* ratesOf(const AdviceTrace& trace)
{
    for (const auto& [id, device] : trace.devices)
        if (device.rates)
            return &*device.rates;
    return nullptr;
}

/// " at train.py:12"
std::string lineNote(const SourceLine& line)
{
    return line.line > 0
               ? " at " + line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line)
               : std::string();
}

} // namespace

void Advisor::judgeSmallKernels()
{
    if (!hasGpuFor(AdviceRule::SmallKernels))
        return;
    std::map<std::uint32_t, KernelOrigin> origins; // by source
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        std::vector<std::uint32_t> sources;
        for (const ActivityKind& kind : trace.kinds) {
            sources.push_back(kernelSource(kind));
            origins.emplace(sources.back(), originOf(kind));
        }
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
    if (!isWorthNaming(stake.time))
        return;
    std::array<double, kKernelOrigins> shares{};
    for (const analysis::StakePart& part : stake.parts)
        shares[static_cast<std::size_t>(origins[part.group])] +=
            static_cast<double>(part.atStake.count()) / static_cast<double>(stake.time.count());
    add(AdviceRule::SmallKernels, stake,
        {.sentence = countText(stake, "kernel") + inAStep() +
                     (stake.parts.size() == 1 && stake.parts.front().count == 1 ? " is" : " are") +
                     " shorter than 10 µs and follow each other; all but the longest of each series "
                     "take " +
                     timeText(stake.time) + ".",
         .remedy = remedyOfSmallKernels(shares, methods_),
         .command = show("kernels")});
}

void Advisor::judgeLayouts()
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
    const bool convolves =
        traces_.anyKind([](const ActivityKind& kind) { return kind.family == KernelFamily::Convolution; });
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
               std::string(verb(stake, " only changes", " only change")) +
               " the layout of tensors for convolutions: " + timeText(stake.time) + ".";
    });
}

void Advisor::judgeOccupancy()
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

bool Advisor::knowsRates() const
{
    return std::ranges::all_of(traces_.processes,
                               [](const AdviceTrace& trace) { return ratesOf(trace) != nullptr; });
}

void Advisor::judgeTensorCores()
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
        return countText(stake, "product") + inAStep() + " in fp32 " +
               std::string(verb(stake, "runs", "run")) + " outside of the tensor cores; there, " +
               std::string(verb(stake, "it would take up to ", "they would take up to ")) +
               timeText(stake.time) + " less.";
    });
}

void Advisor::judgeConversions()
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
        return costlyConversions(trace.timesOf([this](const ActivityKind& kind) {
            return isConversion(kind) ? std::optional(placeSource(kind)) : std::nullopt;
        }),
                                 trace.walls,
                                 trace.busyWith([](const ActivityKind& kind) { return !isConversion(kind); }),
                                 products, rate ? *rate : analysis::ProductRates{});
    });
    find(AdviceRule::Conversions, stake, show("kernels") + " --group module", [&] {
        return "Conversions of types cost " + timeText(stake.time) + " more than they save in products.";
    });
}

void Advisor::judgeRecomputation()
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
    find(AdviceRule::Recomputation, stake, show("tree"), [&] {
        Nanoseconds repeated{0};
        for (const analysis::StakePart& part : stake.parts)
            repeated += part.total;
        return "Backward repeats " + timeText(repeated) + " of forward" +
               (timeText(repeated) == timeText(stake.time)
                    ? "."
                    : ", of which " + timeText(stake.time) + " beside nothing else.");
    });
}

void Advisor::judgeStalls()
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

} // namespace tilescope::query
