// The predictor against the engine: what core/predict replays is what core/engine allocates, on the CPU.
#include "core/machine/capacity.h"
#include "core/model/text.h"
#include "core/predict/predict_memory.h"
#include "tests/unit/engine/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>

namespace tilescope::engine::test {
namespace {

struct Point {
    ExperimentSpec spec;
    double within = 0; ///< share of the measured peak
};

/// Products in half precision take scratch memory.
constexpr double kOneProcessorsBlocks = 0.01;

/// Some numbers that a CPU's operations wrap in tensors are not counted.
constexpr double kFewBytes = 0.0001;

ExperimentSpec untraced(ExperimentSpec spec)
{
    spec.trace = TraceLevel::Off;
    spec.memory = false;
    spec.warmup = 1;
    spec.steps = 2;
    spec.threads = 1;
    return spec;
}

Point lmPoint(Mode mode, Backend backend, Checkpointing checkpointing = {})
{
    ExperimentSpec spec = untraced(tinyLm());
    spec.mode = mode;
    spec.loss = mode == Mode::Train ? LossKind::CrossEntropy : LossKind::Sum;
    spec.backend = backend;
    spec.checkpointing = checkpointing;
    return {spec};
}

Point lmInFp32x6(Mode mode)
{
    Point point = lmPoint(mode, Backend::Naive);
    point.spec.precision = Precision::Fp32x6;
    return point;
}

/// Deep enough for segments within segments.
Point deepLm(Checkpointing checkpointing)
{
    Point point = lmPoint(Mode::Train, Backend::Naive, checkpointing);
    point.spec.layers = 7;
    return point;
}

Point fused(Mode mode, Precision precision = Precision::Fp32, Checkpointing checkpointing = {})
{
    Point point = lmPoint(mode, Backend::Flash, checkpointing);
    point.spec.compile.kind = CompileRequest::Kind::Fused;
    point.spec.precision = precision;
    point.spec.layers = 3;
    point.within = precision == Precision::Bf16 || precision == Precision::Fp8 ? kOneProcessorsBlocks : 0;
    return point;
}

Point fusedInSteps()
{
    Point point = fused(Mode::Train);
    point.spec.timing = StepTiming::Step;
    return point;
}

Point lmInHalf(Mode mode, Precision precision, Backend backend = Backend::Naive)
{
    Point point = lmPoint(mode, backend);
    point.spec.dModel = 128;
    point.spec.dFf = 512;
    point.spec.vocab = 3000;
    point.spec.context = 64;
    point.spec.precision = precision;
    point.within = kOneProcessorsBlocks;
    return point;
}

ExperimentSpec generationSpec()
{
    ExperimentSpec spec = untraced(tinyLm());
    spec.mode = Mode::Generate;
    spec.newTokens = spec.steps = 5;
    return spec;
}

Point generated(Backend backend, Precision precision, CacheKind cache,
                WeightFormat weights = WeightFormat::AsPrecision)
{
    ExperimentSpec spec = generationSpec();
    spec.backend = backend;
    spec.precision = precision;
    spec.cache = cache;
    spec.weights = weights;
    spec.page = 4;
    return {spec, precision == Precision::Bf16 ? kOneProcessorsBlocks : kFewBytes};
}

Point attentionPoint(Mode mode, Backend backend)
{
    ExperimentSpec spec;
    spec.workload = Workload::Attention;
    spec.device = {DeviceRequest::Kind::Cpu};
    spec.mode = mode;
    spec.backend = backend;
    spec.batch = 2;
    spec.heads = spec.kvHeads = 3;
    spec.headDim = 32;
    spec.seqLen = spec.kvLen = 256;
    // Numbers that a CPU's operations wrap in tensors, and row sums of its flash kernel.
    return {untraced(spec), 0.001};
}

/// Runs the points and compares their memory with the predictions.
void expectPredicted(const std::vector<Point>& points)
{
    StringTable strings;
    Engine engine(strings);
    for (const Point& point : points) {
        const ExperimentSpec& spec = point.spec;
        SCOPED_TRACE(std::string(wordOf(spec.workload)) + " " + std::string(wordOf(spec.mode)) + " " +
                     std::string(wordOf(spec.backend)) + " " + std::string(wordOf(spec.precision)) + " " +
                     toText(spec.checkpointing) + " " + toText(spec.compile));
        Recorder recorder;
        const RunResult measured = engine.runPoint(spec, recorder, {});
        ASSERT_EQ(measured.status, RunStatus::Ok) << measured.reason;
        const auto predicted =
            predict::predictMemory(spec, {.threads = 1, .instructionSet = machine::cpuInstructionSet()});
        ASSERT_TRUE(predicted);
        const auto bytes = static_cast<double>(measured.peakAllocated->count);
        EXPECT_NEAR(static_cast<double>(predicted->peakAllocated.count), bytes, point.within * bytes);
        EXPECT_EQ(predicted->beforeBackward.has_value(), measured.beforeBackward.has_value());
        if (measured.beforeBackward) {
            EXPECT_NEAR(static_cast<double>(predicted->beforeBackward->count),
                        static_cast<double>(measured.beforeBackward->count), point.within * bytes);
        }
    }
}

TEST(Prediction, IsWhatTheEngineAllocates)
{
    using Kind = Checkpointing::Kind;
    const std::vector<Point> points{lmPoint(Mode::Forward, Backend::Naive),
                                    lmPoint(Mode::Both, Backend::Naive),
                                    lmPoint(Mode::Train, Backend::Naive),
                                    lmPoint(Mode::Train, Backend::FlashTorch),
                                    lmPoint(Mode::Train, Backend::SdpaMath),
                                    lmPoint(Mode::Train, Backend::Naive, {Kind::Block, 1}),
                                    lmPoint(Mode::Train, Backend::Naive, {Kind::Block, 2}),
                                    lmPoint(Mode::Train, Backend::Naive, {Kind::Attention}),
                                    deepLm({Kind::Block, 3}),
                                    deepLm({Kind::Block, 2, 3}),
                                    deepLm({Kind::Nested, 2}),
                                    deepLm({Kind::Nested, 3}),
                                    deepLm({Kind::Nested, 7}),
                                    lmInFp32x6(Mode::Forward),
                                    lmInFp32x6(Mode::Both),
                                    lmInFp32x6(Mode::Train),
                                    fused(Mode::Forward),
                                    fused(Mode::Both),
                                    fused(Mode::Train),
                                    fusedInSteps(),
                                    fused(Mode::Train, Precision::Fp32, {Kind::Block, 1}),
                                    fused(Mode::Train, Precision::Fp32, {Kind::Block, 2}),
                                    fused(Mode::Train, Precision::Fp32, {Kind::Block, 1, 2}),
                                    fused(Mode::Train, Precision::Fp32, {Kind::Attention}),
                                    fused(Mode::Train, Precision::Fp32, {Kind::Nested, 3}),
                                    fused(Mode::Forward, Precision::Fp32x6),
                                    fused(Mode::Train, Precision::Fp32x6),
                                    fused(Mode::Forward, Precision::Bf16),
                                    fused(Mode::Train, Precision::Bf16),
                                    fused(Mode::Forward, Precision::Fp8),
                                    fused(Mode::Train, Precision::Fp8),
                                    lmInHalf(Mode::Forward, Precision::Bf16),
                                    lmInHalf(Mode::Both, Precision::Bf16),
                                    lmInHalf(Mode::Train, Precision::Bf16),
                                    lmInHalf(Mode::Train, Precision::Bf16, Backend::SdpaMath),
                                    lmInHalf(Mode::Train, Precision::Fp16, Backend::SdpaMath),
                                    lmInHalf(Mode::Both, Precision::Fp16),
                                    lmInHalf(Mode::Both, Precision::Bf16, Backend::FlashTorch),
                                    attentionPoint(Mode::Both, Backend::Naive),
                                    attentionPoint(Mode::Both, Backend::FlashTorch),
                                    attentionPoint(Mode::Both, Backend::Sdpa),
                                    attentionPoint(Mode::Both, Backend::SdpaMath),
                                    attentionPoint(Mode::Forward, Backend::Naive)};
    expectPredicted(points);
}

TEST(Prediction, OfGenerationIsWhatTheEngineAllocates)
{
    std::vector<Point> points;
    for (const Backend backend : {Backend::Naive, Backend::Sdpa, Backend::Flash})
        for (const Precision precision : {Precision::Fp32, Precision::Bf16})
            for (const CacheKind cache : {CacheKind::Contiguous, CacheKind::Paged})
                points.push_back(generated(backend, precision, cache));
    points.push_back(generated(Backend::Flash, Precision::Bf16, CacheKind::Contiguous, WeightFormat::Fp8));
    for (const Precision precision : {Precision::Fp32, Precision::Bf16})
        for (const std::int64_t kvHeads : {4, 2}) {
            points.push_back(generated(Backend::Flash, precision, CacheKind::Contiguous));
            points.back().spec.compile.kind = CompileRequest::Kind::Fused;
            points.back().spec.kvHeads = kvHeads;
        }
    Point seeded = generated(Backend::Naive, Precision::Fp32, CacheKind::Contiguous);
    seeded.spec.sampling = Sampling::Seeded;
    points.push_back(seeded);
    Point checked = generated(Backend::Naive, Precision::Fp32, CacheKind::Contiguous);
    checked.spec.check = true;
    points.push_back(checked);
    expectPredicted(points);
}

/// Draws attention calls of every backend that runs on a CPU: shared heads, one query or key, rows that see
/// no key, a longer key side, and head dims that no vector length divides.
class RandomAttention {
public:
    explicit RandomAttention(std::uint64_t seed) : random_(seed) {}

