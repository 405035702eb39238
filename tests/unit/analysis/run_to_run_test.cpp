#include "core/analysis/run_to_run.h"

#include "core/analysis/comparison.h"
#include "core/analysis/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::analysis {

namespace {

std::vector<double> repeats(Random& random, int runs, double deviation)
{
    std::vector<double> medians;
    for (int i = 0; i < runs; ++i)
        medians.push_back(10 * std::exp(deviation * random.normal()));
    return medians;
}

} // namespace

TEST(RunToRun, WithoutRepeatsItIsThePrior)
{
    const std::vector<std::vector<double>> alone{{10.0}, {}};
    EXPECT_EQ(learnRunToRun(alone), RunToRun{});
    EXPECT_EQ(learnRunToRun({}), RunToRun{});
}

TEST(RunToRun, IsExactByHand)
{
    // Logarithms -d, 0 and d about their mean: squares of 2 d^2 on two degrees more.
    const double d = 0.01;
    const std::vector<std::vector<double>> groups{{std::exp(-d), 1, std::exp(d)}};
    const RunToRun learned = learnRunToRun(groups, {.deviation = 0.003, .degrees = 8});
    EXPECT_EQ(learned.degrees, 10);
    EXPECT_EQ(learned.runs, 3);
    EXPECT_NEAR(learned.deviation, std::sqrt((8 * 0.003 * 0.003 + 2 * d * d) / 10), 1e-15);
}

TEST(RunToRun, ManyRepeatsOutweighThePrior)
{
    Random random(3);
    const std::vector<std::vector<double>> groups{repeats(random, 150, 0.02), repeats(random, 150, 0.02)};
    EXPECT_NEAR(learnRunToRun(groups).deviation, 0.02, 0.002);
    const std::vector<std::vector<double>> calm{repeats(random, 300, 0.0005)};
    EXPECT_LT(learnRunToRun(calm).deviation, 0.001);
}

TEST(RunToRun, WhatIsKnownBadlyWidensTheInterval)
{
    const std::vector<double> a{10, 10.1, 9.9, 10, 10.05, 9.95, 10, 10.1, 9.9, 10};
    const auto widthWith = [&a](double degrees) {
        const auto difference = compareSeries(a, a, {.runToRun = {.deviation = 0.01, .degrees = degrees}});
        return difference->difference95.high - difference->difference95.low;
    };
    EXPECT_GT(widthWith(2), 1.5 * widthWith(100));
}

} // namespace tilescope::analysis
