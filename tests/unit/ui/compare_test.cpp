// Two runs compared, as the rows, words and curves that the page shows.

#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/compare/comparison_rows.h"
#include "ui/compare/distribution_plot.h"
#include "ui/machine/machine_rows.h"

#include "core/query/file_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilescope::ui {
namespace {

class CompareTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "lm.tscope";
        test::writeLmFile(file, 4);
        session_ = std::make_unique<query::FileSession>(file);
        compared_ = compareRuns(session_->reader(), RunId{1}, session_->reader(), RunId{2});
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<query::FileSession> session_;
    ComparisonData compared_;
};

TEST_F(CompareTest, GathersTheSamplesOfEachPhaseInTheOrderOfTheTimes)
{
    ASSERT_FALSE(compared_.phases.empty());
    EXPECT_EQ(compared_.phases.front().name, QStringLiteral("step"));
    std::vector<double> expected;
    for (const Sample& sample : session_->reader().samples(RunId{1}))
        if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
            expected.push_back(double(sample.wall.count()) / 1e6);
    EXPECT_EQ(compared_.phases.front().a, expected);
    EXPECT_DOUBLE_EQ(compared_.phases.front().statisticsB.median,
                     compared_.phases.front().difference.medianB);
}

TEST_F(CompareTest, TheVerdictSaysWhoIsFasterAndByHowMuch)
{
    const ComparisonVerdict single = verdictOf(*compared_.comparison);
    EXPECT_EQ(single.tone, Tone::Dim);
    EXPECT_EQ(single.words, QStringLiteral("Inconclusive"));
    EXPECT_EQ(single.sentence,
              QStringLiteral("Inconclusive: one run of each. Repeat both 5 times to decide."));
    query::Comparison repeated = *compared_.comparison;
    repeated.times.front().difference.verdict = analysis::Verdict::Faster;
    repeated.flags = {{'B', RunId{2}, "busy-host: x"}};
    const ComparisonVerdict verdict = verdictOf(repeated);
    EXPECT_EQ(verdict.tone, Tone::Better);
    EXPECT_TRUE(verdict.words.startsWith(QStringLiteral("B is faster, "))) << verdict.words.toStdString();
    ASSERT_EQ(verdict.flags.size(), 1);
    EXPECT_TRUE(verdict.flags[0].startsWith(QStringLiteral("B, run 2: "))) << verdict.flags[0].toStdString();
    EXPECT_TRUE(verdict.conditions.contains(QStringLiteral(" steps of 1 run each; ")))
        << verdict.conditions.toStdString();
    EXPECT_TRUE(verdict.conditions.contains(QStringLiteral("backend naive → flash")))
        << verdict.conditions.toStdString();
    query::Comparison other = *compared_.comparison;
    other.times.clear();
    EXPECT_EQ(verdictOf(other).words, QStringLiteral("Not compared"));
    // Recordings of other programs have recorded steps only.
    other.recordedStep = compared_.comparison->times.front().difference;
    EXPECT_EQ(verdictOf(other).words, QStringLiteral("Inconclusive"));
    other.recordedStep->verdict = analysis::Verdict::Slower;
    other.recordedStep->ratio = 3;
    other.recordedStep->difference = 1;
    EXPECT_EQ(verdictOf(other).words, QStringLiteral("B is slower, 3.00×"));
    EXPECT_EQ(verdictOf(other).tone, Tone::Worse);
}

TEST_F(CompareTest, EachKindOfChangeListsItsKernelsAndTogetherTheyAreAll)
{
    const query::Comparison& comparison = *compared_.comparison;
    EXPECT_GT(countOf(comparison, KernelChange::Gone), 0) << "naive attention's kernels";
    EXPECT_GT(countOf(comparison, KernelChange::New), 0) << "flash's kernel";
    int sum = 0;
    for (const KernelChange which : {KernelChange::Gone, KernelChange::New, KernelChange::Count,
                                     KernelChange::Slower, KernelChange::Faster, KernelChange::Same}) {
        EXPECT_EQ(int(kernelDifferenceRows(comparison, which).rows.size()), countOf(comparison, which));
        sum += countOf(comparison, which);
    }
    EXPECT_EQ(sum, countOf(comparison, KernelChange::All));
    for (const TableRow& row : kernelDifferenceRows(comparison, KernelChange::Gone).rows) {
        EXPECT_EQ(row.cells[4].text, QStringLiteral("0")) << "no instances in B";
    }
}

TEST_F(CompareTest, NumbersOfLaunchesHaveDecimalsOnlyIfTheyAreMeans)
{
    query::Comparison comparison = *compared_.comparison;
    ASSERT_FALSE(comparison.kernels.empty());
    comparison.kernels.front().difference.instancesA = 9;
    comparison.kernels.front().difference.instancesB = 4.5;
    const TableRow row = kernelDifferenceRows(comparison, KernelChange::All).rows.front();
    EXPECT_EQ(row.cells[3].text, QStringLiteral("9"));
    EXPECT_EQ(row.cells[4].text, QStringLiteral("4.50"));
    EXPECT_DOUBLE_EQ(row.cells[3].sort, 9);
}

