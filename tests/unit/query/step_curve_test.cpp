#include "core/query/timeline/step_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::query {
namespace {

TEST(StepCurve, HoldsItsValueBetweenChanges)
{
    const StepCurve curve({10, 20, 30}, {5, 9, 2});
    EXPECT_EQ(curve.at(0), 5);
    EXPECT_EQ(curve.at(19), 5);
    EXPECT_EQ(curve.at(20), 9);
    EXPECT_EQ(curve.at(1000), 2);
    EXPECT_EQ(curve.peak(), 1U);
}

TEST(StepCurve, AColumnHasTheExtremesWithinIt)
{
    const StepCurve curve({10, 20, 30}, {5, 9, 2});
    std::vector<CurveColumn> columns(3);
    curve.columns(11, 10, columns);
    EXPECT_EQ(columns[0].low, 5);
    EXPECT_EQ(columns[0].high, 9);
    EXPECT_EQ(columns[0].last, 9);
    EXPECT_EQ(columns[1].low, 2);
    EXPECT_EQ(columns[1].high, 9);
    EXPECT_EQ(columns[2].high, 2);
}

TEST(StepCurve, ExtremesAgreeWithABruteForce)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const std::size_t n : {1, 15, 16, 17, 255, 256, 257, 5000}) {
        std::vector<std::int64_t> times(n);
        std::vector<std::int64_t> values(n);
        std::int64_t time = 0;
        for (std::size_t i = 0; i < n; ++i) {
            times[i] = time += std::int64_t(random() % 4);
            values[i] = std::int64_t(random() % 3'000); // some twice
        }
        // Offsets of times and values that need more than four bytes.
        if (n == 257)
            time = times.back() += 5'000'000'000;
        if (n == 255)
            values[100] = 80'000'000'000;
        const StepCurve curve(times, values);
        const auto greatest = std::max_element(values.begin(), values.end());
        ASSERT_EQ(curve.peak(), std::size_t(greatest - values.begin())) << n << ": the earliest of equals";
        for (int round = 0; round < 200; ++round) {
            const auto from = std::int64_t(random() % std::uint64_t(time + 4)) - 2;
            const auto to = from + std::int64_t(random() % std::uint64_t(time + 4));
            std::int64_t low = curve.at(from);
            std::int64_t high = low;
            for (std::size_t i = 0; i < n; ++i) {
                if (times[i] > from && times[i] <= to) {
                    low = std::min(low, values[i]);
                    high = std::max(high, values[i]);
                }
            }
            ASSERT_EQ(curve.extremes(from, to), std::pair(low, high)) << n << ": " << from << " to " << to;
            std::int64_t highest = from;
            for (std::size_t i = n; i-- > 0;)
                if (times[i] > from && times[i] <= to && values[i] == high && curve.at(from) < high)
                    highest = times[i];
            ASSERT_EQ(curve.highest(from, to), highest) << n << ": " << from << " to " << to;
        }
    }
}

TEST(StepCurve, OfChangesHasTheSameValueAtEveryTime)
{
    const std::vector<std::int64_t> times{1, 2, 2, 5, 6, 7, 9};
    const std::vector<std::int64_t> values{4, 4, 8, 8, 8, -3, -3};
    const StepCurve all(times, values);
    const StepCurve changes = StepCurve::ofChanges(times, values);
    EXPECT_EQ(changes.size(), 3U);
    for (std::int64_t time = 0; time < 12; ++time)
        EXPECT_EQ(changes.at(time), all.at(time)) << time;
    EXPECT_TRUE(StepCurve::ofChanges({}, {}).empty());
}

TEST(StepCurve, TakesTenBytesPerChange)
{
    std::vector<std::int64_t> times(10'000);
    std::vector<std::int64_t> values(10'000);
    for (std::size_t i = 0; i < times.size(); ++i) {
        times[i] = 1'700'000'000'000'000'000 + 1'000 * std::int64_t(i);
        values[i] = 40'000'000'000 + 512 * std::int64_t(i % 777);
    }
    const StepCurve curve(times, values);
    EXPECT_LE(curve.memory(), 10 * times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
        ASSERT_EQ(curve.time(i), times[i]);
        ASSERT_EQ(curve.value(i), values[i]);
    }
}

} // namespace
} // namespace tilescope::query
