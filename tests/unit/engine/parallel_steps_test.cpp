// Steps of several ranks as the engine runs them, in fp32.

#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/parallel/shard.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"
#include "tests/unit/engine/fixtures.h"
#include "tests/unit/engine/ranks_as_threads.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tilescope::engine {

namespace {

using at::Tensor;
using test::Where;

/// Tensors by category and name.
using Held = std::map<std::pair<MemoryCategory, std::string>, Tensor>;

ExperimentSpec specOf(Mode mode, int ranks, Parallel parallel)
{
    ExperimentSpec spec = test::tinyLm();
    spec.mode = mode;
    spec.loss = LossKind::CrossEntropy;
    spec.gpus = ranks;
    spec.parallel = parallel;
    spec.bucket = Bytes{8 << 10}; // several buckets
    return spec;
}

/// What an experiment holds after each of some steps.
std::vector<Held> courseOf(const ExperimentSpec& spec, const Device& device, Ranks* ranks, int steps)
{
    const auto experiment = makeExperiment(spec, device, ranks);
    std::vector<Held> course;
    for (int step = 0; step < steps; ++step) {
        experiment->prepare();
        for (const Phase phase : kPhasesInOrder)
            if (experiment->has(phase))
                experiment->run(phase);
        Held& held = course.emplace_back();
        experiment->visitHeld([&](MemoryCategory category, const std::string& name, const Tensor& tensor) {
            if (tensor.defined())
                held[{category, name}] = tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
        });
        experiment->finish();
    }
    return course;
}

/// Of each rank.
std::vector<std::vector<Held>> coursesOf(const ExperimentSpec& spec, Where where, int steps)
{
    std::vector<std::vector<Held>> courses(static_cast<std::size_t>(spec.gpus));
    test::onRanks(
        spec.gpus,
        [&](Ranks& ranks) {
            courses[static_cast<std::size_t>(ranks.rank())] =
                courseOf(spec, test::deviceOf(where, ranks.rank()), &ranks, steps);
        },
        where);
    return courses;
}

bool isWeightOrGradient(MemoryCategory category, const std::string& name)
{
    return (category == MemoryCategory::Parameters || category == MemoryCategory::Gradients) &&
           !name.starts_with("message");
}

class CombinedGradients : public ::testing::TestWithParam<std::tuple<Where, int, Parallel, LossKind>> {};
class ShardedSteps : public ::testing::TestWithParam<std::tuple<Where, Parallel, Precision>> {};

} // namespace

