// The page Charts by mouse and keyboard: points lead to their runs, and changes of the recipe are undone.

#include "tests/ui/window_fixture.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/charts_page.h"
#include "ui/charts/figure_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/view_history.h"

#include <QCheckBox>
#include <QMouseEvent>
#include <QToolTip>

namespace tilescope::ui {
namespace {

/// Naive and flash at four batch sizes, and naive out of memory at a fifth.
class ChartsWindowTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        const std::filesystem::path path = folder_ / "gpu.tscope";
        test::writeGpuFile(path);
        window_.open({QString::fromStdString(path.string())});
        waitUntilSettled();
        file_ = window_.workspace().files().back().id;
        std::vector<RunKey> runs;
        for (int run = 1; run <= kOutOfMemory; ++run)
            runs.push_back({file_, RunId{run}});
        window_.workspace().select(runs);
        window_.showPage(QStringLiteral("charts"));
        waitUntilSettled();
        figure_ = charts().findChild<FigureView*>();
        ASSERT_FALSE(figure_->paper().isEmpty());
        figure_->grab(); // lays it out
    }

    ChartsPage& charts() { return page<ChartsPage>("charts"); }
    /// Line and x of the point that the ring is on: `flash 16`.
    QString ringed()
    {
        const auto at = figure_->ringed();
        return at ? QStringLiteral("%1 %2").arg(at->series->name).arg(at->point->x) : QString();
    }
    void press(Qt::Key key)
    {
        QTest::keyClick(figure_, key);
        waitUntilSettled();
    }

    static constexpr int kOutOfMemory = 9; // the run
    int file_ = 0;
    FigureView* figure_ = nullptr;
};

TEST_F(ChartsWindowTest, AClickOnAMarkerOutOfMemoryOpensItsRun)
{
    const ChartPlot& plot = figure_->plot();
    std::optional<std::size_t> marker;
    for (std::size_t i = 0; i < plot.pointCount(); ++i)
        if (plot.point(i).isOutOfMemory)
            marker = i;
    ASSERT_TRUE(marker);
    const double zoom = figure_->zoom();
    const QSizeF drawn = QSizeF(figure_->paper()) * zoom;
    const QPointF corner((figure_->width() - drawn.width()) / 2, (figure_->height() - drawn.height()) / 2);
    const QPoint at = (corner + plot.placeOf(*marker) * zoom).toPoint();
    moveTo(*figure_, at);
    EXPECT_EQ(figure_->cursor().shape(), Qt::PointingHandCursor);
    QTest::mouseClick(figure_, Qt::LeftButton, {}, at);
    waitUntilSettled();
    EXPECT_EQ(selected(), std::vector<int>{kOutOfMemory});
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("overview")) << "where it says why";
}

TEST_F(ChartsWindowTest, ArrowKeysMoveARingOverThePointsAndEnterOpensTheRun)
{
    figure_->setFocus(Qt::TabFocusReason);
    EXPECT_EQ(ringed(), QStringLiteral("flash 4"));
    press(Qt::Key_Right);
    EXPECT_EQ(ringed(), QStringLiteral("flash 8"));
    press(Qt::Key_Up);
    EXPECT_EQ(ringed(), QStringLiteral("naive 8")) << "the slower line is above";
    press(Qt::Key_Up);
    EXPECT_EQ(ringed(), QStringLiteral("naive 8")) << "no line is above it";
    EXPECT_TRUE(figure_->accessibleDescription().startsWith(QStringLiteral("naive, ")))
        << figure_->accessibleDescription().toStdString();
    EXPECT_TRUE(QToolTip::text().contains(QStringLiteral("batch: 8<br>"))) << QToolTip::text().toStdString();
    for (int i = 0; i < 3; ++i)
        press(Qt::Key_Right);
    EXPECT_EQ(ringed(), QStringLiteral("naive 65536")) << "the marker out of memory is a point, too";
    EXPECT_TRUE(QToolTip::text().contains(QStringLiteral("out of memory")));
    press(Qt::Key_Right);
    EXPECT_EQ(ringed(), QStringLiteral("naive 65536")) << "the end of the figure";
    press(Qt::Key_Left);
    EXPECT_EQ(ringed(), QStringLiteral("naive 32"));
    press(Qt::Key_Return);
    EXPECT_EQ(selected(), std::vector<int>{7});
}

