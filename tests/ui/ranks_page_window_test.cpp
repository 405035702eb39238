// The page Ranks: who is late, the parts of the step by rank, collectives, and the way to the timeline.

#include "tests/support/fake_ranks.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/overview/step_bar_plot.h"
#include "ui/ranks/lateness_plot.h"
#include "ui/ranks/rank_lanes_plot.h"
#include "ui/ranks/ranks_page.h"
#include "ui/theme/theme.h"
#include "ui/timeline/link_lines.h"
#include "ui/timeline/timeline_page.h"

#include <QComboBox>
#include <QScrollArea>
#include <QScrollBar>

#include <algorithm>

namespace tilescope::ui {
namespace {

class RanksPageWindow : public WindowTest {
protected:
    void SetUp() override {}

    /// Opens a run of several ranks on the page.
    void open(const testing::FakeRanks& facts)
    {
        const std::filesystem::path file = folder_ / "ranks.tscope";
        testing::writeFakeRanks(file, facts);
        openFile(file);
    }
    void openFile(const std::filesystem::path& file)
    {
        window_.open({QString::fromStdString(file.string())});
        window_.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
        window_.activateWindow();
        waitUntilSettled();
        clickRail(QStringLiteral("Ranks"));
    }
    RanksPage& ranks() { return page<RanksPage>("ranks"); }
    QString labels()
    {
        QStringList texts;
        for (const QLabel* label : ranks().findChildren<QLabel*>())
            if (label->isVisible())
                texts << label->text();
        return texts.join(QLatin1Char('\n'));
    }
    void chooseStep(int index)
    {
        auto& step = named<QComboBox>(QStringLiteral("Step of the ranks"));
        step.setCurrentIndex(index);
        emit step.activated(index);
        waitUntilSettled();
    }
    static int columnOf(const TableData& table, const QString& title)
    {
        for (std::size_t c = 0; c < table.columns.size(); ++c)
            if (table.columns[c].title.startsWith(title))
                return int(c);
        return -1;
    }
};

TEST_F(RanksPageWindow, SaysWhoIsLate)
{
    open({.ranks = 4, .lateRank = 2});
    EXPECT_TRUE(labels().contains(QStringLiteral("Straggler: rank 2, last in 8 of 8 steps")))
        << labels().toStdString();
    EXPECT_TRUE(labels().contains(QStringLiteral("Exposed communication takes")));
    EXPECT_TRUE(labels().contains(QStringLiteral("4 ranks, 8 steps")));
}

TEST_F(RanksPageWindow, SaysThatTwoStepsAllowNoVerdict)
{
    open({.steps = 2});
    EXPECT_TRUE(labels().contains(QStringLiteral("2 steps allow no straggler verdict")));
}

TEST_F(RanksPageWindow, ABarOfEachRankHasThePartsOfItsStep)
{
    open({.ranks = 4});
    chooseStep(4);
    const TableData bars = ranks().bars().table();
    QStringList titles;
    qint64 exposed = -1;
    for (const TableRow& row : bars.rows) {
        if (!titles.contains(row.cells[0].text))
            titles << row.cells[0].text;
        if (row.cells[0].text == QLatin1String("rank 1") &&
            row.cells[1].text == QLatin1String("exposed communication"))
            exposed = row.cells[2].text.toLongLong();
    }
    EXPECT_EQ(titles.join(QLatin1Char(' ')), QStringLiteral("rank 0 rank 1 rank 2 rank 3"));
    EXPECT_EQ(exposed, 3 * testing::FakeRanks::kTransfer);
}

TEST_F(RanksPageWindow, TheLegendOfTheBarsIsWhole)
{
    open({.ranks = 8});
    const QImage image = ranks().bars().grab().toImage();
    const int bottom = image.height() - 1;
    for (int x = 0; x < image.width(); ++x)
        ASSERT_EQ(image.pixel(x, bottom), image.pixel(0, bottom)) << "at " << x;
}

TEST_F(RanksPageWindow, CollectivesAreThoseOfTheStep)
{
    open({});
    EXPECT_EQ(ranks().collectives().table().rows.size(), 40U);
    chooseStep(1);
    const TableData& table = ranks().collectives().table();
    ASSERT_EQ(table.rows.size(), 5U);
    const int late = columnOf(table, QStringLiteral("Late"));
    const int last = columnOf(table, QStringLiteral("Last"));
    ASSERT_GE(late, 0);
    EXPECT_EQ(table.rows[3].cells[std::size_t(late)].text, QStringLiteral("2.00"));
    EXPECT_EQ(table.rows[3].cells[std::size_t(last)].text, QStringLiteral("rank 1"));
    EXPECT_EQ(table.rows[0].cells[std::size_t(late)].text, notMeasured()) << "nobody was last";
}

TEST_F(RanksPageWindow, NamesOfCollectivesStayReadableBesideTheHeatMap)
{
    open({.ranks = 8});
    window_.resize(1600, 1000);
    waitUntilSettled();
    const TableView& table = ranks().collectives();
    const int op = columnOf(table.table(), QStringLiteral("Op"));
    ASSERT_GE(op, 0);
    EXPECT_GE(table.columnWidth(op), sizes().of(120));
    EXPECT_FALSE(table.isColumnHidden(columnOf(table.table(), QStringLiteral("Late"))));
}

TEST_F(RanksPageWindow, OnASmallScreenNamesAreWholeAndNoTitleIsCut)
{
    open({.ranks = 2, .lateRank = 1});
    window_.resize(1280, 800);
    waitUntilSettled();
    const TableView& table = ranks().collectives();
    EXPECT_GE(table.columnWidth(columnOf(table.table(), QStringLiteral("Op"))), sizes().of(110));
    EXPECT_FALSE(table.isColumnHidden(columnOf(table.table(), QStringLiteral("Wait"))));
    for (const char* name : {"Collectives", "Ranks of the selected collective"})
        EXPECT_EQ(named<TableView>(QString::fromLatin1(name)).horizontalScrollBar()->maximum(), 0) << name;
}

TEST_F(RanksPageWindow, RowsOfManyCollectivesEndWithTheirMedian)
{
    open({.ranks = 2, .lateRank = 1});
    window_.resize(1280, 800);
    waitUntilSettled();
    const LatenessPlot& plot = ranks().lateness();
    const std::size_t many = plot.grid().collectives.size();
    ASSERT_GT(many, 20U);
    const int free = plot.width() - plot.cellRect(0, many - 1).right();
    chooseStep(1);
    const std::size_t few = plot.grid().collectives.size();
    ASSERT_LE(few, 5U);
    EXPECT_GT(free, plot.width() - plot.cellRect(0, few - 1).right() + sizes().of(24))
        << "the cells of a step have their own numbers";
}

TEST_F(RanksPageWindow, WithoutCollectivesNothingIsLeftBlankBesideThem)
{
    const std::filesystem::path file = folder_ / "none.tscope";
    test::writeRanksFile(file);
    openFile(file);
    ASSERT_TRUE(labels().contains(QStringLiteral("No collective was recorded.")));
    for (const QLabel* label : ranks().findChildren<QLabel*>())
        if (label->text() == QLatin1String("No collective was recorded.")) {
            EXPECT_GT(label->width(), 0.8 * ranks().width());
        }
}

TEST_F(RanksPageWindow, ASelectedCollectiveShowsItsRanks)
{
    open({.ranks = 3, .lateRank = 2});
    chooseStep(1);
    TableView& table = ranks().collectives();
    clickRow(table, table.model()->index(3, 0));
    const TableData& parts = ranks().parts().table();
    ASSERT_EQ(parts.rows.size(), 3U);
    const int waits = columnOf(parts, QStringLiteral("Wait"));
    EXPECT_EQ(parts.rows[0].cells[std::size_t(waits)].text, QStringLiteral("2.00"));
    EXPECT_EQ(parts.rows[2].cells[std::size_t(waits)].text, QStringLiteral("0"));
    EXPECT_EQ(statusText(1),
              QStringLiteral("all_reduce 3: rank 2 starts last, 2.00\u2009ms after the first"));
}

TEST_F(RanksPageWindow, ACollectiveLeadsToTheTimeline)
{
    open({});
    chooseStep(2);
    TableView& table = ranks().collectives();
    clickRow(table, table.model()->index(3, 0));
    QTest::keyClick(&table, Qt::Key_Return);
    waitUntilSettled();
    auto& timeline = page<TimelinePage>("timeline");
    ASSERT_TRUE(timeline.isVisible());
    const TimelineScene& scene = timeline.view().scene();
    ASSERT_TRUE(scene.selected);
    const query::Timeline& shown = *scene.sections.front().timeline;
    const query::Lane& lane = shown.lanes[scene.selected->item.lane];
    EXPECT_EQ(lane.title, "rank 1 stream 17") << "of the rank that was last";
    EXPECT_TRUE(timeline.view().accessibleDescription().contains(QStringLiteral("rank 1 stream 17")))
        << timeline.view().accessibleDescription().toStdString();
    const query::Track& row = lane.rows[scene.selected->item.row];
    const std::size_t index = scene.selected->item.index;
    EXPECT_EQ(row.end(index) - row.start(index), testing::FakeRanks::kTransfer);
    const double from = scene.sections.front().toAxis(double(row.start(index)));
    EXPECT_GT(from, scene.window.from);
    EXPECT_LT(from, scene.window.to);
}

TEST_F(RanksPageWindow, TheHeatMapShowsHowLateEachRankWas)
{
    open({.ranks = 4, .lateRank = 2});
    chooseStep(1);
    const LatenessGrid& grid = ranks().lateness().grid();
    ASSERT_EQ(grid.ranks.size(), 4U);
    ASSERT_EQ(grid.collectives.size(), 5U);
    EXPECT_EQ(grid.ranks[2].title, QStringLiteral("rank 2"));
    EXPECT_EQ(grid.at(2, 3), std::optional<double>(2e6));
    EXPECT_EQ(grid.at(0, 3), std::optional<double>(0));
    EXPECT_EQ(grid.most, 2e6);
    EXPECT_EQ(grid.names[3], QStringLiteral("all_reduce 3"));
    EXPECT_EQ(grid.lastWords(), QStringLiteral("Last to start: rank 2: 2 of 5"));
    moveTo(ranks().lateness(), ranks().lateness().cellRect(2, 3).center());
    EXPECT_EQ(statusText(0), QStringLiteral("all_reduce 3: rank 2 starts 2.00\u2009ms after the first rank"));
}

TEST_F(RanksPageWindow, HeatMapTableAndTooltipNumberCollectivesAlike)
{
    open({.ranks = 2, .lateRank = 1});
    const LatenessGrid& grid = ranks().lateness().grid();
    const TableData& table = ranks().collectives().table();
    const auto number =
        std::ranges::find(table.columns, QStringLiteral("#"), &TableColumn::title) - table.columns.begin();
    ASSERT_LT(number, std::ssize(table.columns));
    ASSERT_EQ(table.rows.size(), grid.collectives.size());
    for (std::size_t column = 0; column < grid.collectives.size(); ++column) {
        const auto row = std::ranges::find(table.rows, std::int64_t(grid.collectives[column]), &TableRow::id);
        ASSERT_NE(row, table.rows.end());
        EXPECT_EQ(grid.numbers[column], row->cells[std::size_t(number)].text);
        EXPECT_TRUE(grid.names[column].endsWith(QLatin1Char(' ') + grid.numbers[column]))
            << grid.names[column].toStdString();
    }
}

TEST_F(RanksPageWindow, OfManyRanksTheLatestComesFirst)
{
    open({.ranks = 6, .lateRank = 4});
    const LatenessGrid& grid = ranks().lateness().grid();
    ASSERT_EQ(grid.ranks.size(), 6U);
    EXPECT_EQ(grid.ranks.front().title, QStringLiteral("rank 4"));
    EXPECT_EQ(grid.collectives.size(), 40U) << "of all steps";
    EXPECT_EQ(grid.names[3], QStringLiteral("step 0, all_reduce 3"));
}

TEST_F(RanksPageWindow, ACellOfTheHeatMapLeadsToItsCollectiveOnTheTimeline)
{
    open({.ranks = 3, .lateRank = 1});
    chooseStep(2);
    LatenessPlot& lateness = ranks().lateness();
    const std::size_t collective = lateness.grid().collectives[3];
    QTest::mouseClick(&lateness, Qt::LeftButton, {}, lateness.cellRect(2, 3).center());
    waitUntilSettled();
    EXPECT_EQ(ranks().collectives().currentId(), std::int64_t(collective)) << "one selection";
    auto& timeline = page<TimelinePage>("timeline");
    ASSERT_TRUE(timeline.isVisible());
    const TimelineScene& scene = timeline.view().scene();
    ASSERT_TRUE(scene.selected);
    EXPECT_EQ(scene.sections.front().timeline->lanes[scene.selected->item.lane].title, "rank 2 stream 17");
}

TEST_F(RanksPageWindow, KeysMoveTheCellOfTheHeatMap)
{
    open({.ranks = 2});
    chooseStep(1);
    LatenessPlot& lateness = ranks().lateness();
    lateness.setFocus();
    // From the collective at which ranks wait longest to the first one.
    for (int i = 0; i < 4; ++i)
        QTest::keyClick(&lateness, Qt::Key_Left);
    for (const Qt::Key key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Right, Qt::Key_Down})
        QTest::keyClick(&lateness, key);
    EXPECT_EQ(lateness.accessibleDescription(),
              QStringLiteral("all_reduce 3: rank 1 starts 2.00\u2009ms after the first rank"));
    EXPECT_EQ(ranks().collectives().currentId(), std::int64_t(lateness.grid().collectives[3]));
    QTest::keyClick(&lateness, Qt::Key_Return);
    waitUntilSettled();
    EXPECT_TRUE(page<TimelinePage>("timeline").isVisible());
}

TEST_F(RanksPageWindow, ABandJoinsACollectiveOverTheLanesOfItsRanks)
{
    open({.ranks = 3, .lateRank = 1});
    chooseStep(2);
    LatenessPlot& lateness = ranks().lateness();
    QTest::mouseClick(&lateness, Qt::LeftButton, {}, lateness.cellRect(0, 3).center());
    waitUntilSettled();
    TimelineView& view = page<TimelinePage>("timeline").view();
    const TimelineScene& scene = view.scene();
    const query::Timeline& shown = *scene.sections.front().timeline;
    const auto laneOf = [&](const SectionItem& item) { return shown.lanes[item.item.lane].title; };
    std::vector<std::pair<std::string, std::string>> joined;
    for (const SceneLink& link : scene.links)
        if (link.kind == SceneLink::Kind::Collective)
            joined.emplace_back(laneOf(link.from), laneOf(link.to));
    using Joined = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(joined,
              (Joined{{"rank 0 stream 17", "rank 1 stream 17"}, {"rank 1 stream 17", "rank 2 stream 17"}}));

    const QSize size = view.viewport()->size();
    const std::vector<QPolygonF> bands = collectiveBands(scene.links, scene, size.width(), size.height());
    ASSERT_EQ(bands.size(), 2U);
    EXPECT_LT(bands[0][0].x(), bands[0][3].x()) << "rank 1 starts late";
    EXPECT_DOUBLE_EQ(bands[0][1].x(), bands[0][2].x()) << "all end at once";
    EXPECT_GT(bands[0][3].y(), bands[0][0].y());

    view.setFocus();
    QTest::keyClick(&view, Qt::Key_R);
    waitUntilSettled();
    EXPECT_EQ(laneOf(*scene.selected), "rank 1 stream 17") << "the same collective on the next rank";
}

TEST_F(RanksPageWindow, LanesShowWhoWaitsForWhom)
{
    open({.ranks = 4, .lateRank = 2});
    window_.resize(1600, 1000);
    chooseStep(3);
    RankLanesPlot& plot = ranks().lanes();
    const RankLanes& lanes = plot.lanes();
    ASSERT_EQ(lanes.ranks.size(), 4U);
    ASSERT_EQ(lanes.collectives.size(), 5U);
    ASSERT_NE(lanes.timeline, nullptr);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        ASSERT_EQ(lanes.ranks[rank].work.size(), 1U) << "collectives have a row of their own";
        EXPECT_EQ(lanes.timeline->lanes[lanes.ranks[rank].work[0].lane].title,
                  "rank " + std::to_string(rank) + " stream 7");
    }
    EXPECT_EQ(plot.accessibleDescription(),
              QStringLiteral("all_reduce 13: rank 0 waits 2.00\u2009ms for rank 2"))
        << "the one at which ranks wait longest is marked";
    const std::vector<QPolygonF> bands = plot.bandsOf(3);
    ASSERT_EQ(bands.size(), 3U) << "from each rank to the next one";
    EXPECT_LT(bands[1][0].x(), bands[1][3].x()) << "rank 2 starts late";
    EXPECT_NEAR(bands[1][1].x(), bands[1][2].x(), 0.01) << "all end at once";
    const RankLanes::Part& waiting = *lanes.partOf(0, 3);
    const double perPixel = lanes.length / (plot.width() - plot.partRect(0, {.start = 0}).left());
    EXPECT_NEAR(plot.partRect(0, waiting).width() * perPixel, 2e6 + testing::FakeRanks::kTransfer,
                0.05 * 2e6);
}

