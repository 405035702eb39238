#include "core/analysis/stats/statistics.h"

#include "core/analysis/stats/random.h"
#include "core/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tilescope::analysis {

TEST(Summarise, AgreesWithValuesComputedByHand)
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
    EXPECT_FALSE(statistics->ci95) << "five values cannot cover the median with 95 %";
}

TEST(Summarise, OmitsWhatASingleValueCannotDetermine)
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
    EXPECT_TRUE(summarise(sorted)->ci95);
    EXPECT_EQ(summarise(sorted)->median, 3.5);
    EXPECT_EQ(median(mixed), 3.5);
}

TEST(Summarise, RejectsValuesThatAreNotFinite)
{
    const std::array<double, 2> values{1, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_THROW(summarise(values), Error);
}

TEST(Summarise, ItsIntervalLiesBetweenOrderStatistics)
{
    // By hand: of 6 values the extremes cover the median with 1 - 2 / 64 = 0.96875, the next two with
    // 1 - 14 / 64 = 0.78125; 0.1 of the way, weighted by Hettmansperger and Sheather 5 * 0.1 / (1 + 4 * 0.1).
    const std::array<double, 6> values{10, 20, 30, 40, 50, 60};
    const auto interval = summarise(values)->ci95;
    ASSERT_TRUE(interval);
    EXPECT_NEAR(interval->low, 10 + 10 * 0.5 / 1.4, 1e-9);
    EXPECT_NEAR(interval->high, 60 - 10 * 0.5 / 1.4, 1e-9);
}

TEST(Summarise, ItsIntervalHasItsNominalCoverageOfTheMedian)
{
    Random random(23);
    for (const int n : {6, 7, 10, 40, 501}) {
        int covered = 0;
        constexpr int kTrials = 4000;
        for (int trial = 0; trial < kTrials; ++trial) {
            std::vector<double> values;
            for (int i = 0; i < n; ++i)
                values.push_back(std::exp(random.normal())); // a long right tail; the median is 1
            const auto interval = *summarise(values)->ci95;
            covered += interval.low <= 1 && 1 <= interval.high;
        }
        EXPECT_GE(covered, kTrials * 0.935) << n;
        EXPECT_LE(covered, kTrials * 0.970) << n;
    }
}

/// Steps whose logarithms follow an autoregressive process of the first order; the median is 1.
std::vector<double> correlatedSteps(Random& random, int count, double correlation)
{
    std::vector<double> steps;
    double value = random.normal();
    for (int i = 0; i < count; ++i) {
        steps.push_back(std::exp(0.3 * value));
        value = correlation * value + std::sqrt(1 - correlation * correlation) * random.normal();
    }
    return steps;
}

// Exact bounds: of 1000 intervals that cover with 93 %, fewer than 893 have a probability of 1e-5; of 1000 that cover
// with 97 %, more than 990. The large form of this test is in tests/bench/compare.
TEST(Summarise, ItsIntervalOfCorrelatedValuesCoversOrIsAbsent)
{
    constexpr std::uint64_t kSeed = 29;
    Random random(kSeed);
    for (const double correlation : {0.0, 0.3, 0.6, 0.9}) {
        constexpr int kTrials = 1000;
        int given = 0;
        int covered = 0;
        for (int trial = 0; trial < kTrials; ++trial) {
            const Statistics statistics = *summarise(correlatedSteps(random, 400, correlation));
            if (!statistics.ci95)
                continue;
            ++given;
            covered += statistics.ci95->low <= 1 && 1 <= statistics.ci95->high;
            EXPECT_FALSE(statistics.assumesIndependence);
        }
        EXPECT_GE(given, 950) << correlation << ", seed " << kSeed;
        EXPECT_GE(covered + (kTrials - given), 893) << correlation << ", seed " << kSeed;
        EXPECT_LE(covered, 990) << correlation << ", seed " << kSeed;
    }
}

TEST(Summarise, SaysWhereTooFewValuesShowTheirCorrelation)
{
    Random random(37);
    const Statistics few = *summarise(correlatedSteps(random, 10, 0));
    EXPECT_TRUE(few.ci95);
    EXPECT_TRUE(few.assumesIndependence);
    EXPECT_EQ(few.effective, 10);
    std::vector<double> slope;
    for (int i = 0; i < 100; ++i)
        slope.push_back(100 + i);
    EXPECT_FALSE(summarise(slope)->ci95) << "a drift is not a level that the steps vary about";
    EXPECT_LT(summarise(slope)->effective, 6);
    const Statistics constant = *summarise(std::vector<double>(500, 7));
    ASSERT_TRUE(constant.ci95);
    EXPECT_EQ(constant.ci95->low, 7);
}

TEST(Summarise, AMillionValuesHaveANarrowInterval)
{
    Random random(31);
    std::vector<double> values;
    for (int i = 0; i < 1'000'000; ++i)
        values.push_back(10 + random.normal());
    const auto interval = *summarise(values)->ci95;
    // The median of n normal values deviates by 1.2533 / sqrt(n).
    EXPECT_NEAR((interval.high - interval.low) / 2, 1.96 * 1.2533 / 1000, 5e-4);
}

TEST(Random, IsTheSameEverywhere)
{
    // The reference implementation's first values for the state that SplitMix64 makes of seed 0.
    Random random(0);
    EXPECT_EQ(random.next(), 11091344671253066420ULL);
    EXPECT_EQ(random.next(), 13793997310169335082ULL);
}

TEST(Random, DrawsNormalNumbers)
{
    Random random(5);
    double normal = 0;
    double squares = 0;
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) {
        const double x = random.normal();
        normal += x;
        squares += x * x;
    }
    EXPECT_NEAR(normal / kDraws, 0, 0.015);
    EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

} // namespace tilescope::analysis
