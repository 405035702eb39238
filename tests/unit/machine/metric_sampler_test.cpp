#include "core/machine/metric_sampler.h"

#include "core/base/error.h"
#include "core/machine/cupti_sampling.h"
#include "core/machine/mapped_library.h"
#include "core/machine/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

namespace tilescope::machine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Samples with the fake for a while.
SampledMetrics sampled(const char* faults, std::vector<std::string> metrics = {},
                       std::chrono::milliseconds time = std::chrono::milliseconds(250))
{
    setenv("FAKE_SAMPLING", faults, 1);
    MetricSampler sampler({.metrics = std::move(metrics),
                           .interval = Nanoseconds(1'000'000),
                           .cupti = [] { return std::filesystem::path(FAKE_CUPTI); },
                           .driver = FAKE_DRIVER});
    std::this_thread::sleep_for(time);
    SampledMetrics result = sampler.stop();
    unsetenv("FAKE_SAMPLING");
    return result;
}

std::map<std::string, CounterTrack> byName(const std::vector<CounterTrack>& tracks)
{
    std::map<std::string, CounterTrack> found;
    for (const CounterTrack& track : tracks)
        found.emplace(track.name, track);
    return found;
}

} // namespace

TEST(MetricSampler, SamplesWhatFitsOnePassOnTheClockOfTheRecording)
{
    const Timestamp before = TraceClock::now();
    const SampledMetrics metrics = sampled("");
    const Timestamp after = TraceClock::now();
    EXPECT_EQ(metrics.whyNot, "");
    EXPECT_THAT(metrics.summary,
                AllOf(HasSubstr("7 metrics of GPU 0 every 1.00 ms: "), HasSubstr(" samples")));
    EXPECT_THAT(metrics.uuids, ::testing::ElementsAre("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"));
    EXPECT_EQ(metrics.dramPeak, 4e12);
    const auto tracks = byName(metrics.tracks);
    EXPECT_EQ(tracks.size(), 7U) << "PCIe out needs another pass";
    EXPECT_EQ(tracks.at("SM active").points.front().value, 60'010);
    EXPECT_EQ(tracks.at("Tensor pipe active").points.front().value, 40'000) << "by the second of its names";
    EXPECT_EQ(tracks.at("DRAM write").points.front().value, 100'000) << "a little above the peak is rounding";
    EXPECT_EQ(tracks.at("PCIe in").points.front().value, 12'346'000'000'000);
    EXPECT_EQ(tracks.at("GPC clock").unit, "Hz");
    const CounterTrack& active = tracks.at("SM active");
    EXPECT_GT(active.points.size(), 100U);
    constexpr Nanoseconds kApart{20'000'000}; // of the two clocks, on a busy machine
    EXPECT_GE(active.points.front().time, before - kApart);
    EXPECT_LE(active.end, after + kApart);
    EXPECT_TRUE(std::ranges::is_sorted(active.points, {}, &CounterPoint::time));
    EXPECT_EQ((active.points[1].time - active.points[0].time).count(), 1'000'000);
}

TEST(MetricSampler, SamplesWithTheFirstCuptiThatHasPmSampling)
{
    const SampledMetrics metrics = sampled("oldest", {"sm_active"});
    EXPECT_EQ(metrics.whyNot, "");
    EXPECT_EQ(metrics.tracks.size(), 1U);
}

TEST(MetricSampler, SamplesWhatWasAskedFor)
{
    const SampledMetrics metrics =
        sampled("", {"dram_read", "lts__t_sectors.sum.per_second", "nvlink_in", "sm__no_such.sum"});
    EXPECT_THAT(metrics.whyNot, "GPU 0 does not have nvlink_in, sm__no_such.sum");
    const auto tracks = byName(metrics.tracks);
    EXPECT_EQ(tracks.size(), 2U);
    EXPECT_EQ(tracks.at("lts__t_sectors.sum.per_second").points.front().value, 5'000);
}

TEST(MetricSampler, CountsLostAndImpossibleSamples)
{
    const SampledMetrics lost = sampled("overflow", {"sm_active"});
    EXPECT_GT(lost.lost, 0);
    EXPECT_GT(lost.tracks.size(), 1U) << "with a hole between them";
    const SampledMetrics nonsense = sampled("nonsense", {"sm_active"});
    EXPECT_GT(nonsense.dropped, 0);
    for (const CounterTrack& track : nonsense.tracks)
        for (const CounterPoint& point : track.points)
            EXPECT_EQ(point.value, 60'010);
}

// Evaluating all at once, before the hardware's buffer is emptied again, would take five times as long as sampling.
TEST(MetricSampler, LosesNothingWhereEvaluatingTakesLongerThanTheInterval)
{
    const SampledMetrics metrics =
        sampled("slow", {"sm_active", "dram_read"}, std::chrono::milliseconds(800));
    EXPECT_EQ(metrics.whyNot, "");
    EXPECT_EQ(metrics.lost, 0);
    EXPECT_GT(metrics.samples, 300);
    EXPECT_GE(metrics.evaluating, 5e6) << "ns a sample";
    EXPECT_LT(metrics.decoding, metrics.evaluating);
    const auto tracks = byName(metrics.tracks);
    ASSERT_EQ(tracks.size(), 2U);
    const CounterTrack& active = tracks.at("SM active");
    EXPECT_EQ(std::ssize(active.points), metrics.samples) << "in one piece, in order";
    EXPECT_TRUE(std::ranges::is_sorted(active.points, {}, &CounterPoint::time));
    EXPECT_EQ(metrics.dramPeak, 4e12) << "by the first samples";
}

TEST(MetricSampler, ReadsSeveralGpusAtTheSameTime)
{
    if (Nvml::instance())
        GTEST_SKIP() << "NVML says that no program uses the fake's second GPU";
    setenv("FAKE_GPUS", "2", 1);
    const SampledMetrics metrics = sampled("beside", {"sm_active"}, std::chrono::milliseconds(600));
    unsetenv("FAKE_GPUS");
    EXPECT_EQ(metrics.whyNot, "");
    EXPECT_THAT(metrics.summary, HasSubstr("1 metric of GPU 0, GPU 1 every 1.00 ms: "));
    EXPECT_EQ(metrics.lost, 0);
    EXPECT_EQ(metrics.dramPeak, 4e12);
    EXPECT_EQ(metrics.uuids.size(), 2U);
    ASSERT_EQ(metrics.tracks.size(), 2U);
    for (const CounterTrack& track : metrics.tracks)
        EXPECT_GT(track.points.size(), 100U);
    EXPECT_NE(metrics.tracks[0].device, metrics.tracks[1].device);
}

TEST(MetricSampler, ReadsAGpuWhileAnotherOneIsBeingStarted)
{
    if (Nvml::instance())
        GTEST_SKIP() << "NVML says that no program uses the fake's second GPU";
    setenv("FAKE_GPUS", "2", 1);
    const SampledMetrics metrics = sampled("late", {"sm_active"}, std::chrono::milliseconds(2'400));
    unsetenv("FAKE_GPUS");
    EXPECT_EQ(metrics.whyNot, "");
    EXPECT_EQ(metrics.lost, 0);
    ASSERT_EQ(metrics.tracks.size(), 2U);
    EXPECT_GT(metrics.tracks[0].points.size(), 1'900U) << "from before the second one was started";
}

TEST(MetricSampler, SaysThatAGpuFailedWhileAnotherOneCouldNotBeStarted)
{
    if (Nvml::instance())
        GTEST_SKIP() << "NVML says that no program uses the fake's second GPU";
    setenv("FAKE_GPUS", "2", 1);
    const SampledMetrics metrics = sampled("unstarted", {"sm_active"}, std::chrono::milliseconds(600));
    unsetenv("FAKE_GPUS");
    EXPECT_THAT(metrics.whyNot, AllOf(HasSubstr("GPU 0: "), HasSubstr("GPU 1: ")));
}

TEST(MetricSampler, SaysWhyNothingIsSampled)
{
    EXPECT_THAT(sampled("privileges").whyNot,
                AllOf(HasSubstr("only administrators"), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
    EXPECT_THAT(sampled("busy").whyNot, HasSubstr("GPU 0: "));
    EXPECT_THAT(sampled("busy").tracks, IsEmpty());
    EXPECT_THAT(sampled("busy").summary, "");
}

TEST(MetricSampler, NeedsADriverAndTheCuptiOfTheProgram)
{
    MetricSampler noDriver(
        {.cupti = [] { return std::filesystem::path(FAKE_CUPTI); }, .driver = "/no/libcuda.so.1"});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_THAT(noDriver.stop().whyNot,
                HasSubstr("/no/libcuda.so.1: the driver of NVIDIA's GPUs is not installed"));
    MetricSampler noProgram({.cupti = [] { return std::filesystem::path(); }, .driver = FAKE_DRIVER});
    EXPECT_THAT(noProgram.stop().whyNot, HasSubstr("no program loaded CUPTI"));
    // A library without these functions, as CUPTI before CUDA 12.6.
    MetricSampler older({.cupti = [] { return std::filesystem::path(FAKE_DRIVER); }, .driver = FAKE_DRIVER});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_THAT(older.stop().whyNot, HasSubstr("older than CUDA 12.6"));
}

TEST(MappedLibrary, IsFoundInAProcess)
{
    EXPECT_TRUE(mappedLibrary(getpid(), "libc.so").is_absolute());
    EXPECT_EQ(mappedLibrary(getpid(), "libno_such.so"), "");
    EXPECT_EQ(mappedLibrary(-1, "libc.so"), "");
}

} // namespace tilescope::machine
