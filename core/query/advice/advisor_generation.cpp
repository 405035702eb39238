#include "core/query/advice/advisor.h"

#include "core/analysis/advice/tensor_cores.h"
#include "core/analysis/work/device_sheets.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/query/runs/run_device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace tilescope::query {

using analysis::AdviceRule;
using analysis::GroupedTime;
using analysis::Interval;
using analysis::Stake;
using quantity::Unit;

namespace {

constexpr double kMuchIdle = 0.2;       ///< share of decode iterations from which the host is a limit
constexpr double kMostHave = 0.8;       ///< share of iterations that have what "each iteration" has
constexpr std::int64_t kIdsBytes = 256; ///< of a sequence: more than ids and scores of its tokens

std::string timeWords(double time)
{
    return quantity::withUnit(time, Unit::Nanoseconds);
}

/// A number format of weights, and how the names of kernels call it.
struct ProductFormat {
    const char* name;
    Precision precision; ///< of the products
    double bytes;
};

/// The format of the products that take the most time; bf16 where no name has one.
ProductFormat formatOfProducts(const std::vector<AdviceTrace>& traces)
{
    static constexpr ProductFormat kFormats[] = {{"fp8", Precision::Fp8, 1},
                                                 {"bf16", Precision::Bf16, 2},
                                                 {"fp16", Precision::Fp16, 2},
                                                 {"tf32", Precision::Tf32, 4},
                                                 {"fp32", Precision::Fp32, 4}};
    std::map<const ProductFormat*, double> times;
    for (const AdviceTrace& trace : traces)
        for (const AdviceTrace::Activity& activity : trace.activities) {
            const ActivityKind& kind = trace.kinds[activity.kind];
            if (kind.family != analysis::KernelFamily::Matmul)
                continue;
            const std::optional<Precision> precision = analysis::multipliesOutsideTensorCores(kind.fullName)
                                                           ? Precision::Fp32
                                                           : analysis::precisionInName(kind.name);
            if (const auto* const format = std::ranges::find(kFormats, precision, &ProductFormat::precision);
                format != std::end(kFormats))
                times[format] += static_cast<double>((activity.time.end - activity.time.start).count());
        }
    const auto most = std::ranges::max_element(times, {}, [](const auto& each) { return each.second; });
    return most == times.end() ? kFormats[1] : *most->first;
}

/// A straight line through points (least squares), and how much of their variance it explains.
struct Line {
    double slope = 0;
    double atZero = 0;
    double explained = 0;

    double at(double x) const { return atZero + slope * x; }
};

std::optional<Line> lineThrough(const std::vector<std::pair<double, double>>& points)
{
    const auto n = static_cast<double>(points.size());
    double x = 0;
    double y = 0;
    for (const auto& [px, py] : points) {
        x += px / n;
        y += py / n;
    }
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (const auto& [px, py] : points) {
        xx += (px - x) * (px - x);
        xy += (px - x) * (py - y);
        yy += (py - y) * (py - y);
    }
    if (xx <= 0 || yy <= 0)
        return {};
    return Line{xy / xx, y - xy / xx * x, xy * xy / (xx * yy)};
}

/// The number of sequences that most decode iterations have; none: unknown.
std::optional<std::int64_t> usualBatch(const GenerationTable& generation)
{
    std::map<std::int64_t, int> counts;
    for (const GenerationRow& row : generation.rows)
        if (row.iteration.type == StepType::Decode && row.iteration.sequences)
            ++counts[*row.iteration.sequences];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    return most == counts.end() ? std::nullopt : std::optional(most->first);
}

} // namespace

void Advisor::judgeGeneration()
{
    generation_ = generation(reader_, traces_.run.run, traces_.topology);
    if (!generation_.of(StepType::Decode))
        return;
    if (!onGpu_) {
        for (std::size_t i = static_cast<std::size_t>(analysis::kFirstOfGeneration);
             i < analysis::kAdviceRules; ++i)
            cannotJudge(static_cast<AdviceRule>(i), kNoGpu);
        return;
    }
    hostBoundDecode();
    growingAttention();
    smallBatch();
    stallingPrefill();
    hostSampling();
    iterationCopies();
}

