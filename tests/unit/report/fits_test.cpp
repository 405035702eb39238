#include "core/report/fits.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::report {

namespace {

std::vector<CurvePoint> pointsOf(double (*y)(double), std::initializer_list<double> xs)
{
    std::vector<CurvePoint> points;
    for (const double x : xs)
        points.push_back({x, y(x)});
    return points;
}

} // namespace

TEST(PowerLaw, FindsTheExponentOfTheLargerHalf)
{
    const auto points = pointsOf([](double x) { return 100 + 3 * x * x; }, {2, 4, 8, 1024, 2048, 4096});
    const auto law = powerLaw(points);
    ASSERT_TRUE(law);
    EXPECT_NEAR(law->exponent, 2, 1e-4);
    EXPECT_LE(law->low, law->exponent);
    EXPECT_GE(law->high, law->exponent);
    EXPECT_EQ(law->points, 3U);
}

TEST(PowerLaw, IntervalIsStudentsOfTheSlope)
{
    // By hand: logarithms (0, 0), (1, 1.1), (2, 1.9): slope 0.95, residual sum 0.015, t(1) = 12.706.
    const std::vector<CurvePoint> points{{1, 1}, {std::exp(1), std::exp(1.1)}, {std::exp(2), std::exp(1.9)}};
    const auto law = powerLaw(points);
    ASSERT_TRUE(law);
    EXPECT_NEAR(law->exponent, 0.95, 1e-9);
    EXPECT_NEAR(law->high - law->exponent, 12.706 * std::sqrt(0.015 / 2), 1e-3);
}

TEST(PowerLaw, NeedsAtLeastThreePoints)
{
    EXPECT_FALSE(powerLaw(pointsOf([](double x) { return x; }, {1, 2})));
    EXPECT_FALSE(powerLaw(pointsOf([](double) { return 0.0; }, {1, 2, 3})));
}

TEST(Parabola, FindsItsThreeCoefficients)
{
    const auto found =
        parabola(pointsOf([](double x) { return 7e6 + 1500 * x + 13 * x * x; }, {256, 1024, 4096, 16384}));
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->terms[0], 7e6, 1);
    EXPECT_NEAR(found->terms[1], 1500, 1e-3);
    EXPECT_NEAR(found->terms[2], 13, 1e-6);
    ASSERT_TRUE(found->half);
    EXPECT_NEAR((*found->half)[2], 0, 1e-6);
    EXPECT_FALSE(parabola(pointsOf([](double x) { return x; }, {1, 2})));
    EXPECT_FALSE(parabola(pointsOf([](double x) { return x; }, {1, 1, 1})));
}

TEST(Parabola, IntervalsAreThoseOfLeastSquares)
{
    // From the normal equations, solved in double precision, with t(0.975, 2) = 4.30265.
    const std::vector<CurvePoint> points{{1, 2.1}, {2, 4.9}, {3, 10.2}, {4, 16.8}, {5, 26.1}};
    const auto found = parabola(points);
    ASSERT_TRUE(found && found->half);
    EXPECT_NEAR(found->terms[0], 1.200000000, 1e-6);
    EXPECT_NEAR(found->terms[1], -0.138571429, 1e-6);
    EXPECT_NEAR(found->terms[2], 1.021428571, 1e-6);
    EXPECT_NEAR((*found->half)[0], 2.069367018, 1e-5);
    EXPECT_NEAR((*found->half)[1], 1.576995268, 1e-5);
    EXPECT_NEAR((*found->half)[2], 0.257866300, 1e-5);
    EXPECT_FALSE(parabola(std::span(points).first(3))->half) << "three points leave nothing to judge by";
}

TEST(Crossover, IsThePointFromWhichOneStaysBelow)
{
    const std::vector<Curve> curves{{"naive", {{128, 1}, {256, 2}, {512, 8}, {1024, 32}}},
                                    {"flash", {{128, 3}, {256, 1}, {512, 9}, {1024, 16}}}};
    EXPECT_EQ(crossoverOf(curves, "naive", "flash"), "from 1024 on");
    EXPECT_EQ(crossoverOf(curves, "flash", "naive"), "nowhere up to 1024");
    EXPECT_FALSE(crossoverOf(curves, "naive", "sdpa"));
    EXPECT_EQ(crossoverOf({{"a", {{1, 2}, {2, 2}}}, {"b", {{1, 1}, {2, 1}}}}, "a", "b"),
              "from the first point, 1, on");
}

TEST(Crossover, IgnoresDifferencesWithinTheDeviationBetweenRuns)
{
    // Ten per cent below at each point: significant if a mean is known to one per cent, not if to twenty.
    const auto curves = [](double error) {
        return std::vector<Curve>{{"naive", {{128, 1.0, error, 9}, {256, 2.0, error, 9}}},
                                  {"flash", {{128, 0.9, error, 9}, {256, 1.8, error, 9}}}};
    };
    EXPECT_EQ(crossoverOf(curves(0.01), "naive", "flash"), "from the first point, 128, on");
    EXPECT_EQ(crossoverOf(curves(0.2), "naive", "flash"),
              "inconclusive, at 256 they differ by no more than runs do");
    EXPECT_EQ(crossoverOf(curves(0.2), "flash", "naive"),
              "inconclusive, at 256 they differ by no more than runs do");
    // t with two degrees of freedom is 4.303, with one 12.706: equal means, fewer samples.
    EXPECT_EQ(
        crossoverOf({{"a", {{1, 1, 0.02, 1}, {2, 1, 0.02, 1}}}, {"b", {{1, 0.9, 0, 1}, {2, 0.9, 0, 1}}}}, "a",
                    "b"),
        "inconclusive, at 2 they differ by no more than runs do");
    EXPECT_EQ(
        crossoverOf({{"a", {{1, 1, 0.02, 2}, {2, 1, 0.02, 2}}}, {"b", {{1, 0.9, 0, 1}, {2, 0.9, 0, 1}}}}, "a",
                    "b"),
        "from the first point, 1, on");
}

TEST(Crossover, NamesThePointsBelowItThatAreInconclusive)
{
    const auto crossover = [](const std::vector<double>& second) {
        std::vector<Curve> curves{{"naive", {}}, {"flash", {}}};
        for (std::size_t i = 0; i < second.size(); ++i) {
            const auto x = static_cast<double>(128 << i);
            curves[0].points.push_back({x, 1, 0.02, 9});
            curves[1].points.push_back({x, second[i], 0.02, 9});
        }
        return crossoverOf(curves, "naive", "flash");
    };
    EXPECT_EQ(crossover({2, 2, 0.5}), "from 512 on");
    EXPECT_EQ(crossover({2, 1, 0.5}), "from 512 on (inconclusive at 256)");
    EXPECT_EQ(crossover({1, 1, 0.5}), "from 512 on (inconclusive at every point below)");
    EXPECT_EQ(crossover({1, 0.5, 1, 1, 0.5}), "from 2048 on (inconclusive at 128, 512 and 1024)");
    EXPECT_EQ(crossover({1, 2}), "nowhere up to 256 (inconclusive at 128)");
}

} // namespace tilescope::report
