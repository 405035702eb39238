// A span of the timeline that other pages follow, by mouse and keyboard.

#include "tests/ui/window_fixture.h"
#include "ui/charts/charts_page.h"
#include "ui/compare/compare_page.h"
#include "ui/compare/distribution_plot.h"
#include "ui/flame/flame_page.h"
#include "ui/flame/flame_view.h"
#include "ui/kernels/kernel_rows.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kit/controls.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_page.h"
#include "ui/overview/key_figure_card.h"
#include "ui/overview/overview_page.h"
#include "ui/timeline/timeline_page.h"

#include <QApplication>
#include <QClipboard>
#include <QPushButton>

namespace tilescope::ui {
namespace {

class TimeFilterTest : public WindowTest {
protected:
    // Of the first half of the first traced step.
    query::TimeSpan filterByKey()
    {
        TimelineView& view = openTimeline();
        const TimelineSection& first = view.scene().sections.front();
        const query::TimelineStep step = first.timeline->firstSteps().front();
        const std::int64_t half = (step.end - step.start) / 2;
        view.setSpan(TimeWindow{first.toAxis(double(step.start)), first.toAxis(double(step.start + half))});
        waitUntilSettled();
        QTest::keyClick(&view, Qt::Key_T);
        waitUntilSettled();
        const TimeFilter& filter = window_.workspace().timeFilter();
        return filter.empty() ? query::TimeSpan{} : filter.front().second;
    }

    double kernelTime()
    {
        clickRail(QStringLiteral("Kernels"));
        TableView& table = page<KernelsPage>("kernels").table();
        double sum = 0;
        for (int row = 0; row < table.model()->rowCount(); ++row)
            sum += table.model()->index(row, int(KernelColumn::Total)).data(TableModel::SortRole).toDouble();
        return sum;
    }

    double flameTime()
    {
        clickRail(QStringLiteral("Flame"));
        return double(page<FlamePage>("flame").view().graph()->width());
    }

    QWidget& bar() { return named<QWidget>(QStringLiteral("Time filter")); }
    QString words() { return bar().findChild<QLabel*>(QStringLiteral("timeFilter"))->text(); }

