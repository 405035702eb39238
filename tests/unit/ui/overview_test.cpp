// The overview's figures from a recording: computed a second way from its records, and as plain values.

#include "core/query/compare/compare_tables.h"
#include "core/query/overview/run_overview.h"
#include "core/query/work/work_tables.h"
#include "core/store/run_reader.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/cpu_fixture.h"
#include "tests/ui/fixture.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_delegate.h"
#include "ui/overview/advice_panel.h"
#include "ui/overview/overview_tables.h"
#include "ui/theme/theme.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace tilescope::ui {
namespace {

class OverviewTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        file_ = folder_ / "lm.tscope";
        test::writeLmFile(file_);
        session_ = std::make_unique<query::FileSession>(file_);
        snapshot_ = std::make_shared<const query::FileSnapshot>(session_->snapshot());
    }

    OverviewData dataOf(std::vector<std::size_t> runs) const
    {
        OverviewData data;
        for (const std::size_t at : runs) {
            const query::RunSummary& summary = snapshot_->runs.at(at);
            const QString letter =
                runs.size() > 1 ? QString(QChar(char16_t(u'A' + data.runs.size()))) : QString();
            data.runs.push_back({letter, QString::fromStdString(summary.name), snapshot_, &summary,
                                 std::make_shared<const query::RunOverview>(query::runOverview(
                                     session_->reader(), summary.run, testing::kNotCancelled))});
        }
        return data;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_;
    std::unique_ptr<query::FileSession> session_;
    std::shared_ptr<const query::FileSnapshot> snapshot_;
};

TEST(KeyFigures, OfAnImportedRunHaveItsTracedStepAndNoEmptyCard)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "ranks.tscope";
    test::writeRanksFile(file);
    const query::FileSession session(file);
    const auto snapshot = std::make_shared<const query::FileSnapshot>(session.snapshot());
    const query::RunSummary& run = snapshot->runs.at(0);
    OverviewData data;
    data.runs.push_back({{},
                         QString::fromStdString(run.name),
                         snapshot,
                         &run,
                         std::make_shared<const query::RunOverview>(
                             query::runOverview(session.reader(), run.run, testing::kNotCancelled))});
    ASSERT_TRUE(data.runs[0].data->step);
    const std::vector<KeyFigure> figures = keyFigures(data);
    ASSERT_EQ(figures.size(), 4U);
    EXPECT_EQ(figures[0].title, QStringLiteral("Traced step, mean"));
    EXPECT_EQ(figures[0].lines[0].number + QChar(0x2009) + figures[0].lines[0].unit,
              timeText(data.runs[0].data->step->wall));
    EXPECT_TRUE(figures[0].lines[0].detail.endsWith(QStringLiteral("steps in all")))
        << figures[0].lines[0].detail.toStdString();
    for (const KeyFigure& figure : figures)
        EXPECT_NE(figure.lines[0].number, notMeasured()) << figure.title.toStdString();
}

TEST_F(OverviewTest, BasicsAreThereBeforeTheTraceIsRead)
{
    const RunId run = snapshot_->runs.at(0).run;
    OverviewData data = dataOf({0});
    const query::RunOverview& whole = *data.runs[0].data;
    EXPECT_TRUE(whole.isWhole);
    query::RunOverview basics = query::runBasics(session_->reader(), run);
    EXPECT_FALSE(basics.isWhole);
    EXPECT_FALSE(basics.step);
    EXPECT_EQ(basics.environment.rows.size(), whole.environment.rows.size());
    EXPECT_EQ(basics.run.uid, whole.run.uid);
    const QString stepTime = keyFigures(data)[0].lines[0].number;
    data.runs[0].data = std::make_shared<const query::RunOverview>(std::move(basics));
    EXPECT_EQ(keyFigures(data)[0].lines[0].number, stepTime) << "the samples are known";
    EXPECT_EQ(keyFigures(data)[1].lines[0].detail, QStringLiteral("reading the trace"));
}

TEST_F(OverviewTest, AddsUpFamiliesAndStepsAsTheEventsDo)
{
    const RunId run = snapshot_->runs.at(0).run;
    const query::RunOverview overview = query::runOverview(session_->reader(), run, testing::kNotCancelled);
    ASSERT_TRUE(overview.step);
    EXPECT_EQ(overview.step->steps, 2);
    EXPECT_TRUE(overview.step->onGpu);
    double kernels = 0;
    double instances = 0;
    for (const DeviceEvent& event : session_->reader().deviceEvents({.run = run})) {
        if (event.step == kNoStep)
            continue;
        kernels += double((event.end - event.start).count()) / 2;
        instances += 0.5;
    }
    double families = 0;
    double familyInstances = 0;
    for (const query::FamilyShare& share : overview.families) {
        families += share.perStep;
        familyInstances += share.instancesPerStep;
    }
    EXPECT_NEAR(families, kernels, 1);
    EXPECT_DOUBLE_EQ(familyInstances, instances);
    const query::MeanStep& step = *overview.step;
    EXPECT_NEAR(step.gpuBusy + step.launching + step.synchronizing + step.tracing + step.unexplained,
                step.wall, 1);
}