std::vector<Interval> Advisor::decodeWalls(const AdviceTrace& trace) const
{
    std::vector<Interval> walls;
    for (const GenerationRow& row : generation_.rows)
        if (row.iteration.type == StepType::Decode && row.numbers.process == trace.numbers.process)
            walls.push_back(row.iteration.wall);
    return analysis::intersection(analysis::unionOf(std::move(walls)), analysis::unionOf(trace.walls));
}

bool Advisor::isInMost(const AdviceTrace& trace, const std::vector<GroupedTime>& times) const
{
    std::int64_t all = 0;
    std::int64_t having = 0;
    for (const GenerationRow& row : generation_.rows) {
        if (row.iteration.type != StepType::Decode || row.numbers.process != trace.numbers.process)
            continue;
        ++all;
        const Interval& wall = row.iteration.wall;
        const auto first = std::ranges::lower_bound(times, wall.start, {},
                                                    [](const GroupedTime& each) { return each.time.start; });
        having += first != times.end() && first->time.start < wall.end ? 1 : 0;
    }
    return all > 0 && static_cast<double>(having) >= kMostHave * static_cast<double>(all);
}

void Advisor::hostBoundDecode()
{
    Nanoseconds decode{0};
    std::int64_t replayed = 0;
    std::int64_t all = 0;
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        const std::vector<Interval> walls = decodeWalls(trace);
        decode += analysis::lengthOf(walls);
        std::vector<Interval> others = trace.busyWith([](const ActivityKind&) { return true; });
        others.insert(others.end(), trace.host.unrecorded.begin(), trace.host.unrecorded.end());
        const std::uint32_t source = traces_.sources.of({.kind = "range", .name = "decode iterations"});
        std::vector<GroupedTime> times;
        for (const Interval& wall : walls)
            times.push_back({wall, source});
        const auto isDecoding = [&](Timestamp start) {
            const auto next = std::ranges::upper_bound(walls, start, {}, &Interval::start);
            return next != walls.begin() && start < std::prev(next)->end;
        };
        for (const AdviceTrace::Activity& activity : trace.activities)
            all += isDecoding(activity.time.start) ? 1 : 0;
        for (const std::uint32_t index : trace.replayed)
            replayed += isDecoding(trace.activities[index].time.start) ? 1 : 0;
        return stakeOf(std::move(times), walls, analysis::unionOf(std::move(others)));
    });
    const double share = decode.count() > 0
                             ? static_cast<double>(stake.time.count()) / static_cast<double>(decode.count())
                             : 0;
    if (!isWorthNaming(stake.time) || share < kMuchIdle)
        return;
    Advice advice{.sentence =
                      "The GPU waits for the host in " + quantity::withUnit(100 * share, Unit::Percent) +
                      " of the decode iterations: " + timeText(stake.time) + "." + placeText(stake.time),
                  .command = show("generation")};
    if (2 * replayed > all)
        advice.remedy =
            "The iterations replay CUDA graphs already: schedule the next one while the GPU works "
            "(asynchronous scheduling), and keep the choice of tokens on the GPU.";
    add(AdviceRule::HostBoundDecode, stake, std::move(advice));
}

void Advisor::growingAttention()
{
    constexpr std::size_t kFewest = 8;
    constexpr double kMuchGrowth = 1.25;
    constexpr double kMostExplained = 0.5;
    const std::optional<std::int64_t> batch = usualBatch(generation_);
    std::vector<std::pair<double, double>> points;
    for (const GenerationRow& row : generation_.rows)
        if (row.iteration.type == StepType::Decode && row.iteration.context && row.onGpu &&
            row.iteration.sequences == batch)
            points.emplace_back(*row.iteration.context,
                                static_cast<double>(row.part(GenerationPart::Attention).count()));
    if (points.size() < kFewest) {
        cannotJudge(AdviceRule::GrowingAttention, "the contexts of fewer than 8 decode iterations are known");
        return;
    }
    const std::optional<Line> line = lineThrough(points);
    if (!line || line->slope <= 0 || line->explained < kMostExplained)
        return;
    const auto [shortest, longest] = std::ranges::minmax_element(points);
    if (line->at(shortest->first) > 0 && line->at(longest->first) < kMuchGrowth * line->at(shortest->first))
        return;
    const std::uint32_t source =
        traces_.sources.of({.kind = "range", .name = "attention of decode iterations"});
    const Stake stake = sumOver([&, start = shortest->first](const AdviceTrace& trace) {
        const std::vector<Interval> walls = decodeWalls(trace);
        analysis::StakePart part{.group = source};
        for (const GenerationRow& row : generation_.rows) {
            const Interval& wall = row.iteration.wall;
            const auto within = analysis::intersection(std::vector{wall}, walls);
            if (row.iteration.type != StepType::Decode || row.numbers.process != trace.numbers.process ||
                row.iteration.sequences != batch || !row.iteration.context || within.empty())
                continue;
            const Nanoseconds attention = row.part(GenerationPart::Attention);
            ++part.count;
            part.total += attention;
            part.atStake += std::min(
                attention, Nanoseconds(std::llround(line->slope * (*row.iteration.context - start))));
        }
        return Stake{part.atStake, {part}};
    });
    find(AdviceRule::GrowingAttention, stake, show("generation"),
         [&, from = shortest->first, to = longest->first] {
             return "Attention takes " + timeWords(std::max(0.0, line->at(from))) +
                    " of a decode iteration at a context of " + std::to_string(std::llround(from)) + " and " +
                    timeWords(line->at(to)) + " at " + std::to_string(std::llround(to)) + ": " +
                    timeText(stake.time) + " more than at the shortest.";
         });
}

