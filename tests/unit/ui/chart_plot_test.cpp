// Charts as they are drawn: ticks, names, marks, error bars, paper.

#include "tests/unit/ui/chart_fixture.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_recipe.h"
#include "ui/theme/theme.h"

#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tilescope::ui {
namespace {

TEST(ChartPlot, HasAGridWhereItIsWanted)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    ChartPlot plot;
    for (const bool wanted : {true, false}) {
        recipe.grid = wanted;
        plot.show(chartOf(recipe, pointersTo(runs)), recipe);
        EXPECT_EQ(plot.panels()[0]->axis(QCPAxis::atLeft)->grid()->visible(), wanted);
    }
}

TEST(ChartPlot, AFewValuesOfXAreItsTicks)
{
    const std::vector<query::RunSummary> runs{runOf("naive", 300, 2), runOf("flash", 300, 1),
                                              runOf("naive", 700, 9)};
    ChartPlot plot;
    plot.show(chartOf({}, pointersTo(runs)), {});
    const auto ticks = plot.panels()[0]->axis(QCPAxis::atBottom)->ticker().dynamicCast<QCPAxisTickerText>();
    ASSERT_TRUE(ticks);
    EXPECT_EQ(ticks->ticks().keys(), QList<double>({300, 700}));
    const std::vector<query::RunSummary> many = attention();
    plot.show(chartOf({}, pointersTo(many)), {});
    EXPECT_FALSE(plot.panels()[0]->axis(QCPAxis::atBottom)->ticker().dynamicCast<QCPAxisTickerText>());
}

TEST(ChartPlot, MarksOfWhatRanOutOfMemoryAreWhole)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartPlot plot;
    plot.show(chartOf({}, pointersTo(runs)), {});
    const QCPAxis& y = *plot.panels()[0]->axis(QCPAxis::atLeft);
    int marks = 0;
    for (int i = 0; i < plot.graphCount(); ++i)
        if (plot.graph(i)->name().endsWith(QStringLiteral("out of memory")))
            for (const QCPGraphData& mark : *plot.graph(i)->data()) {
                EXPECT_GE(y.coordToPixel(mark.value) - y.coordToPixel(y.range().upper),
                          plot.graph(i)->scatterStyle().size() / 2);
                ++marks;
            }
    EXPECT_EQ(marks, 1);
}

TEST(ChartPlot, OnPaperItIsAsLargeAndWrittenAsItsRecipeSays)
{
    ChartRecipe recipe;
    recipe.paper = ChartRecipe::papers()[1].second;
    EXPECT_EQ(ChartPlot::paperSize(recipe).width(), 312) << "3.25 inches";
    recipe.paper.text = 11;
    const std::vector<query::RunSummary> runs = attention();
    ChartPlot plot;
    plot.show(chartOf(recipe, pointersTo(runs)), recipe);
    EXPECT_DOUBLE_EQ(plot.panels()[0]->axis(QCPAxis::atBottom)->labelFont().pointSizeF(), 11);
    EXPECT_LE(plot.panels()[0]->outerRect().right(), 312);
    bool open = false;
    for (int i = 0; i < plot.graphCount(); ++i)
        open = open || (plot.graph(i)->scatterStyle().shape() == QCPScatterStyle::ssTriangle &&
                        plot.graph(i)->scatterStyle().brush().color() == QColor(Qt::white));
    EXPECT_TRUE(open) << "what ran out of memory";
    recipe.outOfMemory = false;
    const int before = plot.graphCount();
    plot.show(chartOf(recipe, pointersTo(runs)), recipe);
    EXPECT_EQ(plot.graphCount(), before - 1);
}

TEST(ChartPlot, NamesOfLinesDoNotLieOnEachOther)
{
    std::vector<query::RunSummary> runs;
    for (const char* backend : {"a", "b", "c"})
        for (const double length : {256.0, 512.0})
            runs.push_back(runOf(backend, length, length / 100)); // all alike
    ChartPlot plot;
    plot.show(chartOf({}, pointersTo(runs)), {});
    std::vector<double> heights;
    for (int i = 0; i < plot.itemCount(); ++i)
        if (const auto* words = qobject_cast<QCPItemText*>(plot.item(i));
            words != nullptr && words->text().size() == 1)
            heights.push_back(words->position->pixelPosition().y());
    ASSERT_EQ(heights.size(), 3U);
    std::sort(heights.begin(), heights.end());
    EXPECT_GE(heights[1] - heights[0], 8);
    EXPECT_GE(heights[2] - heights[1], 8);
}

