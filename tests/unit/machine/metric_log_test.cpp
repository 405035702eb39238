#include "core/machine/metric_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

namespace tilescope::machine {
namespace {

using namespace tilescope::literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::int64_t kLength = 100'000;

/// A log of two metrics, and samples of 100 us that begin at multiples of it.
struct Samples {
    MetricLog log{{{"SM active", "%", "a"}, {"PCIe in", "B/s", "b"}}, DeviceIndex{1}, Nanoseconds(kLength)};

    void add(std::int64_t number, double active, double rate, std::int64_t length = kLength)
    {
        const double values[] = {active, rate};
        log.add(timestampAt(number * kLength), timestampAt(number * kLength + length), values);
    }
};

CounterPoint point(std::int64_t number, std::int64_t value)
{
    return {timestampAt(number * kLength), value};
}

} // namespace

TEST(MetricLog, MakesATrackOfEachMetric)
{
    Samples samples;
    samples.add(1, 50, 2e9);
    samples.add(2, 60.126, 3.4e6);
    const std::vector<CounterTrack> tracks = samples.log.take();
    ASSERT_THAT(tracks, SizeIs(2));
    EXPECT_EQ(tracks[0].name, "SM active");
    EXPECT_EQ(tracks[0].unit, "%");
    EXPECT_EQ(tracks[0].device, DeviceIndex{1});
    EXPECT_EQ(tracks[0].end, timestampAt(3 * kLength));
    EXPECT_THAT(tracks[0].points, ElementsAre(point(1, 50'000), point(2, 60'130)))
        << "hundredths of a per cent";
    EXPECT_THAT(tracks[1].points, ElementsAre(point(1, 2'000'000'000'000), point(2, 3'000'000'000)))
        << "MB/s";
    EXPECT_EQ(samples.log.samples(), 2);
    EXPECT_EQ(samples.log.dropped() + samples.log.lost(), 0);
}

TEST(MetricLog, IsBusyWhileKernelsRun)
{
    Samples samples;
    samples.add(1, 0, 3e7); // traffic of PCIe without a kernel
    samples.add(2, 0.6, 0);
    EXPECT_EQ(samples.log.busy(), 0);
    samples.add(3, 40, 0);
    samples.add(4, 2, 3e7);
    EXPECT_EQ(samples.log.busy(), 2);

    MetricLog rate({{"PCIe in", "B/s", "b"}}, DeviceIndex{0}, Nanoseconds(kLength));
    for (const double value : {0.0, 3e7})
        rate.add(timestampAt((value > 0 ? 2 : 1) * kLength), timestampAt((value > 0 ? 3 : 2) * kLength),
                 std::span(&value, 1));
    EXPECT_EQ(rate.busy(), 1) << "nothing else is known";
}

TEST(MetricLog, DropsWhatCannotBeTrueAndLeavesAHole)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double wrong : {2805.0, 101.5, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        Samples samples;
        samples.add(1, 50, 0);
        samples.add(2, wrong, 0);
        samples.add(3, 70, 0);
        const std::vector<CounterTrack> tracks = samples.log.take();
        ASSERT_THAT(tracks, SizeIs(4)) << wrong;
        EXPECT_THAT(tracks[0].points, ElementsAre(point(1, 50'000)));
        EXPECT_EQ(tracks[0].end, timestampAt(2 * kLength));
        EXPECT_THAT(tracks[1].points, ElementsAre(point(3, 70'000)));
        EXPECT_EQ(samples.log.dropped(), 1);
        EXPECT_EQ(samples.log.lost(), 0) << "it came, and was wrong";
    }
}

TEST(MetricLog, TakesRoundingForTheWhole)
{
    Samples samples;
    samples.add(1, 100.7, 0);
    EXPECT_THAT(samples.log.take()[0].points, ElementsAre(point(1, 100'000)));
}

TEST(MetricLog, DropsSamplesThatAreTooShort)
{
    Samples samples;
    samples.add(1, 50, 0, kLength / 2);
    samples.add(2, 50, 0, kLength - kLength / 20);
    EXPECT_EQ(samples.log.dropped(), 1);
    EXPECT_EQ(samples.log.samples(), 1);
}

TEST(MetricLog, LeavesOutTheFirstThatBeginsWithTheSetUp)
{
    Samples samples;
    samples.add(1, 50, 0, 15'000 * kLength);
    samples.add(15'001, 50, 0);
    EXPECT_EQ(samples.log.dropped() + samples.log.lost(), 0);
    EXPECT_EQ(samples.log.samples(), 1);
    samples.add(15'002, 50, 0, 3 * kLength);
    EXPECT_EQ(samples.log.dropped(), 1) << "a later one of that length cannot be true";
}

TEST(MetricLog, CountsSamplesThatNeverCame)
{
    Samples samples;
    samples.add(1, 50, 0);
    samples.add(5, 60, 0);
    EXPECT_EQ(samples.log.lost(), 3);
    EXPECT_THAT(samples.log.take(), SizeIs(4)) << "two stretches of two metrics";
}

TEST(MetricLog, KeepsSamplesInWhichNothingHappenedAsOne)
{
    Samples samples;
    samples.add(1, 50, 0);
    for (int i = 2; i < 1000; ++i)
        samples.add(i, 0.01, 0);
    samples.add(1000, 50, 0);
    const std::vector<CounterTrack> tracks = samples.log.take();
    EXPECT_THAT(tracks[0].points, ElementsAre(point(1, 50'000), point(2, 10), point(1000, 50'000)));
    EXPECT_EQ(samples.log.samples(), 1000);
}

TEST(MetricLog, DropsSamplesOfAClockThatTurnedBack)
{
    Samples samples;
    samples.add(5, 50, 0);
    samples.add(3, 50, 0);
    samples.add(6, 50, 0);
    EXPECT_EQ(samples.log.dropped(), 1);
    EXPECT_THAT(samples.log.take()[0].points, SizeIs(2));
}

} // namespace tilescope::machine
