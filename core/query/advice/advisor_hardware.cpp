#include "core/query/advice/advisor.h"

#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/kernels/stall_reasons.h"
#include "core/base/number_text.h"
#include "core/base/quantity.h"
#include "core/base/shell_word.h"
#include "core/model/counter_track.h"
#include "core/model/environment_facts.h"
#include "core/query/advice/advice_words.h"
#include "core/query/kernels/kernel_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace tilescope::query {

using analysis::AdviceRule;
using analysis::Interval;
using analysis::KernelFamily;
using analysis::Stake;
using quantity::Unit;

namespace {

constexpr double kUsesTensorPipe = 0.01; ///< of the time, from which a kernel counts as one that uses it
constexpr double kBusyTensorPipe = 0.8;  ///< of the time: products of large matrices
constexpr double kHardToExceed =
    0.6;                           ///< of tensor pipe or device memory: the limit of the kernel may be there
constexpr double kExcess = 1.25;   ///< of the bytes of the ops
constexpr double kFewIssued = 0.5; ///< of the issue slots

constexpr const char* kNoMetrics = "metrics were not sampled (record --metrics)";
constexpr const char* kNoSamples = "kernels were not sampled (record --inside)";
constexpr std::string_view kSmClock = "SM clock";

bool isProductKernel(const ActivityKind& kind)
{
    return kind.family == KernelFamily::Matmul || kind.family == KernelFamily::Convolution ||
           kind.family == KernelFamily::Attention;
}

/// Whether warps wait because a part of the GPU may have all the work that it can do.
bool mayBeLimit(std::string_view reason)
{
    constexpr std::array<std::string_view, 5> kLimits{"long_scoreboard", "lg_throttle", "tex_throttle",
                                                      "drain", "math_pipe_throttle"};
    return std::ranges::find(kLimits, reason) != kLimits.end();
}

/// "train.py:12"
std::string lineText(const SourceLine& line)
{
    return line.line > 0 ? line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line)
                         : std::string();
}

std::string percentOf(double share)
{
    return quantity::withUnit(100 * share, Unit::Percent);
}

/// "; its warps wait most by barrier at train.py:12: waits at a barrier"; empty: not sampled.
std::string waitText(const KernelUse& use)
{
    if (!use.stall)
        return {};
    const std::string line = lineText(use.stall->line);
    return "; its warps wait most by " + use.stall->reason + (line.empty() ? "" : " at " + line) + ": " +
           std::string(analysis::stallReason(use.stall->reason).name);
}

std::string waitNote(const KernelUse& use)
{
    if (!use.stall)
        return {};
    const std::string line = lineText(use.stall->line);
    return use.stall->reason + (line.empty() ? "" : " at " + line);
}

/// When a GPU reduced its clocks, why, and to what share of the highest.
struct ReducedTimes {
    std::vector<Interval> times = {}; ///< a result of unionOf()
    std::string why = {};             ///< "power cap, 1.41 of 1.98 GHz"
    double lost = 0;                  ///< 1 - mean clock / highest clock
};

std::vector<Interval> timesAbove0(const CounterTrack& track)
{
    std::vector<Interval> times;
    for (std::size_t i = 0; i < track.points.size(); ++i)
        if (track.points[i].value > 0)
            times.push_back(
                {track.points[i].time, i + 1 < track.points.size() ? track.points[i + 1].time : track.end});
    return times;
}

Nanoseconds overlap(const Interval& time, const std::vector<Interval>& others)
{
    Nanoseconds sum{0};
    for (auto other = std::ranges::upper_bound(others, time.start, {}, &Interval::end);
         other != others.end() && other->start < time.end; ++other)
        sum += std::min(time.end, other->end) - std::max(time.start, other->start);
    return sum;
}

