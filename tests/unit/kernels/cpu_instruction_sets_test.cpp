// The CPU kernels of every instruction set that this processor supports, compared with attention in fp64. The
// op uses only the best set.
#include "kernels/cpu/instruction_set.h"

#include "tests/unit/kernels/error_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

namespace tilescope::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The nearest fp16 number, ties to even; infinity beyond the largest.
double roundedToHalf(double value)
{
    if (value == 0 || !std::isfinite(value)) {
        return value;
    }
    const double quantum = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);
    const double result = std::nearbyint(value / quantum) * quantum;
    return std::abs(result) > 65504 ? std::copysign(kInfinity, value) : result;
}

std::uint16_t halfBits(double rounded)
{
    const std::uint16_t sign = std::signbit(rounded) ? 0x8000 : 0;
    const double magnitude = std::abs(rounded);
    if (magnitude < 0x1p-14) {
        return sign | static_cast<std::uint16_t>(magnitude * 0x1p24);
    }
    const int exponent = std::ilogb(magnitude);
    const auto mantissa = static_cast<std::uint16_t>((std::ldexp(magnitude, -exponent) - 1) * 1024);
    return static_cast<std::uint16_t>(sign | (exponent + 15) << 10 | mantissa);
}

double halfValue(std::uint16_t bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) {
        return mantissa ? NAN : sign * kInfinity;
    }
    return sign * (exponent == 0 ? mantissa * 0x1p-24 : std::ldexp(1024 + mantissa, exponent - 25));
}

double rounded(double value, ElementType type)
{
    switch (type) {
    case ElementType::Float64:
        return value;
    case ElementType::Float32:
        return static_cast<float>(value);
    case ElementType::Float16:
        return roundedToHalf(value);
    case ElementType::BFloat16: {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
        return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
    }
    }
    return NAN;
}

std::size_t bytesOf(ElementType type)
{
    return type == ElementType::Float64 ? 8 : type == ElementType::Float32 ? 4 : 2;
}

using Values = std::vector<double>;
using Memory = std::vector<std::byte>;

template <class Element> void put(Memory& memory, std::size_t index, Element element)
{
    std::memcpy(memory.data() + index * sizeof(Element), &element, sizeof(Element));
}
template <class Element> Element get(const Memory& memory, std::size_t index)
{
    Element element;
    std::memcpy(&element, memory.data() + index * sizeof(Element), sizeof(Element));
    return element;
}

Memory encoded(const Values& values, ElementType type)
{
    Memory memory(values.size() * bytesOf(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
        switch (type) {
        case ElementType::Float64:
            put(memory, i, values[i]);
            break;
        case ElementType::Float32:
            put(memory, i, static_cast<float>(values[i]));
            break;
        case ElementType::Float16:
            put(memory, i, halfBits(values[i]));
            break;
        case ElementType::BFloat16:
            put(memory, i,
                static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(values[i])) >>
                                           16));
            break;
        }
    }
    return memory;
}

