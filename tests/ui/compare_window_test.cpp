// Run A against each of several others, on the page Compare.

#include "core/query/compare/compare_tables.h"
#include "tests/ui/cpu_fixture.h"
#include "tests/ui/window_fixture.h"
#include "tests/unit/report/study_file.h"
#include "ui/compare/baseline_panel.h"
#include "ui/compare/compare_page.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"

#include <QApplication>
#include <QClipboard>

#include <algorithm>

namespace tilescope::ui {
namespace {

enum Column { Name, Status, Median, Ratio, Bar, Interval, VerdictWord, Peak, PeakRatio };

class BaselineTest : public WindowTest {
protected:
    void open(void (*write)(const std::filesystem::path&))
    {
        const std::filesystem::path path = folder_ / "runs.tscope";
        write(path);
        window_.open({QString::fromStdString(path.string())});
        waitUntilSettled();
        window_.showPage(QStringLiteral("compare"));
    }

    void select(std::initializer_list<int> runs)
    {
        std::vector<RunKey> keys;
        for (const int run : runs)
            keys.push_back({window_.workspace().files().back().id, RunId{run}});
        window_.workspace().select(keys);
        waitUntilSettled();
    }

    BaselinePanel& panel() { return *window_.page(QStringLiteral("compare"))->findChild<BaselinePanel*>(); }
    TableView& table() { return named<TableView>(QStringLiteral("Run A against each of the others")); }
    const TableCell& cell(std::size_t row, Column column)
    {
        return table().table().rows.at(row).cells[column];
    }
    QModelIndex rowWith(int id)
    {
        for (int row = 0; row < table().model()->rowCount(); ++row)
            if (table().model()->index(row, 0).data(TableModel::IdRole).toInt() == id)
                return table().model()->index(row, 0);
        return {};
    }
    QString verdictSentence()
    {
        return window_.page(QStringLiteral("compare"))
            ->findChild<QLabel*>(QStringLiteral("verdictSentence"))
            ->text();
    }
};

TEST_F(BaselineTest, HasARowForEachOtherRunWithTheVerdictOfThePair)
{
    open(test::writeGpuFile);
    select({1, 2});
    EXPECT_FALSE(panel().isVisible()) << "the page is about the pair alone";
    select({1, 4, 2, 6, 9});
    ASSERT_TRUE(panel().isVisible());
    const auto& file = window_.workspace().files().back();
    const auto session = file.file->borrow();
    const std::vector<int> expected{2, 4, 6, 9};
    ASSERT_EQ(table().table().rows.size(), expected.size());
    const auto runOf = [&](int id) -> const query::RunSummary& {
        return *std::ranges::find(file.snapshot->runs, RunId{id}, &query::RunSummary::run);
    };
    for (std::size_t row = 0; row < expected.size(); ++row) {
        const RunId id{expected[row]};
        const auto step = query::compareSteps(session->reader(), RunId{1}, session->reader(), id);
        EXPECT_EQ(step.has_value(), id != RunId{9}) << "run 9 was out of memory before its first step";
        if (!step) {
            EXPECT_EQ(cell(row, VerdictWord).text, QStringLiteral("no timed step"));
            EXPECT_FALSE(cell(row, VerdictWord).exact.isEmpty()) << "why is on hover";
            EXPECT_EQ(cell(row, Status).text, QStringLiteral("oom"));
            EXPECT_EQ(cell(row, Ratio).text, notMeasured());
            continue;
        }
        EXPECT_DOUBLE_EQ(cell(row, Ratio).sort, step->ratio);
        EXPECT_DOUBLE_EQ(cell(row, Median).sort, step->medianB);
        EXPECT_EQ(cell(row, VerdictWord).exact, QString::fromStdString(analysis::sentenceOf(*step)));
        EXPECT_DOUBLE_EQ(cell(row, PeakRatio).sort, double(runOf(expected[row]).result.peakAllocated->count) /
                                                        double(runOf(1).result.peakAllocated->count));
    }
    EXPECT_EQ(cell(1, Name).tone, Tone::Strong) << "run 4 is B";
    EXPECT_EQ(cell(1, Name).text, QStringLiteral("B #4 flash batch 8"));
    EXPECT_EQ(cell(0, Name).text, QStringLiteral("#2 flash batch 4"));
    EXPECT_NE(cell(0, Name).tone, Tone::Strong);
}

TEST_F(BaselineTest, AClickOrEnterMakesARunBAndTheListStaysInItsPlace)
{
    open(test::writeGpuFile);
    select({1, 2, 3, 4});
    const QString before = verdictSentence();
    clickRow(table(), rowWith(2));
    EXPECT_EQ(selected(), (std::vector<int>{1, 4, 3, 2}));
    EXPECT_EQ(cell(2, Name).tone, Tone::Strong);
    EXPECT_NE(verdictSentence(), before) << "the page explains run 4";
    EXPECT_TRUE(table().hasFocus());
    QTest::keyClick(&table(), Qt::Key_Up);
    waitUntilSettled();
    EXPECT_EQ(selected(), (std::vector<int>{1, 4, 3, 2})) << "moving in the list chooses nothing";
    QTest::keyClick(&table(), Qt::Key_Return);
    waitUntilSettled();
    EXPECT_EQ(selected(), (std::vector<int>{1, 3, 4, 2}));
    EXPECT_EQ(cell(1, Name).tone, Tone::Strong);
    EXPECT_TRUE(table().hasFocus()) << "the next arrow key moves on";
    QTest::keyClick(&table(), Qt::Key_C, Qt::ControlModifier);
    const QStringList lines = QApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    EXPECT_EQ(lines.size(), 4) << "a header and three runs";
    EXPECT_TRUE(lines.front().contains(QStringLiteral("B / A"))) << lines.front().toStdString();
    EXPECT_EQ(window_.currentPage()->command().count(QStringLiteral("tilescope compare ")), 3);
}

TEST_F(BaselineTest, SaysWhyRunsWithoutStepsHaveNoVerdict)
{
    open(test::writeFailedFile);
    select({1, 2, 3, 5, 6});
    ASSERT_TRUE(panel().isVisible());
    std::vector<QString> words;
    for (const TableRow& row : table().table().rows)
        words.push_back(row.cells[VerdictWord].text);
    EXPECT_EQ(words[0], QStringLiteral("inconclusive")) << "its steps so far are compared";
    EXPECT_EQ(cell(0, Status).tone, Tone::Warning);
    EXPECT_EQ(words[1], QStringLiteral("no timed step"));
    EXPECT_TRUE(cell(1, VerdictWord).exact.contains(QStringLiteral("SIGSEGV")));
    EXPECT_EQ(words[2], QStringLiteral("no timed step"));
    EXPECT_TRUE(cell(2, VerdictWord).exact.contains(QStringLiteral("cannot run backend flash")));
    select({3, 1, 2});
    EXPECT_EQ(cell(0, VerdictWord).text, QStringLiteral("A has no timed step"));
}

TEST_F(BaselineTest, IsHiddenWhileATimeFilterLimitsARun)
{
    open(test::writeCpuFile);
    select({1, 2, 3});
    ASSERT_TRUE(panel().isVisible());
    const RunKey first = window_.workspace().selection().front();
    window_.workspace().setTimeFilter({{first, {Nanoseconds(0), Nanoseconds(1'000'000)}}});
    waitUntilSettled();
    EXPECT_FALSE(panel().isVisible()) << "verdicts are of whole steps";
    window_.workspace().setTimeFilter({});
    waitUntilSettled();
    EXPECT_TRUE(panel().isVisible());
}

TEST_F(BaselineTest, HundredsOfRunsAreComparedAndTheListScrolls)
{
    open([](const std::filesystem::path& path) {
        config::Study study = config::loadStudy("attention-grid");
        std::vector<ExperimentSpec>& specs = study.parts.front().specs;
        for (const std::vector<ExperimentSpec> once = specs; const int batch : {1, 2, 3, 4, 5, 6, 7, 9, 10})
            for (ExperimentSpec spec : once) {
                spec.batch = batch;
                specs.push_back(std::move(spec));
            }
        report::writeStudyFile(
            path, study, [](const ExperimentSpec&) { return report::FakeResult(); }, 5);
    });
    std::vector<RunKey> keys;
    const OpenFile& file = window_.workspace().files().back();
    for (const query::RunSummary& run : file.snapshot->runs)
        keys.push_back({file.id, run.run});
    ASSERT_GT(keys.size(), 100U);
    window_.workspace().select(keys);
    waitUntilSettled();
    ASSERT_EQ(table().table().rows.size(), keys.size() - 1);
    const auto isCompared = [](const TableRow& row) {
        return row.cells[VerdictWord].text != QStringLiteral("comparing…");
    };
    EXPECT_TRUE(std::ranges::all_of(table().table().rows, isCompared));
    const int height = table().height();
    select({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    EXPECT_EQ(table().height(), height) << "more rows are scrolled to";
}

} // namespace
} // namespace tilescope::ui