/// The mean of a track in these times, and its highest value.
std::pair<double, double> meanAndHighest(const CounterTrack& clock, const std::vector<Interval>& times)
{
    double sum = 0;
    double weight = 0;
    double highest = 0;
    for (std::size_t i = 0; i < clock.points.size(); ++i) {
        const auto value = static_cast<double>(clock.points[i].value) / kPartsOfCounterUnit;
        const Interval holds{clock.points[i].time,
                             i + 1 < clock.points.size() ? clock.points[i + 1].time : clock.end};
        const auto length = static_cast<double>(overlap(holds, times).count());
        sum += value * length;
        weight += length;
        highest = std::max(highest, value);
    }
    return {weight > 0 ? sum / weight : 0, highest};
}

std::map<DeviceIndex, ReducedTimes> reducedTimes(const std::vector<CounterTrack>& tracks, double knownHighest)
{
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kReasons{
        {{kPowerCapCounter, "power cap"},
         {kThermalSlowdownCounter, "heat"},
         {kHardwareSlowdownCounter, "hardware limit"}}};
    std::map<DeviceIndex, ReducedTimes> reduced;
    for (const CounterTrack& track : tracks)
        for (const auto& [name, words] : kReasons) {
            if (track.name != name)
                continue;
            const std::vector<Interval> times = timesAbove0(track);
            if (times.empty())
                continue;
            ReducedTimes& device = reduced[track.device];
            device.times.insert(device.times.end(), times.begin(), times.end());
            device.why += (device.why.empty() ? "" : ", ") + std::string(words);
        }
    for (auto& [device, times] : reduced) {
        times.times = analysis::unionOf(std::move(times.times));
        const auto clock = std::ranges::find_if(tracks, [&, id = device](const CounterTrack& track) {
            return track.device == id && track.name == kSmClock;
        });
        if (clock == tracks.end())
            continue;
        const auto [mean, seen] = meanAndHighest(*clock, times.times);
        const double highest = std::max(seen, knownHighest);
        if (mean <= 0 || highest <= 0)
            continue;
        times.lost = 1 - mean / highest;
        constexpr double kGigahertz = 1e9;
        times.why += ", " + quantity::threeDigits(mean / kGigahertz) + " of " +
                     quantity::threeDigits(highest / kGigahertz) + " GHz";
    }
    return reduced;
}

} // namespace

std::string Advisor::showKernel(const std::string& section, const ActivityKind& kind) const
{
    const std::string readable = analysis::readableKernelName(kind.fullName);
    const std::string root(analysis::parseKernelName(readable).root);
    return show(section) + " --kernel " + shellWord(root.empty() ? readable : root);
}

Advisor::UseFinding
Advisor::findUse(const KernelUses& uses,
                 const std::function<std::optional<double>(const ActivityKind&, const KernelUse&)>& share,
                 const std::function<std::string(const KernelUse&)>& noteOf)
{
    const auto counted = [&](const ActivityKind& kind) -> std::pair<const KernelUse*, double> {
        const auto found = uses.kernels.find(kind.fullName);
        if (kind.event != DeviceEventKind::Kernel || !isCompute(kind) || found == uses.kernels.end())
            return {};
        const std::optional<double> part = share(kind, found->second);
        return part && *part > 0 ? std::pair(&found->second, std::min(1.0, *part))
                                 : std::pair<const KernelUse*, double>();
    };
    struct Source {
        const KernelUse* use = nullptr;
        const ActivityKind* kind = nullptr;
        double share = 0;
    };
    std::map<std::uint32_t, Source> ofSource;
    UseFinding finding;
    finding.stake = sumOver([&](const AdviceTrace& trace) {
        const auto times = trace.timesOf([&](const ActivityKind& kind) -> std::optional<std::uint32_t> {
            const auto [use, part] = counted(kind);
            if (!use)
                return std::nullopt;
            const std::uint32_t source = kernelSource(kind, noteOf(*use));
            ofSource[source] = {use, &kind, part};
            return source;
        });
        return scaled(stakeOf(times, trace.walls, trace.busyWith([&](const ActivityKind& kind) {
                          return counted(kind).first == nullptr;
                      })),
                      [&](std::uint32_t source) { return ofSource[source].share; });
    });
    if (!finding.stake.parts.empty()) {
        const Source& most = ofSource[finding.stake.parts.front().group];
        finding.use = most.use;
        finding.kind = most.kind;
    }
    return finding;
}