Values decoded(const Memory& memory, ElementType type)
{
    Values values(memory.size() / bytesOf(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
        switch (type) {
        case ElementType::Float64:
            values[i] = get<double>(memory, i);
            break;
        case ElementType::Float32:
            values[i] = get<float>(memory, i);
            break;
        case ElementType::Float16:
            values[i] = halfValue(get<std::uint16_t>(memory, i));
            break;
        case ElementType::BFloat16:
            values[i] = std::bit_cast<float>(std::uint32_t{get<std::uint16_t>(memory, i)} << 16);
            break;
        }
    }
    return values;
}

struct Case {
    std::int64_t queries, keys;
    int headDim;
    bool causal;
    int group = 1;           ///< query heads that share a key head
    double factor = 1;       ///< of q and v
    double scale = 0.25;     ///< of the scores
    bool throughLse = false; ///< whether the log-sum-exp has a gradient
};

/// o, lse, dq, dk, dv in fp64.
struct Results {
    Values o, logSumExp, gradQ, gradK, gradV;
};

/// Two batches of one key head. Rows are `headDim + 3` apart, so that only the first is aligned.
struct Inputs {
    Inputs(const Case& wanted, ElementType precision, std::uint32_t seed) : shape(wanted), type(precision)
    {
        std::mt19937 generator(seed);
        std::normal_distribution<double> normal;
        const auto draw = [&](std::int64_t heads, std::int64_t rows, double factor) {
            Values values(static_cast<std::size_t>(kBatch * heads * rows * stride()));
            for (double& value : values) {
                value = rounded(factor * normal(generator), type);
            }
            return values;
        };
        q = draw(shape.group, shape.queries, shape.factor);
        k = draw(1, shape.keys, 1);
        v = draw(1, shape.keys, shape.factor);
        gradO = draw(shape.group, shape.queries, 1);
        for (std::int64_t i = 0; shape.throughLse && i < kBatch * shape.group * shape.queries; ++i) {
            gradLogSumExp.push_back(static_cast<float>(normal(generator)));
        }
    }
    static constexpr std::int64_t kBatch = 2;
    std::int64_t stride() const { return shape.headDim + 3; }
    AttentionShape attentionShape() const
    {
        return {.batch = kBatch,
                .queryHeads = shape.group,
                .keyHeads = 1,
                .queries = shape.queries,
                .keys = shape.keys,
                .headDim = shape.headDim};
    }
    /// Without the gaps between rows.
    Values dense(const Values& values) const
    {
        Values result;
        for (auto row = values.begin(); row != values.end(); row += stride()) {
            result.insert(result.end(), row, row + shape.headDim);
        }
        return result;
    }

    Case shape;
    ElementType type;
    Values q, k, v, gradO;
    Values gradLogSumExp; ///< per row; empty: 0
};

/// The same inputs without the gaps between rows, with their results in fp64.
BoundedAttention bounded(const Inputs& in)
{
    return {{.shape = in.attentionShape(),
             .causal = in.shape.causal,
             .scale = in.shape.scale,
             .q = in.dense(in.q),
             .k = in.dense(in.k),
             .v = in.dense(in.v),
             .gradO = in.dense(in.gradO),
             .gradLogSumExp = in.gradLogSumExp},
            arithmeticOf(in.type)};
}

/// Each thread takes the next task, as with LibTorch.
void onThreads(int threads, std::int64_t count, const std::function<void(std::int64_t)>& body)
{
    std::atomic<std::int64_t> next{0};
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&] {
            for (std::int64_t task = next++; task < count; task = next++) {
                body(task);
            }
        });
    }
}