// Without an optimizer, step r of one process computes the gradients of rank r: it draws the tokens of the ranks one
// after the other.
TEST_P(CombinedGradients, AreTheSumOfThoseOfTheRanksWithinItsRounding)
{
    const auto [where, size, parallel, loss] = GetParam();
    if (!test::hasDevices(where, size))
        GTEST_SKIP() << "needs " << size << " GPUs";
    ExperimentSpec spec = specOf(Mode::Both, size, parallel);
    spec.loss = loss;
    const std::vector<std::vector<Held>> ranks = coursesOf(spec, where, 1);
    spec.gpus = 1;
    spec.parallel = Parallel::None;
    const std::vector<Held> alone = courseOf(spec, test::deviceOf(where, 0), nullptr, size);
    // Division by a power of two is exact.
    const double share = loss == LossKind::CrossEntropy ? 1.0 / size : 1;
    for (int rank = 0; rank < size; ++rank) {
        const Held& held = ranks[static_cast<std::size_t>(rank)][0];
        const std::pair tokens(MemoryCategory::Inputs, std::string("tokens"));
        EXPECT_TRUE(at::equal(held.at(tokens), alone[static_cast<std::size_t>(rank)].at(tokens)));
        for (const auto& [key, combined] : held) {
            if (!isWeightOrGradient(key.first, key.second))
                continue;
            EXPECT_TRUE(at::equal(combined, ranks[0][0].at(key))) << key.second << " of rank " << rank;
            if (key.first != MemoryCategory::Gradients)
                continue;
            Tensor sum = at::zeros_like(combined, at::kDouble);
            Tensor sizes = at::zeros_like(combined, at::kDouble);
            for (const Held& each : alone) {
                const Tensor gradient = each.at(key).to(at::kDouble) * share;
                sum += gradient;
                sizes += gradient.abs();
            }
            // N - 1 additions, each with a relative error of at most 2^-24 in a partial sum of at most Σ|g|.
            const Tensor bound = sizes * (size - 1) * std::ldexp(1, -24) * (1 + std::ldexp(1, -20));
            EXPECT_TRUE(((combined - sum).abs() <= bound).all().item<bool>()) << key.second;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, CombinedGradients,
                         ::testing::Combine(::testing::Values(Where::Cpu), ::testing::Values(2, 4),
                                            ::testing::Values(Parallel::DdpNaive, Parallel::DdpFlat,
                                                              Parallel::Ddp),
                                            ::testing::Values(LossKind::CrossEntropy, LossKind::Sum)));
INSTANTIATE_TEST_SUITE_P(OnGpus, CombinedGradients,
                         ::testing::Combine(::testing::Values(Where::Gpus), ::testing::Values(2),
                                            ::testing::Values(Parallel::DdpNaive, Parallel::DdpFlat,
                                                              Parallel::Ddp),
                                            ::testing::Values(LossKind::CrossEntropy, LossKind::Sum)));

// The sum of two numbers has the same bits in any order.
TEST_P(ShardedSteps, OfTwoRanksHaveTheBitsOfDdp)
{
    const auto [where, parallel, precision] = GetParam();
    if (!test::hasDevices(where, 2))
        GTEST_SKIP() << "needs 2 GPUs";
    constexpr int kSteps = 4;
    ExperimentSpec spec = specOf(Mode::Train, 2, Parallel::Ddp);
    spec.precision = precision;
    const std::vector<Held> expected = coursesOf(spec, where, kSteps)[0];
    spec.parallel = parallel;
    const std::vector<std::vector<Held>> ranks = coursesOf(spec, where, kSteps);
    for (int rank = 0; rank < 2; ++rank)
        for (int step = 0; step < kSteps; ++step) {
            const Held& held = ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)];
            int compared = 0;
            for (const auto& [key, tensor] : held) {
                if (key.first != MemoryCategory::Parameters || key.second.ends_with("gathered"))
                    continue;
                Tensor whole = flatView(expected[static_cast<std::size_t>(step)].at(key));
                if (parallel == Parallel::Fsdp) {
                    const ShardLayout layout{.elements = whole.numel(), .ranks = 2};
                    whole = partOf(padded(whole, layout), layout, rank);
                }
                EXPECT_TRUE(at::equal(flatView(tensor), whole))
                    << key.second << " of rank " << rank << " in step " << step;
                ++compared;
            }
            EXPECT_GT(compared, 10);
        }
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, ShardedSteps,
                         ::testing::Combine(::testing::Values(Where::Cpu, Where::Gpus),
                                            ::testing::Values(Parallel::OptimizerSharding, Parallel::Zero1,
                                                              Parallel::Fsdp),
                                            ::testing::Values(Precision::Fp32, Precision::Bf16)));

class FusedShards : public ::testing::TestWithParam<std::tuple<Where, Precision, Checkpointing>> {};