    QStringList cardsOfOverview()
    {
        clickRail(QStringLiteral("Overview"));
        QStringList titles;
        for (const KeyFigureCard* card : page<OverviewPage>("overview").findChildren<KeyFigureCard*>())
            if (card->isVisible())
                titles << card->figure().title;
        return titles;
    }
};

TEST_F(TimeFilterTest, EveryPageFollowsItUntilItIsCleared)
{
    const double all = kernelTime();
    const double allOfFlame = flameTime();
    EXPECT_FALSE(bar().isVisible());
    const query::TimeSpan span = filterByKey();
    ASSERT_GT(span.to, span.from);
    ASSERT_TRUE(bar().isVisible());
    const QString words = bar().findChild<QLabel*>(QStringLiteral("timeFilter"))->text();
    EXPECT_TRUE(words.contains(spanText(span))) << words.toStdString();

    // The timeline's own table has the same sum, for the same reason: a box counts with its part in the span.
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    double expected = 0;
    for (const query::KernelStat& stat : query::kernelsWithin(
             *scene.sections.front().timeline, {span.from.count(), span.to.count()}, [] { return false; }))
        expected += double(stat.total);
    ASSERT_GT(expected, 0);
    EXPECT_NEAR(kernelTime(), expected, 0.5);
    EXPECT_LT(expected, all);
    EXPECT_EQ(flameTime(), expected);

    clickRail(QStringLiteral("Memory"));
    MemoryPage& memory = page<MemoryPage>("memory");
    EXPECT_NEAR(memory.axis().bounds().length(), double((span.to - span.from).count()), 1);
    EXPECT_GE(memory.instant(), span.from.count());
    EXPECT_LE(memory.instant(), span.to.count()) << "the peak is that of the span";
    memory.axis().setWindow({-1e9, 1e9});
    EXPECT_EQ(memory.axis().window(), memory.axis().bounds()) << "nothing else can be reached";

    auto& clear = *bar().findChild<QPushButton*>(QStringLiteral("clearTimeFilter"));
    QTest::mouseClick(&clear, Qt::LeftButton);
    waitUntilSettled();
    EXPECT_FALSE(bar().isVisible());
    EXPECT_NEAR(kernelTime(), all, 0.5);
    EXPECT_EQ(flameTime(), allOfFlame);
}

TEST_F(TimeFilterTest, TheOverviewShowsWhatEventsSayAndHidesWhatIsOfWholeRuns)
{
    const QStringList whole = cardsOfOverview();
    EXPECT_TRUE(whole.contains(QStringLiteral("Step time, median")));
    const query::TimeSpan span = filterByKey();
    const QStringList limited = cardsOfOverview();
    EXPECT_EQ(limited.value(0), QStringLiteral("Time in steps"));
    EXPECT_TRUE(limited.contains(QStringLiteral("GPU busy")));
    EXPECT_FALSE(limited.contains(QStringLiteral("Step time, median")));
    EXPECT_FALSE(limited.contains(QStringLiteral("Tracing cost")));
    EXPECT_TRUE(words().contains(QStringLiteral("of whole runs"))) << words().toStdString();
    const auto& family = named<TableView>(QStringLiteral("Kernel families"));
    double sum = 0;
    for (const TableRow& row : family.table().rows)
        if (row.id < 0)
            sum = row.cells[1].sort;
    EXPECT_NEAR(sum, kernelTime(), 0.5) << "as on the page Kernels";
    // The filter is half of a step.
    clickRail(QStringLiteral("Overview"));
    const auto cards = page<OverviewPage>("overview").findChildren<KeyFigureCard*>();
    EXPECT_EQ(cards[0]->figure().lines[0].detail,
              QStringLiteral("of %1").arg(timeText(double((span.to - span.from).count()))));
    window_.workspace().setTimeFilter({});
    waitUntilSettled();
    EXPECT_EQ(cardsOfOverview(), whole);
}

TEST_F(TimeFilterTest, CompareShowsThePartsAndChartsSayThatTheyAreOfWholeRuns)
{
    const int file = window_.workspace().files().front().id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    waitUntilSettled();
    filterByKey();
    window_.showPage(QStringLiteral("compare"));
    waitUntilSettled();
    EXPECT_TRUE(words().contains(QStringLiteral("causes are of whole steps"))) << words().toStdString();
    const auto& verdict = *window_.findChild<QLabel*>(QStringLiteral("verdictSentence"));
    EXPECT_TRUE(verdict.text().contains(QStringLiteral("GPU time of kernels: A ")))
        << verdict.text().toStdString();
    EXPECT_FALSE(page<ComparePage>("compare").findChild<DistributionPlot*>()->isVisible());
    window_.showPage(QStringLiteral("charts"));
    waitUntilSettled();
    EXPECT_TRUE(bar().isVisible());
    EXPECT_TRUE(words().contains(QStringLiteral("Charts are of whole runs"))) << words().toStdString();
    window_.workspace().setTimeFilter({});
    window_.showPage(QStringLiteral("compare"));
    waitUntilSettled();
    EXPECT_TRUE(page<ComparePage>("compare").findChild<DistributionPlot*>()->isVisible());
}

TEST_F(TimeFilterTest, StaysWithItsRunsAndIsClearedByKey)
{
    filterByKey();
    const int file = window_.workspace().files().front().id;
    const RunKey first = window_.workspace().selection().front();
    window_.workspace().select({{file, RunId{2}}});
    waitUntilSettled();
    EXPECT_FALSE(bar().isVisible()) << "the filter is about another run";
    window_.workspace().select({first});
    waitUntilSettled();
    EXPECT_TRUE(bar().isVisible());
    QTest::keyClick(&window_, Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_FALSE(bar().isVisible());
    EXPECT_TRUE(window_.workspace().timeFilter().empty());
}

TEST_F(TimeFilterTest, OfTwoAlignedRunsIsThePartOfEachThatLiesInTheSpan)
{
    const int file = window_.workspace().files().front().id;
    window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
    waitUntilSettled();
    filterByKey();
    const TimeFilter& filter = window_.workspace().timeFilter();
    ASSERT_EQ(filter.size(), 2U);
    EXPECT_EQ(filter[1].first, (RunKey{file, RunId{2}}));
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(scene.sections[i].toAxis(double(filter[i].second.from.count())), scene.span->from, 1);
    const QString words = bar().findChild<QLabel*>(QStringLiteral("timeFilter"))->text();
    EXPECT_TRUE(words.contains(QStringLiteral("A ")) && words.contains(QStringLiteral("B ")))
        << words.toStdString();
}

TEST_F(TimeFilterTest, APageIsCopiedAsTheCommandThatPrintsIt)
{
    const QString file = QString::fromStdString((folder_ / "lm.tscope").string());
    const auto copied = [this](const char* page) {
        window_.showPage(QString::fromLatin1(page));
        waitUntilSettled();
        QApplication::clipboard()->clear();
        QTest::keyClick(&window_, Qt::Key_C, Qt::ControlModifier | Qt::AltModifier);
        return QApplication::clipboard()->text();
    };
    const QString show = QStringLiteral("tilescope show %1 %2").arg(file);
    EXPECT_EQ(copied("overview"), show.arg(QStringLiteral("runs --run 1")));
    EXPECT_EQ(copied("timeline"), show.arg(QStringLiteral("steps --run 1")));
    EXPECT_EQ(copied("flame"), show.arg(QStringLiteral("tree --run 1")));
    EXPECT_EQ(copied("kernels"), show.arg(QStringLiteral("kernels --run 1 --group name")));
    EXPECT_EQ(copied("memory"), show.arg(QStringLiteral("memory --run 1 --at peak")));
    EXPECT_EQ(copied("ranks"), show.arg(QStringLiteral("ranks --run 1")));
    EXPECT_EQ(copied("machine"), QStringLiteral("tilescope doctor"));
    EXPECT_TRUE(copied("query").startsWith(QStringLiteral("tilescope sql %1 '").arg(file)));
    EXPECT_EQ(copied("help"), QString());
    const query::TimeSpan span = filterByKey();
    EXPECT_EQ(copied("kernels"), show.arg(QStringLiteral("kernels --run 1 --from %1 --to %2 --group name"))
                                     .arg(span.from.count())
                                     .arg(span.to.count()));
    const QString limits = QStringLiteral(" --from %1 --to %2").arg(span.from.count()).arg(span.to.count());
    EXPECT_EQ(copied("overview"), show.arg(QStringLiteral("steps --run 1")) + limits);
    const int open = window_.workspace().files().front().id;
    window_.workspace().select({{open, RunId{1}}, {open, RunId{2}}});
    EXPECT_EQ(copied("compare"), QStringLiteral("tilescope compare %1:1 %1:2 --from %2, --to %3,")
                                     .arg(file)
                                     .arg(span.from.count())
                                     .arg(span.to.count()))
        << "the filter is about run 1";
    window_.workspace().setTimeFilter({{{open, RunId{1}}, span}, {{open, RunId{2}}, span}});
    EXPECT_EQ(copied("compare"), QStringLiteral("tilescope compare %1:1 %1:2").arg(file) + limits);
    window_.workspace().setTimeFilter({});
    EXPECT_EQ(copied("compare"), QStringLiteral("tilescope compare %1:1 %1:2").arg(file));
}

} // namespace
} // namespace tilescope::ui