void Advisor::smallBatch()
{
    constexpr double kFarBelow = 4;
    const std::optional<std::int64_t> batch = usualBatch(generation_);
    const std::string device = deviceOfRun(reader_, traces_.run).name;
    const analysis::DeviceSheet* const sheet = analysis::DeviceSheets::standard().find(device);
    const ProductFormat weights = formatOfProducts(traces_.processes);
    const auto rate = sheet ? sheet->ceilings(weights.precision) : analysis::Ceilings{};
    if (!batch || !rate.flops || !rate.bytes) {
        cannotJudge(AdviceRule::SmallBatch, !batch  ? "the number of sequences was not recorded"
                                            : sheet ? std::string("the data sheet of ") + sheet->name +
                                                          " has no rate of products in " + weights.name
                                                    : "there is no data sheet of the GPU");
        return;
    }
    // A weight takes part in two operations a sequence.
    const double atRidge = *rate.flops / *rate.bytes * weights.bytes / 2;
    if (static_cast<double>(*batch) * kFarBelow > atRidge)
        return;
    const std::uint32_t source =
        traces_.sources.of({.kind = "range", .name = "products of decode iterations"});
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        const std::vector<Interval> walls = decodeWalls(trace);
        analysis::StakePart part{.group = source};
        for (const GenerationRow& row : generation_.rows) {
            const auto within = analysis::intersection(std::vector{row.iteration.wall}, walls);
            if (row.iteration.type != StepType::Decode || row.numbers.process != trace.numbers.process ||
                within.empty())
                continue;
            ++part.count;
            part.total += row.part(GenerationPart::Products);
            part.atStake += row.part(GenerationPart::Products) / 2;
        }
        return Stake{part.atStake, {part}};
    });
    find(AdviceRule::SmallBatch, stake, show("generation"), [&] {
        return "A decode iteration reads all weights for " + counted(*batch, "sequence") +
               "; products of up to about " + std::to_string(std::llround(atRidge)) +
               " take nearly the same time (weights in " + weights.name + ", data sheet of " + sheet->name +
               "). Twice as many save " + timeText(stake.time) + " for each.";
    });
}

void Advisor::stallingPrefill()
{
    const GenerationSummary& decode = *generation_.of(StepType::Decode);
    const std::uint32_t source = traces_.sources.of({.kind = "range", .name = "prefill iterations"});
    analysis::StakePart part{.group = source};
    Nanoseconds longest{0};
    for (std::size_t i = 1; i < generation_.rows.size(); ++i) {
        const GenerationRow& row = generation_.rows[i];
        const GenerationRow& before = generation_.rows[i - 1];
        // In a program that generates one batch after the other, nobody waits for the next prompt.
        if (row.iteration.type != StepType::Prefill || row.iteration.generation ||
            before.numbers.process != row.numbers.process)
            continue;
        const bool decodesNext = i + 1 < generation_.rows.size() &&
                                 generation_.rows[i + 1].numbers.process == row.numbers.process &&
                                 generation_.rows[i + 1].iteration.type == StepType::Decode;
        if (!row.iteration.isMixed && (before.iteration.type == StepType::Other || !decodesNext))
            continue;
        const Nanoseconds usual =
            row.iteration.isMixed ? Nanoseconds(std::llround(decode.wall.p50)) : Nanoseconds(0);
        ++part.count;
        part.total += row.wall();
        part.atStake += std::max(Nanoseconds(0), row.wall() - usual);
        longest = std::max(longest, row.wall());
    }
    const Stake stake{part.atStake, {part}};
    find(AdviceRule::StallingPrefill, stake, show("generation"), [&] {
        return counted(part.count, "prefill iteration") + " of up to " +
               timeWords(static_cast<double>(longest.count())) +
               " delay sequences that are being decoded, whose tokens otherwise take " +
               timeWords(decode.wall.p50) + ": " + timeText(stake.time) + ".";
    });
}

