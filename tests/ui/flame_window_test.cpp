// The page Flame: boxes of the recording, selection, zoom and search by mouse and keyboard.

#include "tests/ui/window_fixture.h"
#include "ui/flame/flame_callees.h"
#include "ui/flame/flame_filter_line.h"
#include "ui/flame/flame_page.h"
#include "ui/flame/flame_view.h"
#include "ui/kernels/kernels_page.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/timeline/timeline_page.h"

#include <QCheckBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>

#include <cmath>
#include <numeric>

namespace tilescope::ui {
namespace {

using query::CallTree;

class FlameTest : public WindowTest {
protected:
    FlamePage& flame()
    {
        clickRail(QStringLiteral("Flame"));
        return page<FlamePage>("flame");
    }
    FlameView& view() { return flame().view(); }
    QString title(CallTree::Node node) { return QString::fromStdString(view().graph()->labelOf(node)); }
    QPoint centreOf(CallTree::Node node) { return view().rectOf(node).center().toPoint(); }
    /// The first box of a row.
    CallTree::Node first(std::size_t row) { return view().graph()->rows.at(row).front().node; }
    void click(const QString& link)
    {
        for (QPushButton* button : flame().findChildren<QPushButton*>())
            if (button->text() == link && button->isVisible())
                button->click();
        waitUntilSettled();
    }
    bool showsText(const QString& text)
    {
        for (const QLabel* label : flame().findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(text))
                return true;
        return false;
    }
};

TEST_F(FlameTest, AClickSelectsAndTheTableAddsUpToTheBox)
{
    FlameView& graph = view();
    ASSERT_NE(graph.graph(), nullptr);
    const CallTree::Node step = first(0);
    EXPECT_EQ(title(step), QStringLiteral("step"));
    const CallTree::Node longest = first(1);
    QTest::mouseClick(&graph, Qt::LeftButton, {}, centreOf(longest));
    waitUntilSettled();
    EXPECT_EQ(graph.selected(), longest);
    EXPECT_TRUE(statusText(1).contains(title(longest))) << statusText(1).toStdString();
    const std::vector<query::FlameShare> shares = query::sharesOf(*graph.graph(), longest);
    EXPECT_EQ(flame().shares().table().rows.size(), shares.size());
    EXPECT_EQ(
        std::accumulate(shares.begin(), shares.end(), std::int64_t{0},
                        [](std::int64_t sum, const query::FlameShare& share) { return sum + share.amount; }),
        graph.graph()->sums.amount[longest]);
}

TEST_F(FlameTest, ADoubleClickGivesTheWholeWidthAndBackspaceGoesBack)
{
    FlameView& graph = view();
    const CallTree::Node longest = first(1);
    const double before = graph.rectOf(longest).width();
    QTest::mouseDClick(&graph, Qt::LeftButton, {}, centreOf(longest));
    waitUntilSettled();
    EXPECT_EQ(graph.zoomed(), longest);
    EXPECT_GT(graph.rectOf(longest).width(), before);
    EXPECT_DOUBLE_EQ(graph.rectOf(longest).width(), graph.width());
    EXPECT_DOUBLE_EQ(graph.rectOf(first(0)).width(), graph.width()) << "the boxes around it, too";
    EXPECT_TRUE(showsText(QStringLiteral(" › ") + title(longest)));
    QTest::keyClick(&graph, Qt::Key_Backspace);
    EXPECT_EQ(graph.zoomed(), first(0));
    QTest::keyClick(&graph, Qt::Key_Home);
    EXPECT_EQ(graph.zoomed(), CallTree::kRoot);
}

TEST_F(FlameTest, ArrowKeysMoveTheSelection)
{
    FlameView& graph = view();
    graph.setFocus();
    QTest::keyClick(&graph, Qt::Key_Down);
    EXPECT_EQ(graph.selected(), first(0));
    QTest::keyClick(&graph, Qt::Key_Down);
    EXPECT_EQ(graph.selected(), first(1));
    QTest::keyClick(&graph, Qt::Key_Right);
    EXPECT_EQ(graph.selected(), graph.graph()->rows[1][1].node);
    QTest::keyClick(&graph, Qt::Key_Left);
    QTest::keyClick(&graph, Qt::Key_Up);
    EXPECT_EQ(graph.selected(), first(0));
    QTest::keyClick(&graph, Qt::Key_Return);
    EXPECT_EQ(graph.zoomed(), first(0));
}

TEST_F(FlameTest, FindStatesTheTimeOfWhatItFinds)
{
    view();
    auto& field = named<QLineEdit>(QStringLiteral("Find boxes"));
    field.setText(QStringLiteral("softmax"));
    waitUntilSettled();
    EXPECT_TRUE(showsText(QStringLiteral("box")));
    EXPECT_TRUE(showsText(QStringLiteral("%")));
    field.setText(QStringLiteral("no such thing"));
    waitUntilSettled();
    EXPECT_TRUE(showsText(QStringLiteral("no box has")));
}

TEST_F(FlameTest, AMenuKeepsHidesAndFindsCallersAndUndoGoesBack)
{
    using Kind = query::CallFilter::Kind;
    FlameView& graph = view();
    const std::int64_t whole = graph.graph()->width();
    const auto choose = [&](CallTree::Node node, const QString& beginning) {
        QContextMenuEvent event(QContextMenuEvent::Mouse, centreOf(node), graph.mapToGlobal(centreOf(node)));
        QApplication::sendEvent(&graph, &event);
        auto* menu = flame().findChild<QMenu*>();
        ASSERT_NE(menu, nullptr);
        for (QAction* action : menu->actions())
            if (action->text().startsWith(beginning))
                action->trigger();
        delete menu;
        waitUntilSettled();
    };
    const auto shown = [&] { return graph.graph()->width(); };
    const auto hidden = [&] { return graph.graph()->table.hidden.amount; };

    const CallTree::Node phase = first(1); // of the step
    const std::string name = graph.graph()->table.tree.nameOf(phase);
    const std::int64_t ofPhase = graph.graph()->sums.amount[phase];
    choose(phase, QStringLiteral("Hide "));
    EXPECT_EQ(flame().filters(), (std::vector<query::CallFilter>{{Kind::Hide, name}}));
    EXPECT_EQ(hidden(), ofPhase);
    EXPECT_EQ(shown() + hidden(), whole);
    EXPECT_TRUE(showsText(QStringLiteral("hides ") + amountText(graph.graph()->table, double(ofPhase)) +
                          QStringLiteral(" of ") + amountText(graph.graph()->table, double(whole))));
    EXPECT_TRUE(flame().command().contains(QStringLiteral("--filter")));

    const CallTree::Node end = graph.graph()->rows.back().front().node;
    const std::string called = graph.graph()->table.tree.nameOf(end);
    choose(end, QStringLiteral("Callers and callees of "));
    ASSERT_EQ(flame().filters().size(), 2U);
    EXPECT_EQ(graph.graph()->rows.front().size(), 1U);
    EXPECT_EQ(graph.graph()->table.tree.nameOf(first(0)), called) << "it stands at the top";
    EXPECT_TRUE(graph.graph()->isInverted);
    EXPECT_EQ(shown() + hidden(), whole);
    auto& callees = *flame().findChild<FlameCallees*>();
    ASSERT_TRUE(callees.isVisible());
    EXPECT_EQ(callees.view().graph()->table.tree.nameOf(callees.view().graph()->rows.front().front().node),
              called);
    EXPECT_EQ(callees.view().graph()->width(), shown()) << "of the same stacks";

    window_.workspace().history().undo();
    waitUntilSettled();
    EXPECT_EQ(flame().filters().size(), 1U);
    const auto& line = *flame().findChild<FlameFilterLine*>();
    ASSERT_EQ(line.buttons().size(), 1U);
    QTest::mouseClick(line.buttons().front(), Qt::LeftButton);
    waitUntilSettled();
    EXPECT_TRUE(flame().filters().empty()) << "a click on a filter removes it";
    EXPECT_FALSE(line.isVisible());
    EXPECT_FALSE(callees.isVisible());
    EXPECT_EQ(shown(), whole);

    choose(first(1), QStringLiteral("Keep only "));
    EXPECT_EQ(shown(), ofPhase);
    EXPECT_EQ(shown() + hidden(), whole);
}

TEST_F(FlameTest, FiltersApplyToBothRunsOfADifference)
{
    window_.workspace().select({{window_.workspace().files().front().id, RunId{1}},
                                {window_.workspace().files().front().id, RunId{2}}});
    flame();
    waitUntilSettled();
    for (QCheckBox* box : flame().findChildren<QCheckBox*>())
        if (box->text() == QLatin1String("A and B"))
            box->click();
    waitUntilSettled();
    ASSERT_TRUE(view().graph()->difference);
    const std::int64_t a = view().graph()->difference->totalA.front();
    const std::int64_t b = view().graph()->difference->totalB.front();
    const CallTree::Node phase = first(1);
    flame().setFilters({{query::CallFilter::Kind::Hide, view().graph()->table.tree.nameOf(phase)}});
    waitUntilSettled();
    const query::CallTreeDifference& left = *view().graph()->difference;
    EXPECT_GT(left.hiddenA.amount, 0);
    EXPECT_NEAR(double(left.totalA.front() + left.hiddenA.amount), double(a), 8) << "rounded per call";
    EXPECT_NEAR(double(left.totalB.front() + left.hiddenB.amount), double(b), 8);
    EXPECT_TRUE(showsText(QStringLiteral("hides A ")));
}

TEST_F(FlameTest, InvertedBeginsWithKernels)
{
    view();
    flame().findChild<QCheckBox*>()->click();
    waitUntilSettled();
    const query::FlameGraph& graph = *view().graph();
    EXPECT_TRUE(graph.isInverted);
    EXPECT_EQ(graph.table.tree.entries()[graph.rows[0][0].node].kind, query::CallKind::Kernel);
}

TEST_F(FlameTest, TheWidthMayBeAllocatedBytes)
{
    view();
    auto& width = named<ComboBox>(QStringLiteral("Width of the boxes"));
    width.setCurrentIndex(width.findText(QStringLiteral("allocated bytes")));
    emit width.activated(width.currentIndex());
    waitUntilSettled();
    EXPECT_EQ(view().graph()->table.weight, query::CallWeight::Allocated);
    EXPECT_TRUE(showsText(QStringLiteral("allocated bytes, ")));
}

TEST_F(FlameTest, TwoRunsAreColouredByTheirDifference)
{
    const RunKey first = window_.workspace().selection().front();
    window_.workspace().select({first, {first.file, RunId{2}}});
    view();
    waitUntilSettled();
    for (QCheckBox* box : flame().findChildren<QCheckBox*>())
        if (box->text() == QStringLiteral("A and B"))
            box->click();
    waitUntilSettled();
    const query::FlameGraph& graph = *view().graph();
    ASSERT_TRUE(graph.difference);
    const CallTree::Node step = graph.rows[0][0].node;
    ASSERT_TRUE(query::changeOf(graph, step));
    EXPECT_LE(std::abs(*query::changeOf(graph, step)), 1);
    EXPECT_TRUE(showsText(QStringLiteral("mean traced step")));
    EXPECT_TRUE(shareText(graph, step).startsWith(QStringLiteral("A ")));
    // What the table says is of A and of B, not of the drawn widths.
    const TableData& table = flame().shares().table();
    QStringList titles;
    for (const TableColumn& column : table.columns)
        titles << column.title.section(QLatin1Char(','), 0, 0);
    EXPECT_EQ(titles.mid(1),
              QStringList({QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("A over B"),
                           QStringLiteral("B − A"), QStringLiteral("Of A"), QStringLiteral("Of B")}));
    double a = 0, b = 0, change = 0, ofA = 0, ofB = 0;
    const auto valueOf = [](const TableCell& cell) { return std::isnan(cell.sort) ? 0 : cell.sort; };
    for (const TableRow& row : table.rows) {
        a += valueOf(row.cells[1]);
        b += valueOf(row.cells[2]);
        change += valueOf(row.cells[4]);
        ofA += valueOf(row.cells[5]);
        ofB += valueOf(row.cells[6]);
    }
    EXPECT_NEAR(a, double(graph.difference->totalA.front()), 1);
    EXPECT_NEAR(b, double(graph.difference->totalB.front()), 1);
    EXPECT_NEAR(change, b - a, 1);
    EXPECT_NEAR(ofA, 100, 1e-6);
    EXPECT_NEAR(ofB, 100, 1e-6);
    EXPECT_FALSE(showsText(QStringLiteral("width"))) << "nobody measured it";
}

TEST_F(FlameTest, ASpanOfTheTimelineReplacesTheTracedSteps)
{
    view();
    clickRail(QStringLiteral("Timeline"));
    auto& timeline = page<TimelinePage>("timeline");
    const TimeWindow all = timeline.view().window();
    timeline.view().setSpan(TimeWindow{all.from + 0.25 * all.length(), all.from + 0.5 * all.length()});
    waitUntilSettled();
    for (QPushButton* button : timeline.findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Flame graph") && button->isVisible())
            button->click();
    waitUntilSettled();
    ASSERT_EQ(window_.currentPage(), &page<FlamePage>("flame"));
    ASSERT_TRUE(view().graph()->table.span);
    EXPECT_LE(view().graph()->table.span->to - view().graph()->table.span->from,
              Nanoseconds(std::llround(0.26 * all.length())));
    EXPECT_TRUE(view().graph()->table.whole);
    const RunKey first = window_.workspace().selection().front();
    window_.workspace().select({{first.file, RunId{2}}});
    view();
    EXPECT_FALSE(view().graph()->table.span) << "it is a span of the other run";
    window_.workspace().select({first});
    view();
    EXPECT_TRUE(view().graph()->table.span);
    window_.workspace().setTimeFilter({});
    view();
    EXPECT_FALSE(view().graph()->table.span);
}

TEST_F(FlameTest, AKernelLeadsToThePageKernels)
{
    FlameView& graph = view();
    const std::size_t last = graph.graph()->rows.size() - 1;
    graph.select(first(last));
    ASSERT_EQ(graph.graph()->table.tree.entries()[first(last)].kind, query::CallKind::Kernel);
    const std::string name = graph.graph()->table.tree.nameOf(first(last));
    for (QPushButton* button : flame().findChildren<QPushButton*>())
        if (button->text() == QStringLiteral("Kernels"))
            button->click();
    waitUntilSettled();
    EXPECT_EQ(window_.currentPage(), &page<KernelsPage>("kernels"));
    EXPECT_EQ(window_.workspace().kernel().toStdString(), name);
}

TEST_F(FlameTest, AKernelLeadsToItsBubbleOnTheRoofline)
{
    FlameView& graph = view();
    const query::CallTree& tree = graph.graph()->table.tree;
    std::optional<CallTree::Node> gemm;
    for (const auto& row : graph.graph()->rows)
        for (const auto& box : row)
            if (tree.entries()[box.node].kind == query::CallKind::Kernel &&
                tree.nameOf(box.node).find("cutlass") != std::string::npos)
                gemm = box.node;
    ASSERT_TRUE(gemm) << "the linears have shapes";
    graph.select(*gemm);
    waitUntilSettled();
    const std::string name = tree.nameOf(*gemm);
    click(QStringLiteral("Roofline"));
    ASSERT_EQ(window_.currentPage(), &page<KernelsPage>("kernels"));
    EXPECT_EQ(window_.workspace().kernel().toStdString(), name);
    RooflinePlot& roofline = page<KernelsPage>("kernels").roofline();
    ASSERT_TRUE(QTest::qWaitFor([&] { return roofline.hasFocus(); }, kTimeoutMs));
    EXPECT_EQ(roofline.current(), page<KernelsPage>("kernels").table().currentId());
    EXPECT_TRUE(std::ranges::any_of(
        roofline.bubbles(), [&](const RooflineBubble& bubble) { return bubble.id == roofline.current(); }));
}

TEST_F(FlameTest, AnOpLeadsToItsShapesOnTheRoofline)
{
    FlameView& graph = view();
    const query::CallTree& tree = graph.graph()->table.tree;
    std::optional<CallTree::Node> op;
    for (const auto& row : graph.graph()->rows)
        for (const auto& box : row)
            if (tree.nameOf(box.node) == "aten::linear")
                op = box.node;
    ASSERT_TRUE(op);
    graph.select(*op);
    waitUntilSettled();
    click(QStringLiteral("Roofline"));
    TableView& table = page<KernelsPage>("kernels").table();
    ASSERT_TRUE(QTest::qWaitFor([&] { return table.currentId().has_value(); }, kTimeoutMs));
    const QString shown = table.currentIndex().siblingAtColumn(0).data().toString();
    EXPECT_TRUE(shown.startsWith(QStringLiteral("aten::linear "))) << shown.toStdString();
    EXPECT_EQ(page<KernelsPage>("kernels").roofline().current(), table.currentId());
}

TEST_F(FlameTest, ARunWithoutATraceSaysWhy)
{
    const std::filesystem::path file = folder_ / "gpu.tscope";
    test::writeGpuFile(file);
    window_.open({QString::fromStdString(file.string())});
    waitUntilSettled();
    const int id = window_.workspace().files().back().id;
    window_.workspace().select({{id, RunId{3}}});
    flame();
    EXPECT_TRUE(showsText(QStringLiteral("No kernel and no op was traced here")));
}

TEST_F(FlameTest, AThreadFilterKeepsWhatTheThreadLaunched)
{
    const auto total = [this] { return view().graph()->sums.amount[CallTree::kRoot]; };
    const std::int64_t all = total();
    auto& threads = named<QComboBox>(QStringLiteral("Thread of the graph"));
    ASSERT_TRUE(threads.isVisible());
    ASSERT_GE(threads.count(), 3) << "all, main and that of backward";
    std::int64_t sum = 0;
    for (int i = 1; i < threads.count(); ++i) {
        threads.setCurrentIndex(i);
        emit threads.activated(i);
        waitUntilSettled();
        EXPECT_LT(total(), all);
        EXPECT_TRUE(showsText(threads.currentText())) << "the panels say whose time it is";
        sum += total();
        EXPECT_TRUE(
            flame().command().contains(QStringLiteral("--thread %1").arg(threads.currentData().toLongLong())))
            << flame().command().toStdString();
    }
    EXPECT_EQ(sum, all) << "each kernel is of one thread";
    auto& width = named<QComboBox>(QStringLiteral("Width of the boxes"));
    width.setCurrentIndex(width.findText(QStringLiteral("allocated bytes")));
    emit width.activated(width.currentIndex());
    waitUntilSettled();
    EXPECT_FALSE(threads.isEnabled()) << "allocations are recorded without their thread";
    EXPECT_FALSE(flame().command().contains(QStringLiteral("--thread")));
}

} // namespace
} // namespace tilescope::ui