    ExperimentSpec operator()()
    {
        ExperimentSpec spec;
        spec.workload = Workload::Attention;
        spec.device = {DeviceRequest::Kind::Cpu};
        spec.backend = pick({Backend::Naive, Backend::FlashTorch, Backend::Flash, Backend::Sdpa,
                             Backend::SdpaFlash, Backend::SdpaMath});
        spec.mode = pick({Mode::Forward, Mode::Backward, Mode::Both});
        spec.grad = spec.mode == Mode::Forward && pick({false, true});
        spec.batch = pick<std::int64_t>({1, 2, 3});
        spec.kvHeads = pick<std::int64_t>({1, 2, 3});
        spec.heads = spec.kvHeads * pick<std::int64_t>({1, 1, 2, 4});
        spec.headDim = pick<std::int64_t>({1, 8, 20, 32, 64, 100});
        spec.seqLen = length();
        spec.kvLen = pick({true, false}) ? spec.seqLen : length();
        spec.causal = pick({false, true});
        spec = untraced(spec);
        spec.threads = pick({1, 2});
        return spec;
    }

private:
    template <typename T> T pick(std::initializer_list<T> choices)
    {
        return choices.begin()[random_() % choices.size()];
    }
    std::int64_t length() { return pick<std::int64_t>({1, 2, 17, 64, 100, 191, 192, 300, 513, 768, 1000}); }