/// Runs the kernels. Outputs and workspaces are initialised with NaN.
Results computed(const CpuTileKernels& kernels, const Inputs& in, int threads)
{
    const Case& shape = in.shape;
    const AttentionProblem problem{.shape = in.attentionShape(),
                                   .type = in.type,
                                   .fp32 = Fp32Mode::Ieee,
                                   .scale = shape.scale,
                                   .causal = shape.causal,
                                   .deterministic = false};
    const auto poisoned = [](std::size_t bytes) { return Memory(bytes, std::byte{0xff}); };
    const auto viewOf = [&](Memory& memory, std::int64_t heads, std::int64_t rows) {
        return MutableView{memory.data(), heads * rows * in.stride(), rows * in.stride(), in.stride()};
    };
    const auto constant = [](const MutableView& view) {
        return ConstView{view.data, view.batchStride, view.headStride, view.rowStride};
    };
    const auto parallelFor = [&](std::int64_t count, const std::function<void(std::int64_t)>& body) {
        onThreads(threads, count, body);
    };
    Memory q = encoded(in.q, in.type), k = encoded(in.k, in.type), v = encoded(in.v, in.type);
    Memory gradO = encoded(in.gradO, in.type);
    Memory o = poisoned(q.size()), gradQ = poisoned(q.size()), gradK = poisoned(k.size()),
           gradV = poisoned(v.size());
    const std::size_t rows = static_cast<std::size_t>(Inputs::kBatch * shape.group * shape.queries);
    const std::size_t accumulator = in.type == ElementType::Float64 ? 8 : 4;
    Memory logSumExp = poisoned(rows * accumulator), statistics = poisoned(2 * rows * accumulator);
    const bool exact = keepsRowStatistics(in.type, problem.fp32);
    const MutableView queries = viewOf(q, shape.group, shape.queries), keys = viewOf(k, 1, shape.keys);
    const MutableView values = viewOf(v, 1, shape.keys), output = viewOf(o, shape.group, shape.queries);
    // Kernels place whole cache lines in it.
    const auto aligned = [](Memory& memory) {
        void* start = memory.data();
        std::size_t space = memory.size();
        return std::align(64, memory.size() - 64, start, space);
    };
    Memory forwardWorkspace = poisoned(cpuForwardWorkspaceBytes(kernels, problem) + 64);
    attentionForwardCpu(kernels, problem,
                        {.q = constant(queries),
                         .k = constant(keys),
                         .v = constant(values),
                         .o = output,
                         .logSumExp = logSumExp.data(),
                         .statistics = exact ? statistics.data() : nullptr,
                         .workspace = aligned(forwardWorkspace)},
                        parallelFor);
    Memory gradLogSumExp =
        encoded(in.gradLogSumExp, accumulator == 8 ? ElementType::Float64 : ElementType::Float32);
    Memory backwardWorkspace = poisoned(cpuBackwardWorkspaceBytes(kernels, problem, threads) + 64);
    attentionBackwardCpu(kernels, problem,
                         {.q = constant(queries),
                          .k = constant(keys),
                          .v = constant(values),
                          .o = constant(output),
                          .gradO = constant(viewOf(gradO, shape.group, shape.queries)),
                          .logSumExp = exact ? nullptr : logSumExp.data(),
                          .statistics = exact ? statistics.data() : nullptr,
                          .gradLogSumExp = gradLogSumExp.empty() ? nullptr : gradLogSumExp.data(),
                          .gradQ = viewOf(gradQ, shape.group, shape.queries),
                          .gradK = viewOf(gradK, 1, shape.keys),
                          .gradV = viewOf(gradV, 1, shape.keys),
                          .workspace = aligned(backwardWorkspace)},
                         threads, parallelFor);
    return {decoded(o, in.type),
            decoded(logSumExp, accumulator == 8 ? ElementType::Float64 : ElementType::Float32),
            decoded(gradQ, in.type), decoded(gradK, in.type), decoded(gradV, in.type)};
}

struct SetAndType {
    const CpuInstructionSet* set;
    ElementType type;
};

std::string nameOf(ElementType type)
{
    constexpr const char* kNames[] = {"fp32", "fp64", "fp16", "bf16"};
    return kNames[static_cast<std::size_t>(type)];
}

class CpuInstructionSets : public ::testing::TestWithParam<SetAndType> {
protected:
    void SetUp() override
    {
        const auto& sets = cpuInstructionSets();
        if (std::find(sets.begin(), sets.end(), GetParam().set) == sets.end()) {
            GTEST_SKIP() << "this processor (or its operating system) has no " << GetParam().set->name;
        }
    }
    const CpuTileKernels& kernels() const
    {
        return *GetParam().set->kernels[static_cast<std::size_t>(GetParam().type)];
    }

    void holdsToTheRule(const Case& shape, int threads)
    {
        const Inputs in(shape, GetParam().type, 11);
        SCOPED_TRACE(::testing::Message() << shape.queries << " x " << shape.keys << " d" << shape.headDim
                                          << (shape.causal ? " causal" : " full") << " group " << shape.group
                                          << ", " << threads << " threads");
        const BoundedAttention bound = bounded(in);
        const Results mine = computed(kernels(), in, threads);
        expectWithin("o", bound.o, in.dense(mine.o));
        expectWithin("log-sum-exp", bound.logSumExp, mine.logSumExp);
        expectWithin("gradient of q", bound.gradQ, in.dense(mine.gradQ));
        expectWithin("gradient of k", bound.gradK, in.dense(mine.gradK));
        expectWithin("gradient of v", bound.gradV, in.dense(mine.gradV));
    }
};

TEST_P(CpuInstructionSets, HoldToTheErrorRuleAtEveryHeadDim)
{
    for (const int headDim : {1, 16, 33, 64, 80, 128, 256}) {
        holdsToTheRule({.queries = 70, .keys = 133, .headDim = headDim, .causal = headDim % 16 == 0}, 2);
    }
}