TEST_F(CompareTest, EveryDifferenceHasItsIntervalBesideIt)
{
    const query::Comparison& comparison = *compared_.comparison;
    const std::pair<TableData, const std::vector<query::ComparedGroup>*> tables[] = {
        {kernelDifferenceRows(comparison, KernelChange::All), &comparison.kernels},
        {familyDifferenceRows(comparison), &comparison.families},
        {rangeDifferenceRows(comparison), &comparison.ranges}};
    for (const auto& [table, groups] : tables) {
        ASSERT_FALSE(table.rows.empty());
        EXPECT_EQ(table.columns.back().title, QStringLiteral("± 95 %, µs"));
        for (const TableRow& row : table.rows) {
            const analysis::GroupDifference& difference = (*groups)[std::size_t(row.id)].difference;
            ASSERT_TRUE(difference.difference95) << difference.key << ": four traced steps each";
            const TableCell& cell = row.cells.back();
            EXPECT_TRUE(cell.text.startsWith(QStringLiteral("± "))) << cell.text.toStdString();
            EXPECT_LE(cell.text.size(), 8) << "fits its column: " << cell.text.toStdString();
            EXPECT_DOUBLE_EQ(cell.sort, (difference.difference95->high - difference.difference95->low) / 2);
            EXPECT_TRUE(cell.exact.startsWith(QStringLiteral("95 % interval of B − A: ")));
        }
    }
}

TEST_F(CompareTest, BarsOfFamiliesAreSharesOfTheGreatestDifference)
{
    query::Comparison comparison = *compared_.comparison;
    for (query::ComparedGroup& group : comparison.families)
        group.difference.verdict = group.difference.b.value_or(0) < group.difference.a.value_or(0)
                                       ? analysis::GroupVerdict::Faster
                                       : analysis::GroupVerdict::Slower;
    double most = 0;
    for (const TableRow& row : familyDifferenceRows(comparison).rows)
        most = std::max(most, std::abs(row.cells[3].signedBar));
    EXPECT_DOUBLE_EQ(most, 1);
}

TEST_F(CompareTest, RangesAreNamedFromTheStepDownAndKeepTheirPlaces)
{
    const query::Comparison& comparison = *compared_.comparison;
    const TableData rows = rangeDifferenceRows(comparison);
    ASSERT_GT(rows.rows.size(), 3U);
    for (const TableRow& row : rows.rows) {
        const std::string& key = comparison.ranges[std::size_t(row.id)].difference.key;
        EXPECT_EQ("step/" + row.cells[0].text.toStdString(), key);
    }
}

TEST_F(CompareTest, WhatThePeaksAreMadeOfAddsUpToThem)
{
    ASSERT_FALSE(compared_.categories.empty());
    double a = 0;
    double b = 0;
    for (const query::ComparedMemory& one : compared_.categories) {
        a += double(one.a.value_or(Bytes{}).count);
        b += double(one.b.value_or(Bytes{}).count);
    }
    EXPECT_EQ(a, double(session_->liveAtPeak(RunId{1}).allocated.count));
    EXPECT_EQ(b, double(session_->liveAtPeak(RunId{2}).allocated.count));
    const TableData rows = memoryDifferenceRows(compared_);
    EXPECT_EQ(rows.rows.size(), compared_.comparison->memory.size() + compared_.categories.size());
    double difference = 0; // of the categories, which are sorted by size whatever the sign
    for (std::size_t i = compared_.comparison->memory.size(); i < rows.rows.size(); ++i)
        difference += rows.rows[i].cells[3].tone == Tone::Better ? -rows.rows[i].cells[3].sort
                                                                 : rows.rows[i].cells[3].sort;
    EXPECT_DOUBLE_EQ(difference, b - a);
}

TEST(SampleAxes, TakeTheUnitOfTheLongerRun)
{
    PhaseSamples phase;
    phase.statisticsA.median = 0.4; // ms
    phase.statisticsB.median = 80;
    EXPECT_EQ(unitOf(phase).suffix, "ms");
    std::swap(phase.statisticsA.median, phase.statisticsB.median);
    EXPECT_EQ(unitOf(phase).suffix, "ms") << "whichever of them is A";
}

TEST(Density, HasOnePeakWhereTheSamplesAreAndIsSymmetricAboutIt)
{
    const std::vector<double> samples{9, 9.5, 10, 10.5, 11};
    const std::vector<double> density = densityOf(samples, 0, 20, 200);
    const auto peak = std::max_element(density.begin(), density.end());
    EXPECT_NEAR(double(peak - density.begin()), 100, 1);
    EXPECT_DOUBLE_EQ(*peak, 1);
    for (std::size_t i = 0; i < 100; ++i)
        EXPECT_NEAR(density[i], density[199 - i], 1e-9);
    EXPECT_EQ(densityOf({}, 0, 1, 4), std::vector<double>(4, 0));
    for (const double value : densityOf({5, 5, 5}, 0, 10, 50))
        EXPECT_TRUE(std::isfinite(value)) << "equal samples have no width of their own";
}

TEST(MachineRows, WhatDiffersStandsOut)
{
    query::EnvironmentTable a;
    a.rows = {{"gpu.name", "H200", ""}, {"memory", "1073741824", "B"}, {"spec", "{}", ""}};
    query::EnvironmentTable b;
    b.rows = {{"gpu.name", "A100", ""}, {"memory", "1073741824", "B"}, {"driver", "580", ""}};
    const TableData data = factRows({a, b}, {QStringLiteral("A"), QStringLiteral("B")});
    ASSERT_EQ(data.rows.size(), 3U) << "the spec is left to the run list";
    EXPECT_EQ(data.rows[0].cells[1].tone, Tone::Strong);
    EXPECT_EQ(data.rows[1].cells[1].tone, Tone::Plain);
    EXPECT_EQ(data.rows[1].cells[1].exact, QStringLiteral("1073741824 B"));
    EXPECT_EQ(data.rows[2].cells[1].text, QStringLiteral("–"));
    EXPECT_EQ(data.rows[2].cells[2].text, QStringLiteral("580"));
}

} // namespace
} // namespace tilescope::ui