std::vector<std::uint32_t> Advisor::logitCopies(const AdviceTrace& trace) const
{
    const std::int64_t most = kIdsBytes * usualBatch(generation_).value_or(1);
    const std::vector<Interval> walls = decodeWalls(trace);
    std::vector<std::uint32_t> found;
    for (const AdviceTrace::CopySize& copy : trace.copies) {
        const AdviceTrace::Activity& activity = trace.activities[copy.activity];
        const auto next = std::ranges::upper_bound(walls, activity.time.start, {}, &Interval::start);
        if (copy.bytes > most && trace.kinds[activity.kind].copy == CopyKind::DeviceToHost &&
            next != walls.begin() && activity.time.start < std::prev(next)->end)
            found.push_back(copy.activity);
    }
    return found;
}

void Advisor::hostSampling()
{
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        std::vector<Timestamp> starts;
        for (const AdviceTrace::Activity& activity : trace.activities)
            starts.push_back(activity.time.start);
        std::ranges::sort(starts);
        std::vector<GroupedTime> times;
        for (const std::uint32_t index : logitCopies(trace)) {
            const AdviceTrace::Activity& copy = trace.activities[index];
            const auto next = std::ranges::upper_bound(starts, copy.time.start);
            times.push_back(
                {{copy.time.start, next == starts.end() ? copy.time.end : std::max(*next, copy.time.end)},
                 copySource(trace.kinds[copy.kind])});
        }
        std::ranges::sort(times, {}, [](const GroupedTime& each) { return each.time.start; });
        return isInMost(trace, times) ? stakeOf(std::move(times), decodeWalls(trace)) : Stake{};
    });
    find(AdviceRule::HostSampling, stake, show("generation"), [&] {
        return "Each decode iteration copies logits to the host, and the GPU waits for the tokens that are "
               "chosen there: " +
               timeText(stake.time) + ".";
    });
}

void Advisor::iterationCopies()
{
    const Stake stake = sumOver([&](const AdviceTrace& trace) {
        const std::vector<std::uint32_t> logits = logitCopies(trace);
        const auto isCopied = [](const ActivityKind& kind) {
            const bool joins =
                isKernel(kind) && kind.fullName.find("CatArrayBatchedCopy") != std::string::npos;
            return joins || kind.isBetweenHostAndDevice();
        };
        std::map<std::uint32_t, std::vector<GroupedTime>> bySource;
        for (std::uint32_t i = 0; i < trace.activities.size(); ++i) {
            const AdviceTrace::Activity& activity = trace.activities[i];
            const ActivityKind& kind = trace.kinds[activity.kind];
            if (isCopied(kind) && std::ranges::find(logits, i) == logits.end()) {
                const std::uint32_t source = isKernel(kind) ? kernelSource(kind) : copySource(kind);
                bySource[source].push_back({activity.time, source});
            }
        }
        std::vector<GroupedTime> times;
        for (auto& [source, list] : bySource) {
            std::ranges::sort(list, {}, [](const GroupedTime& each) { return each.time.start; });
            if (isInMost(trace, list))
                times.insert(times.end(), list.begin(), list.end());
        }
        return stakeOf(std::move(times), decodeWalls(trace),
                       trace.busyWith([&](const ActivityKind& kind) { return !isCopied(kind); }));
    });
    find(AdviceRule::IterationCopies, stake, show("generation"), [&] {
        return "Each decode iteration copies again what the one before it had: " +
               countText(stake, "copy", "copies") + ", " + timeText(stake.time) + ".";
    });
}

} // namespace tilescope::query