TEST_F(RanksPageWindow, TheArrowOfLatenessSaysWhoIsLate)
{
    open({.ranks = 3, .lateRank = 1});
    window_.resize(1600, 1000);
    chooseStep(2);
    const RankLanesPlot& plot = ranks().lanes();
    const QRectF late = plot.partRect(1, *plot.lanes().partOf(1, 3));
    const double first = plot.partRect(0, *plot.lanes().partOf(0, 3)).left();
    moveTo(ranks().lanes(), QPointF((first + late.left()) / 2, late.center().y()).toPoint());
    EXPECT_EQ(statusText(0),
              QStringLiteral("all_reduce 8: rank 1 starts last, 2.00\u2009ms after the first"));
}

TEST_F(RanksPageWindow, LanesTableAndHeatMapShareOneSelection)
{
    open({.ranks = 3, .lateRank = 1});
    chooseStep(2);
    RankLanesPlot& plot = ranks().lanes();
    const std::size_t first = plot.lanes().collectives[0].index;
    QTest::mouseClick(&plot, Qt::LeftButton, {},
                      plot.partRect(2, *plot.lanes().partOf(2, 0)).center().toPoint());
    waitUntilSettled();
    EXPECT_EQ(ranks().collectives().currentId(), std::int64_t(first));
    plot.setFocus();
    for (const Qt::Key key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Right, Qt::Key_Up})
        QTest::keyClick(&plot, key);
    EXPECT_EQ(plot.accessibleDescription(),
              QStringLiteral("all_reduce 8: rank 1 starts last, 2.00\u2009ms after the first"));
    EXPECT_EQ(ranks().collectives().currentId(), std::int64_t(plot.lanes().collectives[3].index));
    TableView& table = ranks().collectives();
    clickRow(table, table.model()->index(1, 0));
    EXPECT_TRUE(plot.accessibleDescription().startsWith(QStringLiteral("all_reduce 6:")))
        << plot.accessibleDescription().toStdString();
    QTest::keyClick(&plot, Qt::Key_Return);
    waitUntilSettled();
    const TimelineScene& scene = page<TimelinePage>("timeline").view().scene();
    ASSERT_TRUE(scene.selected);
    EXPECT_EQ(scene.sections.front().timeline->lanes[scene.selected->item.lane].title, "rank 1 stream 17");
}

