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
#include <random>
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

// Names at the lines of a figure.
std::vector<const QCPItemText*> namesIn(const ChartPlot& plot, const Chart& chart)
{
    std::vector<const QCPItemText*> names;
    for (int i = 0; i < plot.itemCount(); ++i)
        if (const auto* words = qobject_cast<const QCPItemText*>(plot.item(i));
            words != nullptr && chart.names.contains(words->text()))
            names.push_back(words);
    return names;
}

QRectF boxOf(const QCPItemText& words)
{
    return QRectF(words.topLeft->pixelPosition(), words.bottomRight->pixelPosition())
        .marginsRemoved(QMarginsF(words.padding()));
}

// Whether a line passes through a name; there must be names or a legend.
void expectReadableNames(const ChartPlot& plot, const Chart& chart, const ChartRecipe& recipe)
{
    const std::vector<const QCPItemText*> names = namesIn(plot, chart);
    const QList<QCPLayoutElement*> parts = plot.plotLayout()->elements(false);
    const bool hasLegend = std::ranges::any_of(
        parts, [](QCPLayoutElement* part) { return qobject_cast<QCPLegend*>(part) != nullptr; });
    ASSERT_EQ(names.size(), hasLegend ? 0U : std::size_t(chart.names.size()));
    const QRectF paper(QPointF(0, 0), QSizeF(ChartPlot::paperSize(recipe)));
    for (const QCPItemText* name : names) {
        const QRectF box = boxOf(*name);
        EXPECT_TRUE(paper.contains(box)) << name->text().toStdString() << " leaves the paper";
        for (const QCPItemText* other : names)
            EXPECT_TRUE(other == name || !boxOf(*other).intersects(box)) << name->text().toStdString();
        for (int i = 0; i < plot.graphCount(); ++i) {
            const QCPGraph& line = *plot.graph(i);
            for (int at = 1; at < line.dataCount(); ++at) {
                const QLineF piece(line.coordsToPixels(line.dataMainKey(at - 1), line.dataMainValue(at - 1)),
                                   line.coordsToPixels(line.dataMainKey(at), line.dataMainValue(at)));
                for (double share = 0; share <= 1; share += 0.005)
                    ASSERT_FALSE(box.contains(piece.pointAt(share)))
                        << line.name().toStdString() << " crosses " << name->text().toStdString();
            }
        }
    }
}

TEST(ChartPlot, NoLineCrossesTheNameOfAnother)
{
    // The line of flash passes through the place behind the last point of naive.
    const std::vector<query::RunSummary> runs{runOf("naive", 256, 2), runOf("naive", 512, 4),
                                              runOf("flash", 256, 2), runOf("flash", 512, 4),
                                              runOf("flash", 1024, 5)};
    const ChartRecipe recipe;
    const Chart chart = chartOf(recipe, pointersTo(runs));
    ChartPlot plot;
    plot.show(chart, recipe);
    expectReadableNames(plot, chart, recipe);
    EXPECT_EQ(namesIn(plot, chart).size(), 2U) << "there is room for both";
}

TEST(ChartPlot, ManyLinesOfManyLengthsHaveReadableNamesOrALegend)
{
    std::mt19937 random(20'261'124);
    int legends = 0;
    int named = 0;
    for (int round = 0; round < 60; ++round) {
        const char* const backends[] = {"naive",      "flash", "flash-torch", "sdpa",
                                        "sdpa-flash", "tiled", "math",        "efficient"};
        std::vector<query::RunSummary> runs;
        const int lines = 2 + round % 7;
        for (int line = 0; line < lines; ++line) {
            const auto last = 1 + int(random() % 5);
            for (int point = 0; point <= last; ++point)
                runs.push_back(runOf(backends[line], 256 << point, 1 + double(random() % 1000) / 100));
        }
        ChartRecipe recipe;
        recipe.bars = ChartRecipe::Bars::None;
        if (round % 3 == 0)
            recipe.paper = {3.25, 2.4, 8};
        const Chart chart = chartOf(recipe, pointersTo(runs));
        ChartPlot plot;
        plot.show(chart, recipe);
        expectReadableNames(plot, chart, recipe);
        (namesIn(plot, chart).empty() ? legends : named) += 1;
    }
    EXPECT_GT(named, 10);
    EXPECT_GT(legends, 0) << "no figure was crowded";
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

TEST(ChartPlot, MarkersOfSeveralSeriesAtOneWordDoNotTouch)
{
    // At each backend the same time in every series, so that only x can separate the markers.
    std::vector<query::RunSummary> runs;
    const std::vector<std::string> precisions{"bf16", "fp16", "fp32", "tf32"};
    for (const std::string& precision : precisions)
        for (const char* backend : {"naive", "flash", "sdpa"}) {
            runs.push_back(runOf(backend, 2048, 9));
            runs.back().params = {{"backend", backend}, {"seq_len", "2048"}, {"precision", precision}};
        }
    ChartRecipe recipe;
    recipe.x = QStringLiteral("backend");
    recipe.series = QStringLiteral("precision");
    ChartPlot plot;
    plot.show(chartOf(recipe, pointersTo(runs)), recipe);
    std::vector<double> places;
    for (int i = 0; i < plot.graphCount(); ++i)
        for (int at = 0; at < plot.graph(i)->dataCount(); ++at) {
            const double x = plot.graph(i)->dataMainKey(at);
            EXPECT_LT(std::abs(x - std::round(x)), 0.45) << "it stays at its word";
            places.push_back(plot.graph(i)->coordsToPixels(x, 1).x());
        }
    ASSERT_EQ(places.size(), runs.size());
    std::ranges::sort(places);
    for (std::size_t i = 1; i < places.size(); ++i)
        EXPECT_GE(places[i] - places[i - 1], plot.graph(0)->scatterStyle().size());
    recipe.series = QString();
    recipe.filter = QStringLiteral("precision=bf16");
    plot.show(chartOf(recipe, pointersTo(runs)), recipe);
    EXPECT_EQ(plot.graph(0)->dataMainKey(1), 1) << "one series is at its words";
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