    std::mt19937_64 random_;
};

std::string described(const ExperimentSpec& spec)
{
    std::ostringstream text;
    text << wordOf(spec.backend) << ' ' << wordOf(spec.mode) << (spec.grad ? " grad" : "") << ", batch "
         << spec.batch << ", heads " << spec.heads << ':' << spec.kvHeads << ", d " << spec.headDim << ", "
         << spec.seqLen << " x " << spec.kvLen << (spec.causal ? " causal" : "") << ", threads "
         << *spec.threads;
    return text.str();
}

TEST(Prediction, EqualsTheMeasuredPeakOfRandomFp32AttentionToTheByte)
{
    constexpr std::uint64_t kSeed = 20261122;
    constexpr int kPoints = 250;
    StringTable strings;
    Engine engine(strings);
    RandomAttention draw(kSeed);
    for (int i = 0; i < kPoints; ++i) {
        const ExperimentSpec spec = draw();
        SCOPED_TRACE("seed " + std::to_string(kSeed) + ", point " + std::to_string(i) + ": " +
                     described(spec));
        Recorder recorder;
        const RunResult measured = engine.runPoint(spec, recorder, {});
        ASSERT_EQ(measured.status, RunStatus::Ok) << measured.reason;
        const auto predicted = predict::predictMemory(
            spec, {.threads = *spec.threads, .instructionSet = machine::cpuInstructionSet()});
        ASSERT_TRUE(predicted);
        const std::int64_t peak = measured.peakAllocated->count;
        // Whether two threads need memory at the same instant is chance: equal runs differ.
        EXPECT_GE(predicted->peakAllocated.count, peak);
        EXPECT_LE(predicted->leastPeakAllocated.count, peak);
        if (spec.threads == 1) {
            EXPECT_EQ(predicted->leastPeakAllocated.count, predicted->peakAllocated.count);
        }
        ASSERT_EQ(predicted->beforeBackward.has_value(), measured.beforeBackward.has_value());
        if (measured.beforeBackward) {
            EXPECT_EQ(predicted->beforeBackward->count, measured.beforeBackward->count);
        }
    }
}

/// Draws points of both workloads in every precision, small enough that scratch memory is a large part.
class RandomPoint {
public:
    explicit RandomPoint(std::uint64_t seed) : attention_(seed), random_(seed) {}

