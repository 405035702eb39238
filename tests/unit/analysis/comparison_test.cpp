#include "core/analysis/compare/comparison.h"

#include "core/analysis/stats/random.h"
#include "core/analysis/stats/student_t.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::analysis {

namespace {

/// Step times of about 10 ms. Their logarithm follows x' = memory * x + noise, with occasional disturbances
/// by a busy host.
std::vector<double> stepTimes(Random& random, int steps, double deviation, double memory)
{
    std::vector<double> times;
    double x = random.normal();
    for (int i = 0; i < steps; ++i) {
        x = memory * x + std::sqrt(1 - memory * memory) * random.normal();
        const double spike = random.uniform() < 0.03 ? 1 + 0.5 * random.uniform() : 1;
        times.push_back(10 * std::exp(deviation * x) * spike);
    }
    return times;
}

GroupVerdict verdictOf(const std::vector<GroupDifference>& differences, const std::string& key)
{
    for (const GroupDifference& difference : differences)
        if (difference.key == key)
            return difference.verdict;
    throw std::runtime_error(key);
}

} // namespace

TEST(Student, AgreesWithTheTables)
{
    EXPECT_NEAR(studentCritical(0.05, 1), 12.706, 1e-3);
    EXPECT_NEAR(studentCritical(0.05, 10), 2.2281, 1e-4);
    EXPECT_NEAR(studentCritical(0.01, 30), 2.7500, 1e-4);
    EXPECT_NEAR(studentCritical(0.05, 1e7), 1.95996, 1e-4);
    EXPECT_NEAR(studentTwoSided(2.2281, 10), 0.05, 1e-5);
    EXPECT_NEAR(studentTwoSided(0, 5), 1, 1e-12);
    EXPECT_NEAR(studentTwoSided(-2, 4), studentTwoSided(2, 4), 1e-15);
    EXPECT_EQ(studentTwoSided(INFINITY, 4), 0);
}

TEST(BlockLength, FollowsTheMemoryOfTheSeries)
{
    Random random(3);
    const auto independent = stepTimes(random, 2000, 0.01, 0);
    std::vector<double> slow;
    double x = 0;
    for (int i = 0; i < 2000; ++i)
        slow.push_back(x = 0.9 * x + random.normal());
    EXPECT_LE(blockLength(independent), 5u);
    // The best block for this process is (2 (0.9 / (1 - 0.81))^2 * 1.5 * 2000)^(1/3), about 51.
    EXPECT_GE(blockLength(slow), 25u);
    EXPECT_LE(blockLength(slow), 110u);
    EXPECT_EQ(blockLength(std::vector<double>(100, 3.0)), 1u);
    EXPECT_EQ(blockLength({}), 1u);
}

TEST(CompareSeries, GivesMediansAndRatio)
{
    const std::vector<double> a{10, 11, 12, 10, 11};
    const std::vector<double> b{20, 22, 24, 22, 22};
    const auto difference = compareSeries(a, b);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->medianA, 11);
    EXPECT_EQ(difference->medianB, 22);
    EXPECT_EQ(difference->ratio, 2);
    EXPECT_TRUE(difference->seen());
    EXPECT_LT(difference->ratio95.low, 2);
    EXPECT_GT(difference->ratio95.high, 2);
    EXPECT_FALSE(compareSeries(a, std::vector<double>{1}));
    EXPECT_EQ(compareSeries(a, b)->ratio95, difference->ratio95);
}

TEST(CompareSeries, ItsFalsePositivesMatchTheConfidenceLevel)
{
    Random random(11);
    int none = 0;
    constexpr int kPairs = 200;
    for (int pair = 0; pair < kPairs; ++pair) {
        const auto a = stepTimes(random, 60, 0.01, 0.3);
        const auto b = stepTimes(random, 60, 0.01, 0.3);
        none += !compareSeries(a, b)->seen();
    }
    EXPECT_GE(none, 0.88 * kPairs);
    EXPECT_LE(none, 0.99 * kPairs); // an interval that is never wrong is too wide
}

