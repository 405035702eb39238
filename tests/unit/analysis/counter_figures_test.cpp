#include "core/analysis/stats/counter_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::analysis {
namespace {

CounterTrack trackOf(std::vector<CounterPoint> points, std::int64_t end)
{
    return {.name = "Power", .unit = "W", .end = timestampAt(end), .points = std::move(points)};
}

} // namespace

TEST(CounterFigures, WeighValuesWithTheTimeThatTheyHold)
{
    const auto figures = figuresOf(
        trackOf({{timestampAt(0), 100'000}, {timestampAt(10), 400'000}, {timestampAt(11), 100'000}}, 20));
    ASSERT_TRUE(figures);
    EXPECT_EQ(figures->samples, 3);
    EXPECT_DOUBLE_EQ(figures->minimum, 100);
    EXPECT_DOUBLE_EQ(figures->maximum, 400);
    EXPECT_DOUBLE_EQ(figures->mean, (19 * 100.0 + 400) / 20);
    EXPECT_FALSE(figuresOf(trackOf({}, 20)));
    EXPECT_DOUBLE_EQ(figuresOf(trackOf({{timestampAt(5), 7'000}}, 5))->mean, 7) << "a single instant";
}

// The same as reading the value at every nanosecond.
TEST(CounterFigures, OfAPartAgreeWithEveryNanosecond)
{
    std::mt19937 random(20261126);
    const auto upTo = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        CounterTrack track = trackOf({}, 0);
        std::int64_t time = upTo(5);
        for (int i = upTo(6); i >= 0; --i) {
            track.points.push_back({timestampAt(time), upTo(1000) - 300});
            time += 1 + upTo(7);
        }
        track.end = timestampAt(time);
        const std::int64_t from = upTo(static_cast<int>(time));
        const std::int64_t to = from + 1 + upTo(20);
        double sum = 0;
        double least = 1e9;
        double most = -1e9;
        std::int64_t count = 0;
        for (std::int64_t t = from; t < std::min(to, time); ++t)
            for (std::size_t i = track.points.size(); i-- > 0;)
                if (nanosecondsOf(track.points[i].time) <= t) {
                    const double value = static_cast<double>(track.points[i].value) / 1000;
                    sum += value;
                    least = std::min(least, value);
                    most = std::max(most, value);
                    ++count;
                    break;
                }
        // A reading at the very end of the interval holds for no time, but it is one of its readings.
        const CounterTrack part = clipped(track, timestampAt(from), timestampAt(to));
        const auto figures = figuresOf(part);
        if (count == 0) {
            if (figures) {
                EXPECT_TRUE(part.points.front().time == part.end);
            }
            continue;
        }
        ASSERT_TRUE(figures);
        EXPECT_NEAR(figures->mean, sum / static_cast<double>(count), 1e-9);
        EXPECT_LE(figures->minimum, least);
        EXPECT_GE(figures->maximum, most);
        EXPECT_GE(part.points.front().time, timestampAt(from));
        EXPECT_LE(part.end, timestampAt(to));
    }
}

} // namespace tilescope::analysis