TEST_F(ChartsWindowTest, TheRingIsDrawnOnlyWithTheFocus)
{
    figure_->setFocus(Qt::TabFocusReason);
    const QImage with = figure_->grab().toImage();
    charts().findChild<QCheckBox*>()->setFocus();
    const QImage without = figure_->grab().toImage();
    EXPECT_NE(with, without);
    EXPECT_TRUE(ringed().isEmpty());
    EXPECT_FALSE(figure_->accessibleDescription().startsWith(QStringLiteral("flash, ")))
        << "describes the whole figure";
}

TEST_F(ChartsWindowTest, NamesAlongXHaveNoScaleAndTheRecipeKeepsThatOfNumbers)
{
    const auto choose = [this](const char* key) {
        auto& x = named<ComboBox>(QStringLiteral("x"));
        x.setCurrentIndex(x.findData(QString::fromLatin1(key)));
        emit x.activated(x.currentIndex());
    };
    const auto fixed = [this] {
        std::vector<const SegmentedControl*> found;
        for (const SegmentedControl* control : charts().findChildren<SegmentedControl*>())
            if (!control->isEnabled())
                found.push_back(control);
        return found;
    };
    const ChartRecipe::Axis before = charts().recipe().xAxis;
    ASSERT_NE(before, ChartRecipe::Axis::Linear);
    ASSERT_TRUE(fixed().empty());
    choose("backend");
    ASSERT_EQ(fixed().size(), 1U);
    EXPECT_EQ(fixed().front()->current(), 0) << "no logarithm of a name is offered";
    EXPECT_EQ(fixed().front()->toolTip(), QStringLiteral("backend has names, not numbers"));
    EXPECT_FALSE(named<ComboBox>(QStringLiteral("Fit")).isEnabled());
    charts().findChild<QCheckBox*>()->click(); // reads the form
    EXPECT_EQ(charts().recipe().xAxis, before);
    choose("batch");
    EXPECT_TRUE(fixed().empty());
}

TEST_F(ChartsWindowTest, ChangesOfTheRecipeAreUndoneAndMadeAgain)
{
    ViewHistory& history = window_.workspace().history();
    const ChartRecipe first = charts().recipe();
    QCheckBox* grid = nullptr;
    for (QCheckBox* box : charts().findChildren<QCheckBox*>())
        if (box->text() == QStringLiteral("grid"))
            grid = box;
    ASSERT_NE(grid, nullptr);
    grid->click();
    const ChartRecipe second = charts().recipe();
    EXPECT_NE(second, first);
    EXPECT_EQ(history.undoName(), QStringLiteral("change of the chart"));
    auto& y = named<ComboBox>(QStringLiteral("y"));
    y.setCurrentIndex(y.findText(QStringLiteral("peak memory")));
    emit y.activated(y.currentIndex());
    const ChartRecipe third = charts().recipe();
    EXPECT_EQ(third.y, QStringLiteral("peak memory"));
    window_.showPage(QStringLiteral("machine"));
    history.undo();
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("charts")) << "shows what it undoes";
    EXPECT_EQ(charts().recipe(), second);
    EXPECT_EQ(y.currentText(), second.y);
    history.undo();
    EXPECT_EQ(charts().recipe(), first);
    EXPECT_EQ(grid->isChecked(), first.grid);
    EXPECT_NE(history.undoName(), QStringLiteral("change of the chart"));
    history.redo();
    history.redo();
    EXPECT_EQ(charts().recipe(), third);
}

} // namespace
} // namespace tilescope::ui