void Advisor::judgeHardware()
{
    if (!onGpu_) {
        for (const AdviceRule rule : {AdviceRule::IdleTensorPipe, AdviceRule::ExcessTraffic,
                                      AdviceRule::LowIssue, AdviceRule::ReducedClocks})
            cannotJudge(rule, kNoGpu);
        return;
    }
    const KernelUses uses = kernelUses(reader_, traces_.run.run, traces_.topology);
    if (uses.hasMetrics) {
        judgeTensorPipe(uses);
        judgeTraffic(uses);
    } else {
        cannotJudge(AdviceRule::IdleTensorPipe, kNoMetrics);
        cannotJudge(AdviceRule::ExcessTraffic, kNoMetrics);
    }
    if (uses.hasSamples)
        judgeIssue(uses);
    else
        cannotJudge(AdviceRule::LowIssue, kNoSamples);
    judgeClocks();
}

void Advisor::judgeTensorPipe(const KernelUses& uses)
{
    const UseFinding finding = findUse(
        uses,
        [](const ActivityKind& kind, const KernelUse& use) -> std::optional<double> {
            if (!isProductKernel(kind) || !use.tensorActive || *use.tensorActive < kUsesTensorPipe ||
                *use.tensorActive >= kBusyTensorPipe || use.dramActive.value_or(0) >= kHardToExceed)
                return std::nullopt;
            return 1 - *use.tensorActive;
        },
        [](const KernelUse& use) {
            const std::string wait = waitNote(use);
            return "tensor pipe active " + percentOf(*use.tensorActive) + (wait.empty() ? "" : ", " + wait);
        });
    if (!isWorthNaming(finding.stake.time))
        return;
    Advice advice{.sentence = "In products, the tensor pipe is idle for " + timeText(finding.stake.time) +
                              "; most in " + finding.kind->name + ", where it works " +
                              percentOf(*finding.use->tensorActive) + " of the time" +
                              waitText(*finding.use) + "."};
    if (finding.use->stall) {
        advice.remedy = std::string(analysis::stallReason(finding.use->stall->reason).remedy);
        advice.command = showKernel("inside", *finding.kind);
    } else {
        advice.remedy = "Record with --inside as well, which says what its warps wait for. " +
                        remedyOf(AdviceRule::IdleTensorPipe, methods_);
        advice.command = show("metrics");
    }
    add(AdviceRule::IdleTensorPipe, finding.stake, std::move(advice));
}

void Advisor::judgeTraffic(const KernelUses& uses)
{
    if (std::ranges::none_of(uses.kernels,
                             [](const auto& each) { return each.second.dramBytes.has_value(); }))
        return cannotJudge(AdviceRule::ExcessTraffic, "bytes of device memory were not sampled");
    if (std::ranges::none_of(uses.kernels, [](const auto& each) { return each.second.opBytes.has_value(); }))
        return cannotJudge(AdviceRule::ExcessTraffic,
                           "the ops of kernels, or the shapes of their tensors, were not recorded");
    const UseFinding finding = findUse(
        uses,
        [](const ActivityKind& /*kind*/, const KernelUse& use) -> std::optional<double> {
            if (!use.dramBytes || !use.opBytes || !use.dramActive ||
                *use.dramBytes < kExcess * static_cast<double>(*use.opBytes))
                return std::nullopt;
            return *use.dramActive * (1 - static_cast<double>(*use.opBytes) / *use.dramBytes);
        },
        [](const KernelUse& use) {
            const std::string line = use.stall ? lineText(use.stall->line) : std::string();
            return quantity::withUnit(*use.dramBytes, Unit::Bytes) + " moved, " +
                   quantity::withUnit(static_cast<double>(*use.opBytes), Unit::Bytes) + " needed" +
                   (line.empty() ? "" : ", " + line);
        });
    if (!isWorthNaming(finding.stake.time))
        return;
    add(AdviceRule::ExcessTraffic, finding.stake,
        {.sentence = "Kernels move more bytes of device memory than their ops need: " +
                     timeText(finding.stake.time) + "; most " + finding.kind->name + ", " +
                     quantity::withUnit(*finding.use->dramBytes, Unit::Bytes) + " instead of " +
                     quantity::withUnit(static_cast<double>(*finding.use->opBytes), Unit::Bytes) +
                     waitText(*finding.use) + ".",
         .command = finding.use->stall ? showKernel("inside", *finding.kind) : show("metrics")});
}

