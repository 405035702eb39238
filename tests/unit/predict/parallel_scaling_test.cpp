#include "core/predict/parallel_scaling.h"

#include "core/predict/communication.h"
#include "core/predict/predict_memory.h"
#include "core/predict/predict_time.h"
#include "tests/unit/predict/model_spec.h"

#include <gtest/gtest.h>

namespace tilescope::predict {
namespace {

const TargetDevice kGpu{.isCuda = true, .name = "NVIDIA H200"};

ExperimentSpec pointOf(Parallel parallel, int ranks)
{
    ExperimentSpec spec = modelSpec(Mode::Train, Precision::Fp32, 256, 4, 4);
    spec.context = 64;
    spec.parallel = parallel;
    spec.gpus = ranks;
    return spec;
}

Bytes peakOf(const ExperimentSpec& spec, const TargetDevice& device = kGpu)
{
    const auto memory = predictMemory(spec, device);
    return memory ? memory->peakReserved.value_or(memory->peakAllocated) : Bytes{};
}

DeviceRates rates()
{
    return {.fp32 = 50e12,
            .tf32 = 300e12,
            .bf16 = 600e12,
            .fp16 = 600e12,
            .bytes = 4e12,
            .launch = 5e-6,
            .link = 100e9,
            .isCuda = true,
            .multiprocessors = 132};
}

TEST(ParallelMemory, MoreRanksNeedLessWhereTheyDivideState)
{
    for (const Parallel parallel :
         {Parallel::OptimizerSharding, Parallel::Zero1, Parallel::Fsdp, Parallel::Tp}) {
        SCOPED_TRACE(static_cast<int>(parallel));
        EXPECT_LT(peakOf(pointOf(parallel, 4)), peakOf(pointOf(parallel, 2)));
    }
    for (const Parallel parallel : {Parallel::DdpNaive, Parallel::Ddp})
        EXPECT_EQ(peakOf(pointOf(parallel, 2)), peakOf(pointOf(Parallel::None, 1)));
}

TEST(ParallelScaling, FitsFromTheLeastNumberOfRanksThatFits)
{
    for (const Parallel parallel : {Parallel::Zero1, Parallel::Fsdp, Parallel::Tp, Parallel::FsdpTp}) {
        SCOPED_TRACE(static_cast<int>(parallel));
        TargetDevice device = kGpu;
        device.capacity = peakOf(pointOf(parallel, 4));
        const auto scaling = parallelScaling(pointOf(parallel, 2), device, {});
        ASSERT_TRUE(scaling);
        ASSERT_TRUE(scaling->fitsFrom);
        EXPECT_LE(*scaling->fitsFrom, 4);
        EXPECT_LE(peakOf(pointOf(parallel, *scaling->fitsFrom)), *device.capacity);
        EXPECT_FALSE(scaling->communicationSeconds) << "the device is not calibrated";
        device.capacity = Bytes{1 << 20};
        EXPECT_EQ(parallelScaling(pointOf(parallel, 2), device, {})->fitsFrom, std::nullopt);
    }
    EXPECT_FALSE(parallelScaling(pointOf(Parallel::Fsdp, 2), kGpu, {})->isCapacityKnown);
    EXPECT_FALSE(parallelScaling(pointOf(Parallel::None, 1), kGpu, {}));
}

TEST(ParallelScaling, RanksDivideTheMemoryOfACpu)
{
    const ExperimentSpec spec = pointOf(Parallel::Ddp, 2);
    TargetDevice host{.capacity = {}};
    const Bytes peak = peakOf(spec, host);
    host.capacity = Bytes{2 * peak.count + peak.count / 1000};
    EXPECT_FALSE(predictMemory(spec, host)->outOfMemory);
    host.capacity = Bytes{2 * peak.count};
    EXPECT_TRUE(predictMemory(spec, host)->outOfMemory) << "a CPU's operations need some bytes more";
    EXPECT_EQ(parallelScaling(spec, host, {})->fitsFrom, 1);
}

TEST(ParallelTime, HidesTrafficBehindItsPhase)
{
    const ExperimentSpec alone = pointOf(Parallel::None, 1);
    const double step = predictTime(alone, kGpu, rates())->stepSeconds;
    DeviceRates device = rates();
    device.link = 1e15;
    const auto fast = predictTime(pointOf(Parallel::Ddp, 2), kGpu, device);
    EXPECT_DOUBLE_EQ(fast->stepSeconds, step);
    EXPECT_EQ(fast->exposedSeconds, 0);
    EXPECT_GT(fast->communicationSeconds, 0);
    device.link = 1e6;
    const ExperimentSpec flat = pointOf(Parallel::DdpFlat, 2);
    const auto slow = predictTime(flat, kGpu, device);
    const double sent = trafficOf(flat).sum() / device.link;
    EXPECT_DOUBLE_EQ(slow->communicationSeconds, sent);
    EXPECT_DOUBLE_EQ(slow->exposedSeconds, sent) << "after backward";
    EXPECT_NEAR(slow->stepSeconds, step + sent, 1e-9 * sent);
    const auto bucketed = predictTime(pointOf(Parallel::Ddp, 2), kGpu, device);
    EXPECT_LT(bucketed->exposedSeconds, sent);
    EXPECT_GT(bucketed->exposedSeconds, sent - step);
    device.link = 0;
    EXPECT_FALSE(predictTime(flat, kGpu, device)) << "the link is unknown";
    EXPECT_TRUE(predictTime(alone, kGpu, device));
}

TEST(ParallelTime, RanksOnACpuShareItsSpeed)
{
    DeviceRates device = rates();
    device.isCuda = false;
    device.launch = 0;
    const double alone = predictTime(pointOf(Parallel::None, 1), {}, device)->stepSeconds;
    device.link = 1e18;
    const auto two = predictTime(pointOf(Parallel::DdpFlat, 2), {}, device);
    EXPECT_NEAR(two->stepSeconds, 2 * alone, 1e-6 * alone);
    EXPECT_EQ(parallelScaling(pointOf(Parallel::Ddp, 2), {}, device)->boundFrom, std::nullopt);
}

} // namespace
} // namespace tilescope::predict
