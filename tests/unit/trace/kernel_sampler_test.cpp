// Samples of the kernels of this process's traced steps.

#include "core/trace/cupti/kernel_sampler.h"

#include "core/trace/cupti/cupti_session.h"
#include "tests/fakes/fake_pc_sampling.h"
#include "tests/support/fake_cupti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tilescope::trace {

namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSymbol = "_Z6squarePf";

/// A CUPTI whose sampling is faked as well.
class SamplingCupti final : public FakeCupti {
public:
    explicit SamplingCupti(bool samples = true) : samples_(samples) {}

    CUcontext currentContext() override { return context; }
    std::optional<PcSamplingApi> pcSampling(std::string& reason) override
    {
        if (!samples_)
            return FakeCupti::pcSampling(reason);
        return fakePcSamplingApi();
    }

    CUcontext context = reinterpret_cast<CUcontext>(std::uintptr_t{0x10});

private:
    bool samples_;
};

std::uint64_t checksumOf(std::string_view cubin)
{
    CUpti_GetCubinCrcParams parameters{};
    parameters.cubin = cubin.data();
    parameters.cubinSize = cubin.size();
    cuptiGetCubinCrc(&parameters);
    return parameters.cubinCrc;
}

void sample(const SamplingCupti& cupti, std::string_view cubin, std::uint64_t offset, std::uint32_t samples)
{
    FakePcSampling::instance().sample(cupti.context, checksumOf(cubin), std::string(kSymbol).c_str(), offset,
                                      "long_scoreboard", samples, samples / 2);
}

std::string factOf(const KernelSampler::Result& result, std::string_view key)
{
    const auto found = std::ranges::find(result.facts, key, &EnvironmentEntry::key);
    return found == result.facts.end() ? std::string() : found->value;
}

TEST(KernelSampler, HasSamplesOfItsTimeAndTheCodeThatWasLoadedBefore)
{
    SamplingCupti cupti;
    KernelSampler sampler(cupti);
    cupti.tellModule(CUPTI_CBID_RESOURCE_MODULE_LOADED, cupti.context, "the code");
    sampler.endWatch();
    EXPECT_FALSE(cupti.subscribed());
    sample(cupti, "the code", 0x10, 1000); // of a timed step
    sampler.start();
    sample(cupti, "the code", 0x10, 4);
    sample(cupti, "the code", 0x20, 6);
    sample(cupti, "other code", 0x20, 1);
    sampler.stop();
    sample(cupti, "the code", 0x10, 1000);

    const KernelSampler::Result result = sampler.take();
    EXPECT_EQ(result.trouble, "");
    EXPECT_EQ(factOf(result, "record.inside_cycles"), "2048");
    ASSERT_EQ(result.samples.kernels.size(), 2);
    std::int64_t samples = 0;
    std::int64_t unissued = 0;
    for (const StallSamples& each : result.samples.stalls) {
        EXPECT_EQ(result.samples.reasons[each.reason], "long_scoreboard");
        samples += each.samples;
        unissued += each.unissued;
    }
    EXPECT_EQ(samples, 11);
    EXPECT_EQ(unissued, 5);
    for (const SampledKernel& kernel : result.samples.kernels) {
        EXPECT_EQ(kernel.symbol, kSymbol);
        EXPECT_EQ(kernel.name, "square(float*)");
        EXPECT_EQ(kernel.device, DeviceIndex{0});
    }
    ASSERT_EQ(result.samples.code.size(), 1) << "nothing is known of the other module";
    EXPECT_EQ(result.samples.code[0].code, "the code");
    EXPECT_EQ(result.samples.code[0].cubin, checksumOf("the code"));
    EXPECT_TRUE(sampler.take().samples.empty()) << "once";
}

TEST(KernelSampler, LeavesCuptiToTheTracerAfterItsWatch)
{
    SamplingCupti cupti;
    KernelSampler sampler(cupti);
    EXPECT_TRUE(cupti.subscribed());
    sampler.endWatch();
    EXPECT_EQ(cupti.finalized(), 1) << "launches of timed steps are as without it";
    CuptiSession session(cupti, 4, 1 << 16);
    EXPECT_EQ(session.start(TraceLevel::Kernels), "");
    sampler.start();
    sample(cupti, "code", 0, 3);
    sampler.stop();
    Losses losses;
    session.stop(losses);
    EXPECT_FALSE(sampler.take().samples.empty());
}

TEST(KernelSampler, SaysThatNothingWasSampled)
{
    SamplingCupti cupti;
    KernelSampler sampler(cupti);
    sampler.endWatch();
    sampler.start();
    sampler.stop();
    EXPECT_THAT(sampler.take().trouble, HasSubstr("no kernel was sampled"));
}

TEST(KernelSampler, NamesTheRemedyWhereTheDriverRefuses)
{
    setenv("FAKE_PC_SAMPLING", "denied", 1);
    SamplingCupti cupti;
    KernelSampler sampler(cupti);
    sampler.endWatch();
    sampler.start();
    sampler.stop();
    unsetenv("FAKE_PC_SAMPLING");
    const KernelSampler::Result result = sampler.take();
    EXPECT_THAT(result.trouble, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
    EXPECT_EQ(factOf(result, "record.inside"), result.trouble);
    EXPECT_TRUE(result.samples.empty());
}

TEST(KernelSampler, SaysWhyWithoutSamplingAndBesideAnotherProfiler)
{
    SamplingCupti without(false);
    KernelSampler none(without);
    none.endWatch();
    none.start();
    none.stop();
    EXPECT_THAT(none.take().trouble, HasSubstr("kernels were not sampled"));

    SamplingCupti used;
    used.subscribeResult = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    used.rivalName = "rival";
    KernelSampler beside(used);
    beside.endWatch();
    beside.start();
    beside.stop();
    EXPECT_THAT(beside.take().trouble, HasSubstr("another profiler (rival)"));
}

} // namespace

} // namespace tilescope::trace