TEST(CompareSeries, TheOrderOfTheStepsMatters)
{
    // With a slow drift, the number of effective observations is smaller than that of steps; shuffled values
    // are independent.
    Random random(19);
    std::vector<double> a;
    for (int i = 0; i < 400; ++i)
        a.push_back(10 + 0.5 * std::sin(i / 20.0) + 0.01 * random.normal());
    std::vector<double> shuffled = a;
    for (std::size_t i = shuffled.size() - 1; i > 0; --i)
        std::swap(shuffled[i], shuffled[random.below(i + 1)]);
    const auto width = [](const std::vector<double>& series) {
        const auto difference = compareSeries(series, series);
        return difference->ratio95.high - difference->ratio95.low;
    };
    EXPECT_GT(width(a), 2 * width(shuffled));
}

TEST(CompareSeries, LongSeriesStayCheap)
{
    Random random(29);
    const auto series = stepTimes(random, 200'000, 0.01, 0.5);
    EXPECT_FALSE(compareSeries(series, series)->seen());
}

TEST(Discoveries, AreTheStepUpOfBenjaminiAndHochberg)
{
    // The example of their paper (1995, table 1): 15 p-values, four rejected at 0.05.
    const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    const std::vector<bool> found = discoveries(p, 0.05);
    EXPECT_EQ(std::count(found.begin(), found.end(), true), 4);
    EXPECT_TRUE(found[3]);
    EXPECT_FALSE(found[4]);
    EXPECT_TRUE(discoveries({}, 0.05).empty());
}

/// The deviation between repeats: runs hardly differ.
BetweenRuns calm()
{
    return {.deviation = 1e-9, .degrees = 1e6, .runs = 10, .source = BetweenRuns::Source::Repeats};
}

TEST(CompareGroups, DistinguishesNewGoneCountAndTime)
{
    const std::vector<GroupTimes> a{{"same", {{100, 100.1, 99.9}}, 2}, {"slower", {{100, 101, 99}}, 2},
                                    {"faster", {{100, 101, 99}}, 2},   {"count", {{100, 101, 99}}, 2},
                                    {"gone", {{50, 50, 50}}, 1},       {"once", {{10}}, 1},
                                    {"vague", {{100, 80, 120}}, 1}};
    const std::vector<GroupTimes> b{{"same", {{100, 99.9, 100.1}}, 2}, {"slower", {{130, 131, 129}}, 2},
                                    {"faster", {{70, 71, 69}}, 2},     {"count", {{150, 151, 149}}, 3},
                                    {"new", {{40, 40, 40}}, 1},        {"once", {{20}}, 1},
                                    {"vague", {{100, 118, 82}}, 1}};
    const auto differences = compareGroups(a, b, calm());
    EXPECT_EQ(verdictOf(differences, "same"), GroupVerdict::NoDifference);
    EXPECT_EQ(verdictOf(differences, "slower"), GroupVerdict::Slower);
    EXPECT_EQ(verdictOf(differences, "faster"), GroupVerdict::Faster);
    EXPECT_EQ(verdictOf(differences, "count"), GroupVerdict::Count);
    EXPECT_EQ(verdictOf(differences, "gone"), GroupVerdict::Gone);
    EXPECT_EQ(verdictOf(differences, "new"), GroupVerdict::New);
    EXPECT_EQ(verdictOf(differences, "once"), GroupVerdict::Untested);
    EXPECT_EQ(verdictOf(differences, "vague"), GroupVerdict::Inconclusive);
    EXPECT_EQ(differences.size(), 8u);
    for (std::size_t i = 1; i < differences.size(); ++i)
        EXPECT_GE(std::abs(differences[i - 1].b.value_or(0) - differences[i - 1].a.value_or(0)),
                  std::abs(differences[i].b.value_or(0) - differences[i].a.value_or(0)));
}

TEST(CompareGroups, FewOfManyEqualGroupsAreCalledDifferent)
{
    Random random(37);
    for (const int runs : {1, 5}) {
        int tables = 0;
        for (int trial = 0; trial < 200; ++trial) {
            std::vector<GroupTimes> a;
            std::vector<GroupTimes> b;
            for (int group = 0; group < 60; ++group) {
                // Steps of one run are similar, those of different runs are not.
                const auto side = [&] {
                    std::vector<std::vector<double>> values;
                    for (int run = 0; run < runs; ++run) {
                        const double level = 1000 * (1 + 0.02 * random.normal());
                        values.push_back({});
                        for (int i = 0; i < 3; ++i)
                            values.back().push_back(level * (1 + 0.002 * random.normal()));
                    }
                    return values;
                };
                a.push_back({"k" + std::to_string(group), side(), 1});
                b.push_back({"k" + std::to_string(group), side(), 1});
            }
            const BetweenRuns between{.deviation = 0.02, .degrees = 2.0 * runs};
            const auto differences = compareGroups(a, b, between);
            tables += std::any_of(differences.begin(), differences.end(), [](const GroupDifference& d) {
                return d.verdict == GroupVerdict::Slower || d.verdict == GroupVerdict::Faster;
            });
        }
        EXPECT_LE(tables, 20) << runs; // 5 % of the tables, with a margin
    }
}

TEST(CompareGroups, RepeatsDecideWhatASingleRunCannot)
{
    const BetweenRuns single{.deviation = 0.02, .degrees = 2};
    const BetweenRuns repeated{
        .deviation = 0.005, .degrees = 8, .runs = 10, .source = BetweenRuns::Source::Repeats};
    const std::vector<GroupTimes> a1{{"k", {{100, 100.1, 99.9}}, 1}};
    const std::vector<GroupTimes> b1{{"k", {{105, 105.1, 104.9}}, 1}};
    EXPECT_EQ(compareGroups(a1, b1, single).front().verdict, GroupVerdict::Inconclusive);
    const std::vector<GroupTimes> a5{{"k", {{100}, {100.5}, {99.5}, {100}, {100}}, 1}};
    const std::vector<GroupTimes> b5{{"k", {{105}, {105.5}, {104.5}, {105}, {105}}, 1}};
    EXPECT_EQ(compareGroups(a5, b5, repeated).front().verdict, GroupVerdict::Slower);
}

TEST(CompareGroups, AVerdictAndItsIntervalAgree)
{
    Random random(53);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<GroupTimes> a;
        std::vector<GroupTimes> b;
        for (int group = 0; group < 20; ++group) {
            const auto runs = [&](double mean) {
                std::vector<std::vector<double>> values;
                for (int run = 0; run < 4; ++run)
                    values.push_back({mean * (1 + 0.02 * random.normal())});
                return values;
            };
            a.push_back({"k" + std::to_string(group), runs(100), 1});
            b.push_back({"k" + std::to_string(group), runs(group < 6 ? 106 : 100), 1});
        }
        for (const GroupDifference& d : compareGroups(a, b, calm())) {
            ASSERT_TRUE(d.difference95);
            EXPECT_EQ(d.verdict == GroupVerdict::Slower, d.difference95->low > 0);
            EXPECT_EQ(d.verdict == GroupVerdict::Faster, d.difference95->high < 0);
        }
    }
}