TEST_F(RanksPageWindow, TheMeanOfAllStepsShowsTheLanesOfTheSelectedCollective)
{
    open({.ranks = 2});
    const RanksPage& page = ranks();
    TableView& table = ranks().collectives();
    const int last = table.model()->rowCount() - 1;
    table.scrollTo(table.model()->index(last, 0));
    clickRow(table, table.model()->index(last, 0));
    EXPECT_EQ(ranks().lanes().lanes().step, 7);
    EXPECT_EQ(page.command().count(QStringLiteral("--step")), 0) << "the tables are of all steps";
}

TEST_F(RanksPageWindow, LanesAreZoomedAndShownWholeAgain)
{
    open({.ranks = 2});
    chooseStep(1);
    RankLanesPlot& plot = ranks().lanes();
    const double before = plot.partRect(0, *plot.lanes().partOf(0, 3)).width();
    const QPoint at = plot.partRect(0, *plot.lanes().partOf(0, 3)).center().toPoint();
    wheel(plot, at, 3, Qt::ControlModifier);
    EXPECT_TRUE(plot.isZoomed());
    EXPECT_GT(plot.partRect(0, *plot.lanes().partOf(0, 3)).width(), 1.5 * before);
    const double left = plot.partRect(0, *plot.lanes().partOf(0, 3)).left();
    drag(plot, at, at + QPoint(40, 0));
    EXPECT_NEAR(plot.partRect(0, *plot.lanes().partOf(0, 3)).left(), left + 40, 2);
    for (QPushButton* link : ranks().findChildren<QPushButton*>())
        if (link->text() == QLatin1String("Show everything") && link->isVisible())
            QTest::mouseClick(link, Qt::LeftButton);
    EXPECT_FALSE(plot.isZoomed());
}