    ExperimentSpec operator()()
    {
        ExperimentSpec spec = pick({true, false}) ? attention_() : lm();
        if (spec.workload == Workload::Attention)
            spec.precision = pick({Precision::Fp32, Precision::Bf16, Precision::Bf16, Precision::Fp16});
        if (spec.precision != Precision::Fp32)
            spec.threads = pick({1, 2});
        return spec;
    }

private:
    template <typename T> T pick(std::initializer_list<T> choices)
    {
        return choices.begin()[random_() % choices.size()];
    }
    ExperimentSpec lm()
    {
        ExperimentSpec spec = untraced(tinyLm());
        spec.mode = pick({Mode::Forward, Mode::Both, Mode::Train});
        spec.loss = spec.mode == Mode::Train ? LossKind::CrossEntropy : LossKind::Sum;
        spec.batch = pick<std::int64_t>({1, 2, 3});
        spec.context = pick<std::int64_t>({8, 16, 40, 64});
        spec.heads = spec.kvHeads = pick<std::int64_t>({2, 4});
        spec.dModel = pick<std::int64_t>({32, 64, 96, 128});
        spec.dFf = pick<std::int64_t>({64, 200, 256});
        spec.vocab = pick<std::int64_t>({100, 777, 1024, 3000});
        spec.layers = pick<std::int64_t>({1, 2, 3});
        if (pick({true, false, false})) {
            spec.compile.kind = CompileRequest::Kind::Fused;
            spec.backend = Backend::Flash;
            spec.precision = pick({Precision::Fp32, Precision::Bf16});
        } else {
            spec.backend =
                pick({Backend::Naive, Backend::FlashTorch, Backend::Flash, Backend::Sdpa, Backend::SdpaMath});
            spec.precision = pick({Precision::Fp32, Precision::Bf16, Precision::Bf16, Precision::Fp16});
        }
        return spec;
    }