TEST(CompareGroups, TheIntervalOfADifferenceIsWelchs)
{
    // By hand: means 10 and 13, variances of the means 1/3 and 4/3, so t(0.975; 2.94) x sqrt(5/3) to each
    // side.
    const std::vector<GroupTimes> a = {
        {"k", {{9}, {10}, {11}}, 1}, {"gone", {{9}, {10}, {11}}, 1}, {"once", {{5}}, 1}};
    const std::vector<GroupTimes> b = {
        {"k", {{11}, {13}, {15}}, 1}, {"new", {{11}, {13}, {15}}, 1}, {"once", {{6}}, 1}};
    for (const GroupDifference& difference : compareGroups(a, b, calm())) {
        if (difference.key == "once") {
            EXPECT_FALSE(difference.difference95) << "one step shows no spread";
            continue;
        }
        ASSERT_TRUE(difference.difference95) << difference.key;
        const auto [low, high] = *difference.difference95;
        if (difference.key == "k") {
            const double half = studentCritical(0.05, 25.0 / 9 / (1.0 / 18 + 16.0 / 18)) * std::sqrt(5.0 / 3);
            EXPECT_NEAR(low, 3 - half, 1e-6);
            EXPECT_NEAR(high, 3 + half, 1e-6);
        } else if (difference.key == "gone") {
            EXPECT_NEAR(low, -10 - 4.3027 * std::sqrt(1.0 / 3), 1e-3);
            EXPECT_NEAR(high, -10 + 4.3027 * std::sqrt(1.0 / 3), 1e-3);
        } else {
            EXPECT_NEAR((low + high) / 2, 13, 1e-9);
        }
    }
}

TEST(CompareGroups, EqualTimesWithoutAnyNoiseAreTheSame)
{
    const std::vector<GroupTimes> zero{{"k", {{0, 0, 0}}, 0}};
    EXPECT_EQ(compareGroups(zero, zero, calm()).front().verdict, GroupVerdict::NoDifference);
}

} // namespace tilescope::analysis