TEST_F(OverviewTest, ABarIsAsLongAsItsStep)
{
    const OverviewData data = dataOf({0, 1});
    const std::vector<StepBar> bars = stepBars(data);
    ASSERT_EQ(bars.size(), 2U);
    for (std::size_t i = 0; i < bars.size(); ++i)
        EXPECT_NEAR(bars[i].total(), data.runs[i].data->step->wall, 2);
}

TEST_F(OverviewTest, ListsBothRunsOfAPairInOneRow)
{
    const TableData families = familyShareRows(dataOf({0, 1}));
    ASSERT_EQ(families.columns.size(), 6U);
    std::map<QString, std::pair<double, double>> shares;
    for (const TableRow& row : families.rows)
        shares[row.cells[0].text] = {row.cells[1].sort, row.cells[2].sort};
    EXPECT_GT(shares[QStringLiteral("softmax")].first, 0) << "naive attention has a softmax kernel";
    EXPECT_LT(shares[QStringLiteral("softmax")].second, shares[QStringLiteral("softmax")].first)
        << "of flash's there is only the loss's";
    EXPECT_EQ(shares[QStringLiteral("attention")].first, 0);
    EXPECT_GT(shares[QStringLiteral("attention")].second, 0);
    double sum = 0;
    for (const auto& [name, share] : shares)
        if (name != QLatin1String("all"))
            sum += share.first;
    EXPECT_NEAR(shares[QStringLiteral("all")].first, sum, 1);
    EXPECT_EQ(rangeShareRows(dataOf({0, 1})).columns.size(), 5U);
}

TEST_F(OverviewTest, DifferencesOfRangesHaveTheToneOfTheVerdict)
{
    OverviewData data = dataOf({0, 1});
    data.stepDifference = query::compareSteps(session_->reader(), snapshot_->runs[0].run, session_->reader(),
                                              snapshot_->runs[1].run);
    constexpr std::size_t kDifference = 4;
    const auto tonesWith = [&](analysis::Verdict verdict) {
        data.stepDifference->verdict = verdict;
        std::map<Tone, int> tones;
        for (const TableRow& row : rangeShareRows(data).rows)
            ++tones[row.cells[kDifference].tone];
        return tones;
    };
    ASSERT_EQ(rangeShareRows(data).columns[kDifference].title.left(5), QStringLiteral("B − A"));
    const auto rows = int(rangeShareRows(data).rows.size());
    EXPECT_EQ(tonesWith(analysis::Verdict::Inconclusive)[Tone::Dim], rows);
    EXPECT_EQ(tonesWith(analysis::Verdict::NoDifference)[Tone::Dim], rows);
    EXPECT_GT(tonesWith(analysis::Verdict::Faster)[Tone::Better], 0);
    EXPECT_EQ(tonesWith(analysis::Verdict::Faster)[Tone::Worse], 0);
}

TEST_F(OverviewTest, TheStepTimeCardAddsUp)
{
    OverviewData data = dataOf({0, 1});
    data.stepDifference = query::compareSteps(session_->reader(), snapshot_->runs[0].run, session_->reader(),
                                              snapshot_->runs[1].run);
    ASSERT_TRUE(data.stepDifference);
    EXPECT_EQ(data.stepDifference->verdict, analysis::Verdict::Inconclusive) << "one run of each";
    ASSERT_LT(data.stepDifference->difference, 0);
    data.stepDifference->verdict = analysis::Verdict::Faster;
    const KeyFigure card = keyFigures(data)[0];
    EXPECT_EQ(card.title, QStringLiteral("Step time, median"));
    ASSERT_EQ(card.lines[0].unit, card.lines[1].unit);
    const double a = card.lines[0].number.toDouble();
    const double b = card.lines[1].number.toDouble();
    const QString expected = signedTimeText(data.stepDifference->difference * 1e6) + QStringLiteral(", ") +
                             threeDigits(1 / data.stepDifference->ratio) + QStringLiteral("× faster");
    EXPECT_EQ(card.verdict, expected);
    EXPECT_NEAR(data.stepDifference->difference, b - a, 0.01 * a) << "difference of what is shown";
    EXPECT_NEAR(1 / data.stepDifference->ratio, a / b, 0.01) << "ratio of what is shown";
    data.stepDifference->verdict = analysis::Verdict::Inconclusive;
    EXPECT_EQ(keyFigures(data)[0].verdict, QStringLiteral("inconclusive, repeat 5×"));
}