void Advisor::judgeIssue(const KernelUses& uses)
{
    const UseFinding finding = findUse(
        uses,
        [](const ActivityKind& kind, const KernelUse& use) -> std::optional<double> {
            if (!kind.reach || kind.reach->share < analysis::kLowOccupancy || !use.stall ||
                use.stall->issued >= kFewIssued)
                return std::nullopt;
            const bool isKnown = use.dramActive.has_value() && use.tensorActive.has_value();
            if (isKnown ? *use.dramActive >= kHardToExceed || *use.tensorActive >= kHardToExceed
                        : mayBeLimit(use.stall->reason))
                return std::nullopt;
            return 1 - use.stall->issued / kFewIssued;
        },
        [](const KernelUse& use) {
            return percentOf(use.stall->issued) + " of the issue slots used, " + waitNote(use);
        });
    if (!isWorthNaming(finding.stake.time))
        return;
    add(AdviceRule::LowIssue, finding.stake,
        {.sentence =
             "Kernels with enough warps issue few instructions; with half of the issue slots used, they "
             "would take up to " +
             timeText(finding.stake.time) + " less. Most: " + finding.kind->name + " with " +
             percentOf(finding.use->stall->issued) + " used" + waitText(*finding.use) + ".",
         .remedy = std::string(analysis::stallReason(finding.use->stall->reason).remedy),
         .command = showKernel("inside", *finding.kind)});
}

void Advisor::judgeClocks()
{
    const std::vector<CounterTrack> tracks = reader_.counterTracks(traces_.run.run);
    const auto has = [&](std::string_view name) {
        return std::ranges::any_of(tracks, [&](const CounterTrack& track) { return track.name == name; });
    };
    if (!has(kPowerCapCounter) || !has(kSmClock))
        return cannotJudge(AdviceRule::ReducedClocks,
                           "clocks of the GPU and what limits them were not recorded");
    constexpr double kHertz = 1e6; // a MHz
    const std::string known = factOf(reader_.environment(traces_.run.run), "gpu.clock.sm.max");
    const std::map<DeviceIndex, ReducedTimes> reduced =
        reducedTimes(tracks, kHertz * parseNumber<double>(known).value_or(0));
    std::map<std::uint32_t, double> shares;
    std::string most;
    double lost = 0;
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        std::vector<analysis::GroupedTime> times;
        for (const AdviceTrace::Activity& each : trace.activities) {
            const ActivityKind& kind = trace.kinds[each.kind];
            const auto device = reduced.find(each.device);
            if (!isKernel(kind) || !isCompute(kind) || device == reduced.end() || device->second.lost <= 0)
                continue;
            const std::vector<Interval>& slow = device->second.times;
            for (auto part = std::ranges::upper_bound(slow, each.time.start, {}, &Interval::end);
                 part != slow.end() && part->start < each.time.end; ++part) {
                const std::uint32_t source = kernelSource(kind, device->second.why);
                shares[source] = device->second.lost;
                if (device->second.lost > lost) {
                    lost = device->second.lost;
                    most = device->second.why;
                }
                times.push_back(
                    {{std::max(each.time.start, part->start), std::min(each.time.end, part->end)}, source});
            }
        }
        return scaled(stakeOf(std::move(times), trace.walls),
                      [&](std::uint32_t source) { return shares[source]; });
    });
    find(AdviceRule::ReducedClocks, stake, show("counters"), [&] {
        return "The GPU reduces its clocks while kernels run (" + most +
               "): at the highest clock they would " + "take up to " + timeText(stake.time) + " less.";
    });
}

} // namespace tilescope::query
