#include "core/predict/communication.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::predict {
namespace {

constexpr int kLayers = 3;
constexpr int kWidth = 128;
constexpr int kFeedForward = 512;
constexpr int kVocab = 1000;
constexpr int kBatch = 2;
constexpr int kContext = 64;

ExperimentSpec specOf(Parallel parallel, int ranks)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.mode = Mode::Train;
    spec.batch = kBatch;
    spec.context = kContext;
    spec.dModel = kWidth;
    spec.dFf = kFeedForward;
    spec.layers = kLayers;
    spec.heads = 4;
    spec.vocab = kVocab;
    spec.parallel = parallel;
    spec.gpus = ranks;
    return spec;
}

// Elements of the weights.
constexpr double kMatrices = 4 * kWidth * kWidth + 3 * kWidth * kFeedForward; // of a block
constexpr double kNorms = 2 * kWidth;                                         // of a block
constexpr double kHead = kVocab * kWidth;
constexpr double kOthers = kVocab * kWidth + kWidth; // embedding and last norm
constexpr double kWeights = kLayers * (kMatrices + kNorms) + kHead + kOthers;

TEST(Communication, OfDataParallelismAreTheGradients)
{
    const double p = 4 * kWeights;
    EXPECT_EQ(parameterBytes(specOf(Parallel::Ddp, 2)), static_cast<std::int64_t>(p));
    EXPECT_DOUBLE_EQ(trafficOf(specOf(Parallel::DdpNaive, 4)).backward.alone, 2 * 0.75 * p);
    EXPECT_DOUBLE_EQ(trafficOf(specOf(Parallel::DdpFlat, 4)).backward.alone, 2 * 0.75 * p);
    EXPECT_DOUBLE_EQ(trafficOf(specOf(Parallel::Ddp, 4)).backward.beside, 2 * 0.75 * p);
    const StepTraffic owned = trafficOf(specOf(Parallel::OptimizerSharding, 4));
    EXPECT_DOUBLE_EQ(owned.backward.beside, 2 * 0.75 * p);
    EXPECT_DOUBLE_EQ(owned.optimizer.alone, 0.75 * p);
    const StepTraffic zero1 = trafficOf(specOf(Parallel::Zero1, 4));
    EXPECT_DOUBLE_EQ(zero1.backward.beside, 0.75 * p);
    EXPECT_DOUBLE_EQ(zero1.optimizer.alone, 0.75 * p);
    EXPECT_EQ(trafficOf(specOf(Parallel::None, 1)).sum(), 0);
    EXPECT_EQ(trafficOf(specOf(Parallel::Ddp, 1)).sum(), 0);
}

TEST(Communication, OfShardedWeightsIsTwiceThatOfBlocksButTheLastAndOnceThatOfOthers)
{
    for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
        ExperimentSpec spec = specOf(Parallel::Fsdp, 4);
        spec.precision = precision;
        const double product = precision == Precision::Fp32 ? 4 : 2;
        const double block = product * kMatrices + 4 * kNorms;
        const StepTraffic fsdp = trafficOf(spec);
        EXPECT_DOUBLE_EQ(fsdp.forward.beside, 0.75 * (kLayers * block + product * kHead + 4 * kOthers));
        EXPECT_DOUBLE_EQ(fsdp.backward.beside, 0.75 * ((kLayers - 1) * block + 4 * kWeights));
        EXPECT_EQ(fsdp.forward.alone + fsdp.backward.alone + fsdp.optimizer.sum(), 0);
        spec.mode = Mode::Forward;
        EXPECT_DOUBLE_EQ(trafficOf(spec).sum(), fsdp.forward.beside);
    }
}

TEST(Communication, OfDividedLayersAreSumsOfActivations)
{
    ExperimentSpec spec = specOf(Parallel::Tp, 4);
    const double sum = 2 * 0.75 * kBatch * kContext * kWidth; // elements
    EXPECT_DOUBLE_EQ(trafficOf(spec).forward.alone, kLayers * 2 * sum * 4);
    EXPECT_DOUBLE_EQ(trafficOf(spec).backward.alone, kLayers * 2 * sum * 4);
    EXPECT_EQ(trafficOf(spec).forward.beside + trafficOf(spec).backward.beside, 0);
    spec.precision = Precision::Bf16;
    EXPECT_DOUBLE_EQ(trafficOf(spec).forward.alone, kLayers * 2 * sum * 2);
    EXPECT_DOUBLE_EQ(trafficOf(spec).backward.alone, kLayers * 2 * sum * 4);
    spec.checkpointing.kind = Checkpointing::Kind::Block;
    EXPECT_DOUBLE_EQ(trafficOf(spec).backward.alone, kLayers * 2 * sum * (4 + 2)) << "forward is repeated";
}

TEST(Communication, OfAGridIsThatOfItsRowsAndColumns)
{
    const StepTraffic grid = trafficOf(specOf(Parallel::FsdpTp, 4));
    const double part = 4 * (kMatrices / 2 + kNorms); // of a block
    EXPECT_DOUBLE_EQ(grid.forward.beside, 0.5 * (kLayers * part + 4 * (kHead + kOthers)));
    EXPECT_DOUBLE_EQ(grid.forward.alone, trafficOf(specOf(Parallel::Tp, 2)).forward.alone);
    EXPECT_DOUBLE_EQ(grid.backward.alone, trafficOf(specOf(Parallel::Tp, 2)).backward.alone);
}

TEST(Communication, BoundsAStepFromTheLeastNumberOfRanks)
{
    constexpr double kLink = 1e9;
    for (const Parallel parallel :
         {Parallel::Ddp, Parallel::OptimizerSharding, Parallel::Zero1, Parallel::Fsdp, Parallel::Tp})
        for (const double compute : {1e-4, 3e-3, 0.05, 0.4}) {
            const ExperimentSpec spec = specOf(parallel, 2);
            int expected = 2;
            while (trafficOf(specOf(parallel, expected)).sum() / kLink <= 2 * compute / expected)
                ++expected;
            SCOPED_TRACE(static_cast<int>(parallel));
            EXPECT_EQ(communicationBoundFrom(spec, compute, kLink), expected);
            EXPECT_EQ(communicationBoundFrom(spec, compute, kLink, expected), expected);
            EXPECT_EQ(communicationBoundFrom(spec, compute, kLink, expected - 1), std::nullopt);
        }
    EXPECT_EQ(communicationBoundFrom(specOf(Parallel::Ddp, 2), 1.0, 0), std::nullopt);
    EXPECT_EQ(communicationBoundFrom(specOf(Parallel::None, 1), 1.0, kLink), std::nullopt);
}

// Four ranks have two rows, 16 four: the batch of a row halves, and so do the sums of activations.
TEST(Communication, OfAGridThatGrowsShrinksWithTheBatchOfARow)
{
    ExperimentSpec spec = specOf(Parallel::FsdpTp, 4);
    const auto bound = communicationBoundFrom(spec, 0.05, 1e9);
    ASSERT_TRUE(bound);
    EXPECT_GE(*bound, 4);
    EXPECT_EQ(*bound & (*bound - 1), 0) << "a power of two";
    spec.batch *= 1024;
    const auto larger = communicationBoundFrom(spec, 0.05, 1e9);
    ASSERT_TRUE(larger);
    EXPECT_LE(*larger, *bound) << "larger activations in the same time";
}

} // namespace
} // namespace tilescope::predict
