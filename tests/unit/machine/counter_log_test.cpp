#include "core/machine/counter_log.h"

#include "core/machine/counter_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

namespace tilescope::machine {
namespace {

using Values = std::vector<std::optional<std::uint64_t>>;
using Kind = SourceCounter::Kind;

/// Gives one list of values after the other.
class Scripted final : public CounterSource {
public:
    Scripted(std::vector<SourceCounter> counters, std::deque<Values> script)
        : counters_(std::move(counters)), script_(std::move(script))
    {
    }
    std::span<const SourceCounter> counters() const override { return counters_; }
    void read(std::span<std::optional<std::uint64_t>> values) override
    {
        std::ranges::copy(script_.front(), values.begin());
        script_.pop_front();
        std::this_thread::sleep_for(std::chrono::microseconds(50)); // times differ
    }

private:
    std::vector<SourceCounter> counters_;
    std::deque<Values> script_;
};

std::vector<CounterTrack> tracksOf(std::vector<SourceCounter> counters, const std::deque<Values>& script)
{
    CounterLog log(std::make_unique<Scripted>(std::move(counters), script), DeviceIndex{3});
    for (std::size_t i = 0; i < script.size(); ++i)
        log.read();
    return log.take();
}

} // namespace

TEST(CounterLog, KeepsLevelsInTheirUnit)
{
    const auto tracks = tracksOf({{"SM clock", "Hz", Kind::Level, 1e6}}, {{1'980}, {1'980}, {1'755}});
    ASSERT_EQ(tracks.size(), 1U);
    EXPECT_EQ(tracks[0].name, "SM clock");
    EXPECT_EQ(tracks[0].device, DeviceIndex{3});
    ASSERT_EQ(tracks[0].points.size(), 3U);
    EXPECT_EQ(tracks[0].points[0].value, 1'980'000'000'000);
    EXPECT_EQ(tracks[0].points[2].value, 1'755'000'000'000);
    EXPECT_EQ(tracks[0].end, tracks[0].points[2].time);
}

TEST(CounterLog, MakesRatesOfTotals)
{
    const auto tracks = tracksOf({{"PCIe sent", "B/s", Kind::Total, 1}}, {{1'000}, {5'000}, {5'000}});
    ASSERT_EQ(tracks.size(), 1U);
    const CounterTrack& track = tracks[0];
    ASSERT_EQ(track.points.size(), 2U) << "a rate for each interval, at its beginning";
    const double seconds = std::chrono::duration<double>(track.points[1].time - track.points[0].time).count();
    EXPECT_NEAR(static_cast<double>(track.points[0].value), 4'000 / seconds * 1000, 1);
    EXPECT_EQ(track.points[1].value, 0);
    EXPECT_GT(track.end, track.points[1].time);
}

TEST(CounterLog, FollowsATotalOf32BitsPastItsEnd)
{
    const auto tracks = tracksOf({{"PCIe sent", "B/s", Kind::NarrowTotal, 1}}, {{0xFFFF'FFF0}, {0x10}});
    ASSERT_EQ(tracks.size(), 1U);
    const double seconds = std::chrono::duration<double>(tracks[0].end - tracks[0].points[0].time).count();
    EXPECT_NEAR(static_cast<double>(tracks[0].points[0].value), 32 / seconds * 1000, 1);
}

TEST(CounterLog, CountsFailedReadingsButNotCountersThatTheMachineLacks)
{
    const auto tracks = tracksOf(
        {{"Power", "W", Kind::Level, 1}, {"Absent", "W", Kind::Level, 1}, {"Reset", "B/s", Kind::Total, 1}},
        {{{5}, {}, {900}}, {{}, {}, {950}}, {{6}, {}, {10}}});
    ASSERT_EQ(tracks.size(), 2U);
    EXPECT_EQ(tracks[0].failed, 1);
    EXPECT_EQ(tracks[0].points.size(), 2U);
    EXPECT_EQ(tracks[1].name, "Reset");
    EXPECT_EQ(tracks[1].failed, 1) << "a total that falls has no rate";
    EXPECT_EQ(tracks[1].points.size(), 1U);
}

TEST(CounterSampler, ReadsThisProcessWhileItWorks)
{
    const Timestamp before = TraceClock::now();
    CounterSampler sampler({.interval = std::chrono::milliseconds(1)});
    // Long enough for some readings; how many depends on the machine.
    volatile std::uint64_t work = 0;
    while (TraceClock::now() - before < std::chrono::milliseconds(30))
        work = work + 1;
    const std::vector<CounterTrack> tracks = sampler.stop();
    const auto use = std::ranges::find(tracks, "CPU use", &CounterTrack::name);
    const auto memory = std::ranges::find(tracks, "Resident memory", &CounterTrack::name);
    ASSERT_NE(use, tracks.end());
    ASSERT_NE(memory, tracks.end());
    EXPECT_EQ(use->unit, "%");
    EXPECT_GT(std::ranges::max(use->points, {}, &CounterPoint::value).value, 0);
    EXPECT_GT(memory->points.front().value, 100'000 * 1'000) << "thousandths of bytes";
    for (const CounterTrack& track : tracks) {
        EXPECT_FALSE(track.device);
        EXPECT_EQ(track.failed, 0);
        EXPECT_TRUE(std::ranges::is_sorted(track.points, {}, &CounterPoint::time));
        EXPECT_GE(track.points.front().time, before);
        EXPECT_LE(track.points.back().time, track.end);
        EXPECT_LE(track.end, TraceClock::now());
    }
}

TEST(CounterSampler, EndsAtOnceWithTwoReadings)
{
    CounterSampler sampler({.interval = std::chrono::hours(1)});
    const std::vector<CounterTrack> tracks = sampler.stop();
    const auto memory = std::ranges::find(tracks, "Resident memory", &CounterTrack::name);
    ASSERT_NE(memory, tracks.end());
    EXPECT_EQ(memory->points.size(), 2U);
}

} // namespace tilescope::machine