// As in CombinedGradients, for the model without autograd, whose weights are divided.
TEST_P(FusedShards, HaveTheirPartsOfTheSumOfTheGradientsOfTheRanks)
{
    const auto [where, precision, checkpointing] = GetParam();
    constexpr int kRanks = 2;
    if (!test::hasDevices(where, kRanks))
        GTEST_SKIP() << "needs " << kRanks << " GPUs";
    ExperimentSpec spec = specOf(Mode::Both, kRanks, Parallel::Fsdp);
    spec.compile.kind = CompileRequest::Kind::Fused;
    spec.backend = Backend::Flash;
    spec.precision = precision;
    spec.deterministic = true;
    spec.layers = 3;
    spec.checkpointing = checkpointing;
    const std::vector<std::vector<Held>> ranks = coursesOf(spec, where, 1);
    spec.gpus = 1;
    spec.parallel = Parallel::None;
    spec.checkpointing = {};
    const std::vector<Held> alone = courseOf(spec, test::deviceOf(where, 0), nullptr, kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
        int compared = 0;
        for (const auto& [key, part] : ranks[static_cast<std::size_t>(rank)][0]) {
            if (key.first != MemoryCategory::Gradients)
                continue;
            // A half is exact, and the sum of two numbers is rounded once.
            const Tensor sum = alone[0].at(key) * 0.5 + alone[1].at(key) * 0.5;
            const ShardLayout layout{.elements = sum.numel(), .ranks = kRanks};
            EXPECT_TRUE(at::equal(flatView(part), partOf(padded(flatView(sum), layout), layout, rank)))
                << key.second << " of rank " << rank;
            EXPECT_GT(part.abs().max().item<double>(), 0) << key.second;
            ++compared;
        }
        EXPECT_EQ(compared, 3 + 6 * spec.layers);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, FusedShards,
    ::testing::Combine(::testing::Values(Where::Cpu, Where::Gpus),
                       ::testing::Values(Precision::Fp32, Precision::Bf16, Precision::Fp8),
                       ::testing::Values(Checkpointing{}, Checkpointing{Checkpointing::Kind::Block, 1},
                                         Checkpointing{Checkpointing::Kind::Block, 2},
                                         Checkpointing{Checkpointing::Kind::Block, 1, 2})));

// In fp32 both models compute the same but for the order of sums.
TEST(FusedShardedSteps, LearnAsThoseOfTheEagerModel)
{
    constexpr int kSteps = 3;
    ExperimentSpec spec = specOf(Mode::Train, 2, Parallel::Fsdp);
    spec.backend = Backend::Flash;
    spec.checkpointing = {Checkpointing::Kind::Block, 1};
    const auto eager = coursesOf(spec, Where::Cpu, kSteps);
    spec.compile.kind = CompileRequest::Kind::Fused;
    const auto fused = coursesOf(spec, Where::Cpu, kSteps);
    for (std::size_t rank = 0; rank < 2; ++rank)
        for (const auto& [key, expected] : eager[rank][kSteps - 1]) {
            if (!isWeightOrGradient(key.first, key.second) || key.second.ends_with("gathered"))
                continue;
            const Tensor difference = fused[rank][kSteps - 1].at(key) - expected;
            // Three updates of at most 1e-3, whose direction is rounding where a gradient is.
            EXPECT_LE(difference.abs().max().item<double>(), 1e-3) << key.second << " of rank " << rank;
            EXPECT_LE(at::linalg_vector_norm(difference).item<double>(),
                      1e-4 * at::linalg_vector_norm(expected).item<double>())
                << key.second << " of rank " << rank;
        }
}

class StepsOnSeveralHosts : public ::testing::TestWithParam<Parallel> {};

TEST_P(StepsOnSeveralHosts, HaveTheBitsOfThoseOnOne)
{
    const ExperimentSpec spec = specOf(Mode::Train, GetParam() == Parallel::FsdpTp ? 4 : 2, GetParam());
    const auto onOne = coursesOf(spec, Where::Cpu, 2);
    const auto onSeveral = coursesOf(spec, Where::CpuOfHosts, 2);
    for (std::size_t rank = 0; rank < onOne.size(); ++rank)
        for (std::size_t step = 0; step < onOne[rank].size(); ++step) {
            const Held& expected = onOne[rank][step];
            ASSERT_EQ(onSeveral[rank][step].size(), expected.size());
            for (const auto& [key, tensor] : expected)
                EXPECT_TRUE(at::equal(onSeveral[rank][step].at(key), tensor))
                    << key.second << " of rank " << rank << " in step " << step;
        }
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, StepsOnSeveralHosts,
                         ::testing::Values(Parallel::DdpNaive, Parallel::DdpFlat, Parallel::Ddp,
                                           Parallel::OptimizerSharding, Parallel::Zero1, Parallel::Fsdp,
                                           Parallel::Tp, Parallel::FsdpTp));

TEST(ShardedMemory, IsThatOfAPartBetweenSteps)
{
    const auto bytesOf = [](const Held& held, MemoryCategory category) {
        std::int64_t bytes = 0;
        for (const auto& [key, tensor] : held)
            if (key.first == category && !key.second.ends_with("gathered"))
                bytes += static_cast<std::int64_t>(tensor.nbytes());
        return bytes;
    };
    const Held whole =
        courseOf(specOf(Mode::Train, 1, Parallel::None), test::deviceOf(Where::Cpu, 0), nullptr, 1)[0];
    for (const Parallel parallel : {Parallel::OptimizerSharding, Parallel::Zero1, Parallel::Fsdp})
        for (const std::vector<Held>& course : coursesOf(specOf(Mode::Train, 2, parallel), Where::Cpu, 1)) {
            const auto half = [&](MemoryCategory category) {
                // A parameter of 100 x 32 elements is the largest; owners differ by less.
                return ::testing::AllOf(::testing::Ge(bytesOf(whole, category) / 2 - 2 * 4 * 3200),
                                        ::testing::Le(bytesOf(whole, category) / 2 + 2 * 4 * 3200));
            };
            EXPECT_THAT(bytesOf(course[0], MemoryCategory::Optimizer), half(MemoryCategory::Optimizer));
            if (parallel != Parallel::Fsdp)
                continue;
            EXPECT_THAT(bytesOf(course[0], MemoryCategory::Parameters), half(MemoryCategory::Parameters));
            EXPECT_THAT(bytesOf(course[0], MemoryCategory::Gradients), half(MemoryCategory::Gradients));
        }
}

TEST(CollectiveExperiment, SumsOnceAStepAndReportsBandwidth)
{
    ExperimentSpec spec;
    spec.workload = Workload::Collective;
    spec.device = {DeviceRequest::Kind::Cpu};
    spec.bytes = Bytes{4096};
    for (const CollectiveOp op :
         {CollectiveOp::AllReduce, CollectiveOp::AllGather, CollectiveOp::ReduceScatter,
          CollectiveOp::Broadcast, CollectiveOp::AllToAll})
        for (const MessageDtype type : {MessageDtype::Fp32, MessageDtype::Bf16, MessageDtype::Fp16}) {
            spec.op = op;
            spec.messageDtype = type;
            test::onRanks(2, [&](Ranks& ranks) {
                const auto experiment = makeExperiment(spec, Device{at::Device(at::kCPU)}, &ranks);
                for (int step = 0; step < 2; ++step) {
                    experiment->prepare();
                    experiment->run(Phase::Collective);
                }
                Held held;
                experiment->visitHeld(
                    [&](MemoryCategory category, const std::string& name, const Tensor& tensor) {
                        if (tensor.defined())
                            held[{category, name}] = tensor;
                    });
                const bool isSum = op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter;
                const bool isInPlace = op == CollectiveOp::AllReduce || op == CollectiveOp::Broadcast;
                const Tensor result = held.at({MemoryCategory::Inputs, isInPlace ? "message" : "result"});
                EXPECT_TRUE((result == (isSum ? 2 : 1)).all().item<bool>())
                    << wordOf(op) << " " << wordOf(type);
                const auto facts = experiment->factsOf(Nanoseconds(1000));
                ASSERT_EQ(facts.size(), 2);
                EXPECT_EQ(facts[0].key, "result.algorithm_bandwidth");
                EXPECT_DOUBLE_EQ(std::stod(facts[0].value), op == CollectiveOp::AllGather ? 8.192 : 4.096);
            });
        }
}

} // namespace tilescope::engine