TEST_F(OverviewTest, OneStepHasNoSpread)
{
    query::RunSummary summary = snapshot_->runs[0];
    const std::array<double, 1> one{95.2};
    summary.step = analysis::summarise(one);
    OverviewData data = dataOf({0});
    data.runs[0].summary = &summary;
    const KeyFigure card = keyFigures(data)[0];
    EXPECT_EQ(card.lines[0].number, QStringLiteral("95.2"));
    EXPECT_EQ(card.lines[0].detail, QStringLiteral("n 1"));
}

TEST_F(OverviewTest, WhatIsTooNoisyIsNotCalledStable)
{
    OverviewData data = dataOf({0});
    const auto titleWith = [&data](double low, double ratio, double high) {
        query::RunOverview overview = *data.runs[0].data;
        overview.drift = analysis::SeriesDifference{
            .stepsA = 5, .stepsB = 5, .ratio = ratio, .ratio95 = {.low = low, .high = high}};
        data.runs[0].data = std::make_shared<const query::RunOverview>(std::move(overview));
        for (const Flag& flag : flagsOf(data))
            if (flag.page == QLatin1String("compare"))
                return flag;
        return Flag{};
    };
    EXPECT_EQ(titleWith(0.99, 1.001, 1.01).title, QStringLiteral("Stable"));
    EXPECT_EQ(titleWith(0.99, 1.001, 1.01).kind, Flag::Kind::Fine);
    EXPECT_EQ(titleWith(0.7, 1.484, 3.1).title, QStringLiteral("Too noisy to tell"));
    EXPECT_EQ(titleWith(0.7, 1.484, 3.1).kind, Flag::Kind::Warning);
    EXPECT_EQ(titleWith(1.2, 1.484, 1.8).title, QStringLiteral("Drift"));
    EXPECT_EQ(titleWith(1.01, 1.02, 1.03).title, QStringLiteral("Drift"));
    EXPECT_EQ(titleWith(1.001, 1.003, 1.005).title, QStringLiteral("Stable"))
        << "certain, but too small to matter";
}

TEST_F(OverviewTest, TracingThatSavesTimeIsImplausible)
{
    query::RunSummary summary = snapshot_->runs[0];
    OverviewData data = dataOf({0});
    data.runs[0].summary = &summary;
    const auto verdictWith = [&](double overhead) {
        summary.result.traceOverhead = overhead;
        return keyFigures(data).back().verdict;
    };
    EXPECT_EQ(verdictWith(0.395), QStringLiteral("implausible: below 1"));
    EXPECT_EQ(verdictWith(1.02), QStringLiteral("below the limit of 1.10"));
    EXPECT_EQ(verdictWith(1.4), QStringLiteral("above the limit of 1.10"));
    summary.result.traceOverhead.reset();
    EXPECT_EQ(keyFigures(data).back().lines[0].detail, QStringLiteral("not measured"))
        << "the page shows its traced step";
}

TEST_F(OverviewTest, AllocationsAtThePeakAddUpToThePeak)
{
    const OverviewData data = dataOf({0});
    ASSERT_TRUE(data.runs[0].data->live);
    double sum = 0;
    for (const TableRow& row : allocationRows(data).rows)
        sum += row.cells[2].sort;
    EXPECT_DOUBLE_EQ(sum, double(data.runs[0].data->live->allocated.count));
}

TEST_F(OverviewTest, TheMfuIsThatOfTheSpecsFlopsInTheMedianStep)
{
    const OverviewData data = dataOf({0});
    const auto& used = data.runs[0].data->utilisation;
    ASSERT_TRUE(used) << "the FLOPs of an lm follow from its spec";
    const query::MfuTable table = query::mfu(session_->reader(), {.run = snapshot_->runs.at(0).run});
    const double seconds = data.runs[0].summary->step->median * 1e-3;
    EXPECT_NEAR(used->flopsPerSecond * seconds / double(table.rows.front().model->count), 1, 1e-6);
    ASSERT_TRUE(used->sheetCeiling) << "an H200's is known";
    EXPECT_NEAR(used->mfu().value(), used->flopsPerSecond / *used->sheetCeiling, 1e-12);
    const KeyFigure figure = keyFigures(data)[4];
    EXPECT_EQ(figure.title, QStringLiteral("MFU"));
    EXPECT_EQ(figure.lines[0].unit, QStringLiteral("%"));
    EXPECT_TRUE(figure.verdict.contains(QStringLiteral("data sheet"))) << figure.verdict.toStdString();
}