    RandomAttention attention_;
    std::mt19937_64 random_;
};

std::string wordsOf(const ExperimentSpec& spec)
{
    if (spec.workload == Workload::Attention)
        return std::string(wordOf(spec.precision)) + " " + described(spec);
    std::ostringstream text;
    text << "lm " << toText(spec.compile) << ' ' << wordOf(spec.backend) << ' ' << wordOf(spec.precision)
         << ' ' << wordOf(spec.mode) << ", batch " << spec.batch << ", context " << spec.context << ", heads "
         << spec.heads << ", d " << spec.dModel << " ff " << spec.dFf << ", vocab " << spec.vocab
         << ", layers " << spec.layers;
    return text.str();
}

/// A number from the environment, with which tests/stress/prediction/run runs more points.
std::uint64_t numberOf(const char* variable, std::uint64_t otherwise)
{
    const char* text = std::getenv(variable);
    return text ? std::stoull(text) : otherwise;
}

TEST(Prediction, OfRandomPointsIsWithinOnePercentAndHardlyEverTooLow)
{
    const std::uint64_t seed = numberOf("TILESCOPE_STRESS_SEED", 20261129);
    const std::uint64_t points = numberOf("TILESCOPE_STRESS_POINTS", 60);
    StringTable strings;
    Engine engine(strings);
    RandomPoint draw(seed);
    double worst = 0;
    double widest = 0;
    int ranges = 0;
    for (std::uint64_t i = 0; i < points; ++i) {
        const ExperimentSpec spec = draw();
        SCOPED_TRACE("seed " + std::to_string(seed) + ", point " + std::to_string(i) + ": " + wordsOf(spec));
        Recorder recorder;
        const RunResult measured = engine.runPoint(spec, recorder, {});
        ASSERT_EQ(measured.status, RunStatus::Ok) << measured.reason;
        const auto predicted = predict::predictMemory(
            spec, {.threads = *spec.threads, .instructionSet = machine::cpuInstructionSet()});
        ASSERT_TRUE(predicted);
        const auto peak = static_cast<double>(measured.peakAllocated->count);
        const auto bytes = static_cast<double>(predicted->peakAllocated.count);
        const auto least = static_cast<double>(predicted->leastPeakAllocated.count);
        EXPECT_GE(bytes, (1 - kFewBytes) * peak) << "fits yes for a run that then runs out of memory";
        EXPECT_LE(least, (1 + kOneProcessorsBlocks) * peak);
        ranges += least < bytes;
        widest = std::max(widest, bytes / least - 1);
        worst = std::max(worst, least / peak - 1);
    }
    std::cout << points << " points, seed " << seed << ": measured peaks at most " << 100 * worst
              << " % below the predictions; " << ranges << " of these are ranges, of at most " << 100 * widest
              << " %\n";
}

TEST(Prediction, OfRandomGenerationsIsThatOfTheEngine)
{
    const std::uint64_t seed = numberOf("TILESCOPE_STRESS_SEED", 20261130);
    const std::uint64_t points = numberOf("TILESCOPE_STRESS_POINTS", 40);
    std::mt19937_64 random(seed);
    const auto draw = [&random](std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
    };
    StringTable strings;
    Engine engine(strings);
    double worst = 0;
    for (std::uint64_t i = 0; i < points; ++i) {
        ExperimentSpec spec = generationSpec();
        spec.backend =
            std::array{Backend::Naive, Backend::Sdpa, Backend::Flash}[static_cast<std::size_t>(draw(0, 2))];
        spec.precision = draw(0, 1) == 0 ? Precision::Fp32 : Precision::Bf16;
        spec.cache = draw(0, 1) == 0 ? CacheKind::Contiguous : CacheKind::Paged;
        spec.sampling = draw(0, 1) == 0 ? Sampling::Greedy : Sampling::Seeded;
        spec.page = draw(1, 20);
        spec.batch = draw(1, 4);
        spec.context = draw(1, 60);
        spec.newTokens = spec.steps = static_cast<int>(draw(1, 30));
        spec.kvHeads = draw(1, 4);
        spec.heads = spec.kvHeads * draw(1, 3);
        spec.dModel = spec.heads * 4 * draw(1, 8);
        spec.vocab = draw(2, 2000);
        std::ostringstream text;
        text << wordOf(spec.backend) << ' ' << wordOf(spec.precision) << ' ' << wordOf(spec.cache) << ' '
             << spec.page << ' ' << wordOf(spec.sampling) << ", batch " << spec.batch << ", context "
             << spec.context << ", new tokens " << spec.newTokens << ", heads " << spec.heads << ':'
             << spec.kvHeads << ", d " << spec.dModel << ", vocab " << spec.vocab;
        SCOPED_TRACE("seed " + std::to_string(seed) + ", point " + std::to_string(i) + ": " + text.str());
        Recorder recorder;
        const RunResult measured = engine.runPoint(spec, recorder, {});
        ASSERT_EQ(measured.status, RunStatus::Ok) << measured.reason;
        const auto predicted = predict::predictMemory(
            spec, {.threads = *spec.threads, .instructionSet = machine::cpuInstructionSet()});
        ASSERT_TRUE(predicted);
        const auto peak = static_cast<double>(measured.peakAllocated->count);
        const auto bytes = static_cast<double>(predicted->peakAllocated.count);
        const bool isExact = spec.precision == Precision::Fp32;
        EXPECT_GE(bytes, (1 - (isExact ? kFewBytes : kOneProcessorsBlocks)) * peak);
        EXPECT_LE(bytes, (1 + kOneProcessorsBlocks) * peak);
        worst = std::max(worst, std::abs(bytes / peak - 1));
    }
    std::cout << points << " generations: predictions differ by at most " << 100 * worst << " %\n";
}

} // namespace
} // namespace tilescope::engine::test