TEST_P(CpuInstructionSets, HoldToTheErrorRuleAtRaggedShapes)
{
    for (const auto& [queries, keys] :
         {std::pair{1, 1}, {239, 1}, {199, 3}, {32, 128}, {33, 129}, {150, 130}, {129, 300}}) {
        for (const bool causal : {false, true}) {
            holdsToTheRule({.queries = queries, .keys = keys, .headDim = 24, .causal = causal}, 1);
        }
    }
}

TEST_P(CpuInstructionSets, SumTheGradientsOfQueryHeadsThatShareAKeyHead)
{
    holdsToTheRule({.queries = 150, .keys = 170, .headDim = 32, .causal = true, .group = 3}, 2);
}

TEST_P(CpuInstructionSets, SplitTheKeysOfFewHeadsOverManyThreads)
{
    holdsToTheRule({.queries = 130, .keys = 520, .headDim = 16, .causal = true}, 6);
    holdsToTheRule({.queries = 20, .keys = 700, .headDim = 256, .causal = false}, 6);
}

TEST_P(CpuInstructionSets, TakeTheKeysOfOneHeadInSeveralPanels)
{
    holdsToTheRule({.queries = 20, .keys = 700, .headDim = 256, .causal = false}, 1);
}

TEST_P(CpuInstructionSets, TakeLargeScoresAndAScaleOfNearlyZero)
{
    holdsToTheRule({.queries = 100, .keys = 200, .headDim = 64, .causal = true, .factor = 30}, 1);
    holdsToTheRule({.queries = 100, .keys = 200, .headDim = 64, .causal = true, .scale = 1e-30}, 1);
}

TEST_P(CpuInstructionSets, TakeTheGradientOfTheLogSumExp)
{
    for (const auto& [queries, keys] : {std::pair{70, 133}, {40, 1}, {5, 5}, {150, 300}, {130, 100}}) {
        for (const bool causal : {false, true}) {
            holdsToTheRule({.queries = queries,
                            .keys = keys,
                            .headDim = 24,
                            .causal = causal,
                            .group = 2,
                            .throughLse = true},
                           2);
        }
    }
}

TEST_P(CpuInstructionSets, TakeScoresWhoseRoundingLeavesTheRangeOfTheExponential)
{
    // Each row of q and k repeats one number: scores up to 2^40, far apart.
    if (GetParam().type == ElementType::Float16) {
        GTEST_SKIP() << "beyond what fp16 holds";
    }
    Inputs in({.queries = 40, .keys = 60, .headDim = 8, .causal = true}, GetParam().type, 5);
    for (double& value : in.q) {
        value = 0x1p20;
    }
    for (std::size_t i = 0; i < in.k.size(); ++i) {
        in.k[i] = std::ldexp(1 + static_cast<double>(i / 11 * 7 % 60) / 64, 18);
    }
    const BoundedAttention bound = bounded(in);
    const Results mine = computed(kernels(), in, 1);
    for (const double value : in.dense(mine.gradV)) {
        ASSERT_TRUE(std::isfinite(value));
    }
    const Values o = in.dense(mine.o);
    for (std::size_t i = 0; i < o.size(); ++i) {
        ASSERT_NEAR(o[i], bound.o.exact[i], 0x1p-6 * std::abs(bound.o.exact[i])) << "element " << i;
    }
}

std::vector<SetAndType> everySetAndType()
{
    std::vector<SetAndType> all;
    for (const CpuInstructionSet* set : {&kSse2, &kAvx2, &kAvx512, &kAvx512Bf16, &kAmx, &kAmxFp16}) {
        for (const ElementType type :
             {ElementType::Float32, ElementType::Float64, ElementType::Float16, ElementType::BFloat16}) {
            if (set->kernels[static_cast<std::size_t>(type)]) {
                all.push_back({set, type});
            }
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, CpuInstructionSets, ::testing::ValuesIn(everySetAndType()),
                         [](const auto& one) {
                             return nameOf(one.param.type) + "_on_" + one.param.set->name;
                         });

} // namespace
} // namespace tilescope::kernels