TEST_F(RanksPageWindow, EightRanksAreSeenWithoutScrollingInAPanel)
{
    open({.ranks = 8});
    for (const QSize size : {QSize(1600, 1000), QSize(1366, 768)}) {
        window_.resize(size);
        waitUntilSettled();
        for (const QWidget* plot :
             {static_cast<QWidget*>(&ranks().bars()), static_cast<QWidget*>(&ranks().lateness())}) {
            const auto* area = dynamic_cast<const QScrollArea*>(plot->parentWidget()->parentWidget());
            ASSERT_NE(area, nullptr);
            EXPECT_EQ(area->verticalScrollBar()->maximum(), 0) << plot->accessibleName().toStdString();
        }
        int areas = 0;
        for (const QWidget* around = ranks().lanes().parentWidget(); around != nullptr;
             around = around->parentWidget())
            areas += dynamic_cast<const QScrollArea*>(around) != nullptr ? 1 : 0;
        EXPECT_EQ(areas, 1) << "only the page scrolls";
    }
}

TEST_F(RanksPageWindow, MissingRanksAreNamed)
{
    open({.ranks = 4, .unrecorded = 1});
    EXPECT_TRUE(labels().contains(QStringLiteral("40 collectives were recorded on only some ranks")));
    EXPECT_TRUE(labels().contains(QStringLiteral("not recorded: 3")));
}

