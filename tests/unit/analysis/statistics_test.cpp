#include "core/analysis/statistics.h"

#include "core/analysis/random.h"
#include "core/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tilescope::analysis {

TEST(Summarise, IsRightForValuesAddedUpByHand)
{
    const std::array<double, 5> values{2, 4, 4, 5, 10};
    const auto statistics = summarise(values);
    ASSERT_TRUE(statistics);
    EXPECT_EQ(statistics->n, 5);
    EXPECT_DOUBLE_EQ(statistics->mean, 5);
    EXPECT_DOUBLE_EQ(*statistics->standardDeviation, 3); // sqrt((9 + 1 + 1 + 0 + 25) / 4)
    EXPECT_DOUBLE_EQ(statistics->median, 4);
    EXPECT_DOUBLE_EQ(statistics->min, 2);
    EXPECT_DOUBLE_EQ(statistics->max, 10);
    EXPECT_DOUBLE_EQ(statistics->p95, 9); // position 3.8 between 5 and 10
    ASSERT_TRUE(statistics->ci95);
    EXPECT_LE(statistics->ci95->low, 4);
    EXPECT_GE(statistics->ci95->high, 4);
}

TEST(Summarise, SaysWhatOneValueCannotTell)
{
    EXPECT_FALSE(summarise({}));
    const std::array<double, 1> one{7};
    const auto statistics = summarise(one);
    EXPECT_EQ(statistics->median, 7);
    EXPECT_EQ(statistics->p95, 7);
    EXPECT_FALSE(statistics->standardDeviation);
    EXPECT_FALSE(statistics->ci95);
}

TEST(Summarise, DoesNotDependOnTheOrder)
{
    const std::array<double, 6> sorted{1, 2, 3, 4, 5, 6};
    const std::array<double, 6> mixed{5, 1, 6, 3, 2, 4};
    EXPECT_EQ(summarise(sorted)->ci95, summarise(mixed)->ci95);
    EXPECT_EQ(summarise(sorted)->median, 3.5);
    EXPECT_EQ(median(mixed), 3.5);
}

TEST(Summarise, RefusesWhatIsNoNumber)
{
    const std::array<double, 2> values{1, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_THROW(summarise(values), Error);
}

/// The resampling that the order statistics stand for, done the long way.
std::vector<double> bruteForceMedians(std::span<const double> values, int resamples, Random& random)
{
    std::vector<double> medians;
    for (int r = 0; r < resamples; ++r) {
        std::vector<double> resample;
        for (std::size_t i = 0; i < values.size(); ++i)
            resample.push_back(values[random.below(values.size())]);
        medians.push_back(median(resample));
    }
    std::sort(medians.begin(), medians.end());
    return medians;
}

TEST(Summarise, ItsIntervalIsThatOfResampling)
{
    Random random(17);
    for (const std::size_t n : {2UL, 3UL, 10UL, 51UL, 200UL}) {
        std::vector<double> values;
        for (std::size_t i = 0; i < n; ++i)
            values.push_back(10 + random.normal());
        const auto interval = *summarise(values)->ci95;
        const std::vector<double> medians = bruteForceMedians(values, 20'000, random);
        // Within the quantiles that 1,000 resamples of either kind may miss by.
        EXPECT_GE(interval.low, quantile(medians, 0.010)) << n;
        EXPECT_LE(interval.low, quantile(medians, 0.045)) << n;
        EXPECT_GE(interval.high, quantile(medians, 0.955)) << n;
        EXPECT_LE(interval.high, quantile(medians, 0.990)) << n;
    }
}

TEST(Summarise, ItsIntervalCoversTheTrueMedianAsOftenAsItSays)
{
    Random random(23);
    int covered = 0;
    constexpr int kTrials = 500;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> values;
        for (int i = 0; i < 40; ++i)
            values.push_back(std::exp(random.normal())); // a long right tail; the median is 1
        const auto interval = *summarise(values)->ci95;
        covered += interval.low <= 1 && 1 <= interval.high;
    }
    EXPECT_GE(covered, kTrials * 0.92);
    EXPECT_LE(covered, kTrials * 0.98);
}

TEST(Random, IsTheSameEverywhere)
{
    // The reference implementation's first values for the state that SplitMix64 makes of seed 0.
    Random random(0);
    EXPECT_EQ(random.next(), 11091344671253066420ULL);
    EXPECT_EQ(random.next(), 13793997310169335082ULL);
}

TEST(Random, DrawsTheDistributionsThatItNames)
{
    Random random(5);
    double normal = 0;
    double squares = 0;
    double gamma = 0;
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) {
        const double x = random.normal();
        normal += x;
        squares += x * x;
        gamma += random.gamma(3.5);
    }
    EXPECT_NEAR(normal / kDraws, 0, 0.015);
    EXPECT_NEAR(squares / kDraws, 1, 0.02);
    EXPECT_NEAR(gamma / kDraws, 3.5, 0.03);
}

} // namespace tilescope::analysis