TEST(ChartPlot, NoLineCrossesTheNameOfAnother)
{
    // The line of B passes through the name behind the last point of A.
    const std::vector<query::RunSummary> runs{runOf("naive", 256, 2), runOf("naive", 512, 4),
                                              runOf("flash", 256, 2), runOf("flash", 512, 4),
                                              runOf("flash", 1024, 5)};
    ChartRecipe recipe;
    recipe.grid = false;
    ChartPlot plot;
    plot.show(chartOf(recipe, pointersTo(runs)), recipe);
    QImage image(ChartPlot::paperSize(recipe), QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    plot.drawVectors(painter, image.size());
    painter.end();
    const QCPItemText* name = nullptr;
    for (int i = 0; i < plot.itemCount(); ++i)
        if (const auto* words = qobject_cast<QCPItemText*>(plot.item(i));
            words && words->text() == QLatin1String("naive"))
            name = words;
    ASSERT_NE(name, nullptr);
    const QRectF box = QRectF(name->topLeft->pixelPosition(), name->bottomRight->pixelPosition())
                           .marginsRemoved(QMarginsF(name->padding()));
    const QCPGraph* flash = nullptr;
    for (int i = 0; i < plot.graphCount(); ++i)
        if (plot.graph(i)->name() == QLatin1String("flash"))
            flash = plot.graph(i);
    ASSERT_NE(flash, nullptr);
    const auto pixel = [&](int at) {
        return flash->coordsToPixels(flash->dataMainKey(at), flash->dataMainValue(at));
    };
    const QLineF line(pixel(1), pixel(2));
    bool crosses = false;
    for (double share = 0; share < 1; share += 0.01)
        crosses = crosses || box.contains(line.pointAt(share));
    ASSERT_TRUE(crosses) << "nothing to test";
    for (int y = int(box.top()) + 1; y < int(box.bottom()); ++y)
        for (int x = int(box.left()) + 1; x < int(box.right()); ++x)
            ASSERT_NE(image.pixel(x, y), flash->pen().color().rgb()) << x << ", " << y;
}

TEST(ChartPlot, ErrorBarsEndWithinTheAxes)
{
    // Spreads of half, nearly all and more than the mean: on a logarithmic axis the last ones have no lower
    // end.
    for (const double spread : {0.5, 0.999, 3.0}) {
        std::vector<query::RunSummary> runs = attention();
        for (query::RunSummary& run : runs)
            for (query::PhaseTimes& phase : run.phases)
                phase.wallMs->ci95 = analysis::ConfidenceInterval{phase.wallMs->median * (1 - spread),
                                                                  phase.wallMs->median * (1 + spread)};
        for (const auto axis :
             {ChartRecipe::Axis::Log2, ChartRecipe::Axis::Log10, ChartRecipe::Axis::Linear}) {
            ChartRecipe recipe;
            recipe.yAxis = axis;
            ChartPlot plot;
            plot.show(chartOf(recipe, pointersTo(runs)), recipe);
            const QCPRange range = plot.panels()[0]->axis(QCPAxis::atLeft)->range();
            int checked = 0;
            for (int i = 0; i < plot.plottableCount(); ++i) {
                auto* bars = qobject_cast<QCPErrorBars*>(plot.plottable(i));
                if (bars == nullptr)
                    continue;
                for (int at = 0; at < bars->dataCount(); ++at) {
                    const double y = bars->dataPlottable()->interface1D()->dataMainValue(at);
                    const QCPErrorBarsData& data = bars->data()->at(at);
                    const double bottom =
                        axis == ChartRecipe::Axis::Linear ? std::min(0.0, y * (1 - spread)) : range.lower;
                    EXPECT_GE(y - data.errorMinus, bottom - 1e-12) << spread;
                    EXPECT_LE(y + data.errorPlus, range.upper) << spread;
                    EXPECT_GT(data.errorMinus, 0) << "a bar that ends at the axis is drawn";
                    ++checked;
                }
            }
            EXPECT_EQ(checked, 7);
        }
    }
}

TEST(ChartPlot, ThePaletteOfGreysStaysApartInGrey)
{
    EXPECT_TRUE(ChartPlot::staysApartInGrey(ChartRecipe::Palette::Grey, 4));
    EXPECT_FALSE(ChartPlot::staysApartInGrey(ChartRecipe::Palette::OkabeIto, 7));
    for (std::size_t i = 1; i < 8; ++i)
        EXPECT_NE(ChartPlot::shapeOf(i), ChartPlot::shapeOf(0)) << "markers differ in any case";
}

} // namespace
} // namespace tilescope::ui