TEST_F(RanksPageWindow, ARunOfOneProcessIsExplained)
{
    const std::filesystem::path file = folder_ / "lm.tscope";
    test::writeLmFile(file);
    openFile(file);
    EXPECT_TRUE(labels().contains(QStringLiteral("This run has one process")));
    EXPECT_FALSE(ranks().collectives().isVisible());
}

TEST_F(RanksPageWindow, WithoutARunSaysWhatWouldBeThere)
{
    window_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
    clickRail(QStringLiteral("Ranks"));
    EXPECT_TRUE(labels().contains(QStringLiteral("A run of several ranks shows on this page")));
}

TEST_F(RanksPageWindow, AFindingOnTheOverviewLeadsToItsPage)
{
    open({});
    clickRail(QStringLiteral("Overview"));
    waitUntilSettled();
    auto& advice = named<TableView>(QStringLiteral("Advice"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return advice.isVisible(); }, kTimeoutMs));
    const std::vector<TableRow>& rows = advice.table().rows;
    const auto exposed = std::ranges::find_if(rows, [](const TableRow& row) {
        return row.cells[0].text == QLatin1String("exposed-communication");
    });
    ASSERT_NE(exposed, rows.end());
    EXPECT_TRUE(
        exposed->cells[3].text.startsWith(QStringLiteral("Communication runs beside no compute for")));
    EXPECT_TRUE(exposed->cells[3].exact.contains(QStringLiteral("Start collectives as soon as")))
        << "the remedy";
    emit advice.activatedRow(exposed->id);
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("ranks"));
}

} // namespace
} // namespace tilescope::ui