TEST(OverviewOnACpu, ShowsTheLongestPhasesInPlaceOfTheGpu)
{
    const testing::TemporaryFolder folder;
    test::writeStudyFile(folder / "study.tscope");
    query::FileSession session(folder / "study.tscope");
    const auto snapshot = std::make_shared<const query::FileSnapshot>(session.snapshot());
    OverviewData data;
    for (const std::size_t at : {0U, 1U}) {
        const query::RunSummary& run = snapshot->runs.at(at);
        data.runs.push_back({QString(QChar(char16_t(u'A' + at))), QString::fromStdString(run.name), snapshot,
                             &run,
                             std::make_shared<const query::RunOverview>(
                                 query::runOverview(session.reader(), run.run, testing::kNotCancelled))});
    }
    QStringList titles;
    for (const KeyFigure& figure : keyFigures(data))
        titles << figure.title;
    EXPECT_EQ(titles, (QStringList{QStringLiteral("Step time, median"), QStringLiteral("Forward, median"),
                                   QStringLiteral("Backward, median"), QStringLiteral("Peak allocated"),
                                   QStringLiteral("Model FLOP rate"), QStringLiteral("Tracing cost")}));
    const KeyFigure forward = keyFigures(data)[1];
    for (std::size_t i = 0; i < 2; ++i) {
        const query::RunSummary& run = *data.runs[i].summary;
        const auto phase = std::ranges::find(run.phases, Phase::Forward, &query::PhaseTimes::phase);
        ASSERT_NE(phase, run.phases.end());
        EXPECT_EQ(forward.lines[i].number + QChar(0x2009) + forward.lines[i].unit,
                  timeText(phase->wallMs->median * 1e6));
        EXPECT_EQ(forward.lines[i].detail,
                  percentText(phase->wallMs->median / run.step->median) + QStringLiteral(" of step"));
    }
}

TEST(OverviewRepeats, ATracedAndAnUntracedRunOfASpecAreDifferentPoints)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "cpu.tscope";
    test::writeCpuFile(file);
    query::FileSession session(file);
    const RunId traced{1};
    const RunId untraced{3};
    const auto difference = query::compareSteps(session.reader(), traced, session.reader(), untraced);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->runsA, 1);
    EXPECT_EQ(difference->runsB, 1);
}

TEST_F(OverviewTest, EveryFigureLeadsToAPage)
{
    for (const KeyFigure& figure : keyFigures(dataOf({0, 1})))
        EXPECT_FALSE(figure.page.isEmpty()) << figure.title.toStdString();
}

TEST_F(OverviewTest, ManyRunsAreListedAgainstTheFirst)
{
    std::vector<NamedRun> runs;
    for (const query::RunSummary& run : snapshot_->runs)
        runs.push_back({QString(), QString::fromStdString(run.name), &run});
    const TableData table = runRows(runs);
    ASSERT_EQ(table.rows.size(), 3U);
    EXPECT_EQ(table.rows[0].cells[6].text, QStringLiteral("1.00"));
    EXPECT_NEAR(table.rows[1].cells[6].sort, runs[0].summary->step->median / runs[1].summary->step->median,
                1e-12);
    EXPECT_EQ(table.rows[2].cells[1].text, QStringLiteral("oom"));
    EXPECT_EQ(table.rows[2].cells[2].text, QStringLiteral("–")) << "what ran out of memory took no time";
}

TEST_F(OverviewTest, SaysWhatIsNotMeasuredWithADash)
{
    std::size_t oom = 0;
    while (snapshot_->runs.at(oom).result.status != RunStatus::Oom)
        ++oom;
    const std::vector<KeyFigure> figures = keyFigures(dataOf({oom}));
    EXPECT_EQ(figures.front().lines.front().number, QStringLiteral("–"));
    const std::vector<Flag> flags = flagsOf(dataOf({oom}));
    ASSERT_FALSE(flags.empty());
    EXPECT_EQ(flags.front().title, QStringLiteral("Not finished"));
    EXPECT_TRUE(stepBars(dataOf({oom})).empty());
}

TEST_F(OverviewTest, JoinsWhatHoldsForBothRuns)
{
    std::map<QString, int> titles;
    for (const Flag& flag : flagsOf(dataOf({0, 1})))
        ++titles[flag.title];
    for (const auto& [title, count] : titles)
        EXPECT_EQ(count, 1) << title.toStdString();
}

TEST(AdviceRows, HaveRoomForTheNamesOfAllRules)
{
    const TableData table = adviceRows({});
    const QFontMetrics metrics(Theme::instance().body());
    for (std::size_t i = 0; i < analysis::kAdviceRules; ++i) {
        const auto name = QString::fromUtf8(wordOf(analysis::AdviceRule(i)));
        EXPECT_LE(metrics.horizontalAdvance(name) + TableDelegate::padding(0),
                  sizes().of(int(table.columns.front().width)))
            << name.toStdString();
    }
}

} // namespace
} // namespace tilescope::ui
