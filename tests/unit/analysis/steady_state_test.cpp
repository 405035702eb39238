#include "core/analysis/stats/steady_state.h"

#include "core/analysis/stats/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::analysis {

namespace {

constexpr std::uint64_t kSeed = 20'250'713;

/// Step times around 10: noise of `deviation` with autocorrelation `memory`; with `busy`, a host occasionally
/// makes a step up to 50 % longer.
std::vector<double> noise(Random& random, std::size_t steps, double deviation, double memory, bool busy)
{
    std::vector<double> times;
    double x = random.normal();
    for (std::size_t i = 0; i < steps; ++i) {
        x = memory * x + std::sqrt(1 - memory * memory) * random.normal();
        const double stretch = busy && random.uniform() < 0.03 ? 1 + 0.5 * random.uniform() : 1;
        times.push_back(10 * std::exp(deviation * x) * stretch);
    }
    return times;
}

/// Stationary series similar to real ones: 15 to 214 steps, noise of 0.3 to 3 %, autocorrelation up to 0.6.
std::vector<double> stationary(Random& random)
{
    const std::size_t steps = 15 + random.below(200);
    const double deviation = 0.003 * std::pow(10, random.uniform());
    return noise(random, steps, deviation, 0.6 * random.uniform(), true);
}

} // namespace

TEST(SteadyState, StationaryNoiseSettlesAtOnceInNinetyNineOfAHundred)
{
    Random random(kSeed);
    int wrong = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
        const SteadyState state = steadyState(stationary(random));
        // Five steps of warm-up, as experiments have by default.
        wrong += state.from > 5 || !state.reached ? 1 : 0;
    }
    EXPECT_LT(wrong, kTrials / 100) << "seed " << kSeed;
}

TEST(SteadyState, FindsWhereASlowStartEnds)
{
    Random random(kSeed);
    int right = 0;
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<double> times = noise(random, 60, 0.01, 0.2, true);
        for (std::size_t i = 0; i < 12; ++i)
            times[i] *= 1.2;
        const std::size_t from = steadyState(times).from;
        right += from >= 11 && from <= 13 ? 1 : 0;
    }
    EXPECT_GE(right, 180) << "seed " << kSeed;
}

TEST(SteadyState, IsExactOnStepsMadeByHand)
{
    const std::vector<double> times{30, 20, 20, 20, 10, 10.02, 10, 9.98, 10, 10, 10.01, 10, 50, 10, 10, 10};
    const SteadyState state = steadyState(times);
    EXPECT_EQ(state.from, 4u); // the outlier at step 12 is not a level
    EXPECT_TRUE(state.reached);
    EXPECT_EQ(state.levels.back().end, times.size());
    EXPECT_EQ(state.levels.back().median, 10);
    EXPECT_EQ(steadyState(std::vector<double>(50, 7.0)).levels.size(), 1u);
    EXPECT_EQ(steadyState(std::vector<double>{3, 2, 1}).from, 0u); // too few to tell
    EXPECT_TRUE(steadyState({}).levels.empty());
}

TEST(SteadyState, NeverSettlesWhereTheLastLevelIsShort)
{
    std::vector<double> times(40, 10.0);
    for (std::size_t i = 35; i < 40; ++i)
        times[i] = 12;
    EXPECT_FALSE(steadyState(times).reached);
}

TEST(SteadyState, LevelsWithinOnePerCentAreOne)
{
    std::vector<double> times(60, 10.0);
    for (std::size_t i = 0; i < 30; ++i)
        times[i] = 10.05;
    EXPECT_EQ(steadyState(times).levels.size(), 2u);
    EXPECT_EQ(steadyState(times).from, 0u);
}

TEST(SteadyState, ReadsLongSeriesByGroupsOfSteps)
{
    Random random(kSeed);
    std::vector<double> times = noise(random, 20'000, 0.01, 0, true);
    for (std::size_t i = 0; i < 5'000; ++i)
        times[i] *= 1.1;
    EXPECT_NEAR(static_cast<double>(steadyState(times).from), 5'000, 30);
}

TEST(Drift, IsInsignificantInNinetyNineOfAHundredStationarySeries)
{
    Random random(kSeed);
    int wrong = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
        const auto drift = driftOf(stationary(random));
        wrong += drift && drift->seen() ? 1 : 0;
    }
    EXPECT_LT(wrong, kTrials / 100) << "seed " << kSeed;
}

TEST(Drift, FindsASlowRiseAndMeasuresIt)
{
    Random random(kSeed);
    int found = 0;
    int covered = 0;
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<double> times = noise(random, 100, 0.01, 0.2, true);
        for (std::size_t i = 0; i < times.size(); ++i)
            times[i] *= 1 + 0.04 * static_cast<double>(i) / 99;
        const auto drift = driftOf(times);
        ASSERT_TRUE(drift);
        found += drift->seen() ? 1 : 0;
        const double truth = 0.04 / 1.02; // of the median, which is half-way
        covered += drift->change999.low <= truth && truth <= drift->change999.high ? 1 : 0;
    }
    EXPECT_GE(found, 195) << "seed " << kSeed;
    EXPECT_GE(covered, 190) << "seed " << kSeed;
}

TEST(Drift, IsExactOnALine)
{
    std::vector<double> times;
    for (int i = 0; i < 11; ++i)
        times.push_back(95 + i);
    const auto drift = driftOf(times);
    ASSERT_TRUE(drift);
    EXPECT_DOUBLE_EQ(drift->change, 0.1); // 10 of a median of 100
    EXPECT_TRUE(drift->seen());
    EXPECT_FALSE(driftOf(std::vector<double>(7, 1.0)));
    EXPECT_FALSE(driftOf(std::vector<double>(9, 1.0))->seen());
}

} // namespace tilescope::analysis
