// Sampling that is switched on and off.

#include "core/trace/cupti/pc_sampler.h"

#include "tests/fakes/fake_pc_sampling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <thread>

namespace tilescope::trace {

namespace {

CUcontext contextOf(std::uintptr_t number)
{
    return reinterpret_cast<CUcontext>(number);
}

void sampleIn(CUcontext context, std::uint32_t samples)
{
    FakePcSampling::instance().sample(context, 1, "square", 0x10, "long_scoreboard", samples, 0);
}

// Of a call of CUPTI that takes long.
std::promise<void> asked;
std::promise<void> mayAnswer;

CUptiResult answerLate(CUcontext context, std::uint32_t* device)
{
    if (context == contextOf(0x22)) {
        asked.set_value();
        mayAnswer.get_future().wait();
    }
    *device = 0;
    return CUPTI_SUCCESS;
}

} // namespace

TEST(PcSampler, EndsATimeWhenItIsSwitched)
{
    PcSampler sampler(fakePcSamplingApi(), {}, {});
    const CUcontext context = contextOf(0x31);
    sampler.contextCreated(context);
    sampler.setOn(true);
    sampleIn(context, 1);
    const Timestamp before = TraceClock::now();
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
    PcSamplingApi api = fakePcSamplingApi();
    api.deviceId = &answerLate;
    PcSampler sampler(api, {}, {});
    const CUcontext first = contextOf(0x21);
    sampler.contextCreated(first);
    std::thread creator([&] { sampler.contextCreated(contextOf(0x22)); });
    asked.get_future().wait();
    EXPECT_FALSE(sampler.setOn(true));
    mayAnswer.set_value();
    creator.join();
    EXPECT_TRUE(FakePcSampling::instance().isOn(first));
    EXPECT_FALSE(FakePcSampling::instance().isOn(contextOf(0x22)));
}

} // namespace tilescope::trace
