// Sampling that is switched on and off.

#include "core/trace/cupti/pc_sampler.h"

#include "tests/fakes/fake_pc_sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>

namespace tilescope::trace {

namespace {

using ::testing::HasSubstr;

CUcontext contextOf(std::uintptr_t number)
{
    return reinterpret_cast<CUcontext>(number);
}

void sampleIn(CUcontext context, std::uint32_t samples)
{
    FakePcSampling::instance().sample(context, 1, "square", 0x10, "long_scoreboard", samples, 0);
}

/// A call of CUPTI that takes long.
struct LateAnswer {
    std::promise<void> asked;
    std::promise<void> mayAnswer;
};
LateAnswer* lateAnswer = nullptr; // of the test that runs: CUPTI's functions have no argument for it

CUptiResult answerLate(CUcontext context, std::uint32_t* device)
{
    if (context == contextOf(0x22)) {
        lateAnswer->asked.set_value();
        lateAnswer->mayAnswer.get_future().wait();
    }
    *device = 0;
    return CUPTI_SUCCESS;
}

CUptiResult failToRead(CUpti_PCSamplingGetDataParams* /*parameters*/)
{
    return CUPTI_ERROR_UNKNOWN;
}

CUptiResult readDropped(CUpti_PCSamplingGetDataParams* parameters)
{
    auto& data = *static_cast<CUpti_PCSamplingData*>(parameters->pcSamplingData);
    data.totalNumPcs = 0;
    data.remainingNumPcs = 0;
    data.droppedSamples = 5;
    return CUPTI_SUCCESS;
}

/// What a sampler says of a context of which nothing was sampled.
std::string troubleWithoutSamples(std::uintptr_t context,
                                  CUptiResult (*getData)(CUpti_PCSamplingGetDataParams*))
{
    PcSamplingApi api = fakePcSamplingApi();
    if (getData)
        api.getData = getData;
    PcSampler sampler(api, {}, {});
    sampler.contextCreated(contextOf(context));
    sampler.setOn(true);
    sampler.setOn(false); // reads once
    return sampler.trouble();
}

} // namespace

TEST(PcSampler, EndsATimeWhenItIsSwitched)
{
    PcSampler sampler(fakePcSamplingApi(), {}, {});
    const CUcontext context = contextOf(0x31);
    sampler.contextCreated(context);
    sampler.setOn(true);
    const Timestamp before = TraceClock::now();
    sampleIn(context, 1);
    sampler.setOn(false);
    const Timestamp between = TraceClock::now();
    sampleIn(context, 1000); // left out
    sampler.setOn(true);
    sampleIn(context, 2);
    sampler.setOn(false);

    const PcSamples taken = sampler.take();
    ASSERT_EQ(taken.counts.size(), 2);
    EXPECT_EQ(taken.counts[0].samples, 1);
    EXPECT_GE(taken.counts[0].end, before);
    EXPECT_LE(taken.counts[0].end, between);
    EXPECT_EQ(taken.counts[1].samples, 2);
    EXPECT_GE(taken.counts[1].start, between);
}

TEST(PcSampler, StartsTheFirstContextThoughCuptiWasInUseForTooLong)
{
    LateAnswer late;
    lateAnswer = &late;
    PcSamplingApi api = fakePcSamplingApi();
    api.deviceId = &answerLate;
    PcSampler sampler(api, {}, {});
    const CUcontext first = contextOf(0x21);
    sampler.contextCreated(first);
    std::thread creator([&] { sampler.contextCreated(contextOf(0x22)); });
    late.asked.get_future().wait();
    EXPECT_FALSE(sampler.setOn(true));
    late.mayAnswer.set_value();
    creator.join();
    // The sampler's thread may have asked instead of the creator's: this waits for it.
    sampler.contextEnds(contextOf(0x23));
    EXPECT_TRUE(FakePcSampling::instance().isOn(first));
    EXPECT_FALSE(FakePcSampling::instance().isOn(contextOf(0x22)));
}

TEST(PcSampler, SaysWhyNoKernelWasSampled)
{
    EXPECT_THAT(troubleWithoutSamples(0x41, nullptr), HasSubstr("the kernels ran for too short a time"));
    EXPECT_THAT(troubleWithoutSamples(0x42, &failToRead), HasSubstr("read"));
    EXPECT_EQ(troubleWithoutSamples(0x43, &readDropped), "") << "they are a loss";
}

} // namespace tilescope::trace
