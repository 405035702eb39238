// A tick's label is its value, whatever the range of the axis.

#include "tests/unit/ui/chart_fixture.h"
#include "ui/charts/chart_plot.h"
#include "ui/experiment/live_plots.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/histogram_plot.h"
#include "ui/kit/themed_plot.h"
#include "ui/kit/time_axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tilescope::ui {
namespace {

double valueOf(QString label)
{
    bool isNumber = false;
    label.remove(QChar(0x2009)).replace(QChar(0x2212), QLatin1Char('-'));
    const double value = label.toDouble(&isNumber);
    return isNumber ? value : NAN;
}

// Ticks and labels of a range; those outside it are not drawn.
struct Labels {
    QVector<double> ticks, subTicks;
    QVector<QString> texts;

    Labels(QCPAxisTicker& ticker, const QCPRange& range)
    {
        ticker.generate(range, QLocale::c(), QLatin1Char('g'), 6, ticks, &subTicks, &texts);
    }

    void expectTrue(const QCPRange& range) const
    {
        std::set<QString> seen;
        int within = 0;
        for (qsizetype i = 0; i < ticks.size(); ++i) {
            if (!range.contains(ticks[i]))
                continue;
            ++within;
            EXPECT_NEAR(valueOf(texts[i]), ticks[i], 1e-9 * std::abs(ticks[i]) + 1e-15)
                << texts[i].toStdString() << " is at " << ticks[i] << " in " << range.lower << " to "
                << range.upper;
            EXPECT_TRUE(seen.insert(texts[i]).second) << texts[i].toStdString() << " occurs twice";
        }
        EXPECT_GE(within, 2) << range.lower << " to " << range.upper;
        EXPECT_LE(within, 13) << range.lower << " to " << range.upper;
    }
};

TEST(Ticks, OfLogarithmicAxesAreWhatTheirLabelsSayInEveryFractionOfADecade)
{
    for (const double base : {2.0, 10.0})
        for (double decades = 0.02; decades < 9; decades *= 1.07)
            for (double from = 1.3e-5; from < 2e7; from *= 3.7) {
                PowerTicker ticker(base);
                const QCPRange range(from, from * std::pow(10, decades));
                Labels(ticker, range).expectTrue(range);
            }
}

TEST(Ticks, OfLinearAxesAreWhatTheirLabelsSay)
{
    const ThemedPlot plot;
    for (const double from : {-1e6, -12.5, 0.0, 0.0125, 11000.0, 123456.0})
        for (double length = 1e-3; length < 1e8; length *= 1.9) {
            NumberTicker ticker(*plot.yAxis);
            if (length < 1e-6 * std::abs(from))
                continue;
            const QCPRange range(from, from + length);
            Labels(ticker, range).expectTrue(range);
        }
}

TEST(Ticks, OfCountsAreWholeNumbersApart)
{
    const ThemedPlot plot;
    for (const double length : {1.0, 1.3, 2.6, 4.0, 11.0, 13.0, 26.0, 120.0, 1.3e5}) {
        NumberTicker ticker(*plot.yAxis, NumberTicker::Scale::Counts);
        const QCPRange range(0, length);
        Labels(ticker, range).expectTrue(range);
        QVector<double> ticks;
        ticker.generate(range, QLocale::c(), QLatin1Char('g'), 6, ticks, nullptr, nullptr);
        for (const double tick : ticks)
            EXPECT_EQ(tick, std::round(tick)) << "0 to " << length;
    }
}

TEST(Ticks, OfStepsAndInstancesAreWholeNumbers)
{
    const auto expectWhole = [](const QCPAxis& axis) {
        for (const double tick : axis.tickVector())
            EXPECT_EQ(tick, std::round(tick)) << axis.label().toStdString();
    };
    StepsPlot steps;
    steps.show({{0, 4.4e6}, {1, 4.5e6}, {11, 4.6e6}}, 12);
    steps.toPixmap(900, 240);
    expectWhole(*steps.xAxis);
    HistogramPlot instances;
    instances.show(
        {.histogram = {.from = 44e6, .width = 2e6, .counts = {1, 0, 0, 1}}, .mean = 46e6, .median = 46e6},
        query::Hue::Matmul);
    instances.toPixmap(300, 300);
    expectWhole(*instances.yAxis);
}

TEST(Ticks, BetweenThoseOfALogarithmicAxisAreTheOtherMultiplesOfItsPowers)
{
    PowerTicker ticker(10);
    const auto between = [&ticker](double from, double to) {
        std::set<long> found;
        for (const double tick : Labels(ticker, QCPRange(from, to)).subTicks)
            if (tick >= from && tick <= to)
                found.insert(std::lround(tick * 10));
        return found;
    };
    EXPECT_EQ(between(1, 2000).count(30), 1U) << "powers are ticks";
    EXPECT_EQ(between(1, 30), (std::set<long>{30, 40, 60, 70, 80, 90, 300})) << "1, 2, 5 are ticks";
    EXPECT_TRUE(between(1, 4).empty()) << "round numbers are ticks";
}

TEST(Ticks, KeepEveryDigitOfARoundNumber)
{
    EXPECT_EQ(tickText(0), QStringLiteral("0"));
    EXPECT_EQ(tickText(17.5), QStringLiteral("17.5"));
    EXPECT_EQ(tickText(0.1 + 0.2), QStringLiteral("0.3"));
    EXPECT_EQ(tickText(0.00002), QStringLiteral("0.00002"));
    EXPECT_EQ(tickText(-11250), QStringLiteral("\u221211\u2009250"));
    EXPECT_EQ(tickText(16384), QStringLiteral("16\u2009384"));
    EXPECT_EQ(tickText(12500.5), QStringLiteral("12\u2009500.5"));
}

TEST(Ticks, OfAHorizontalAxisLeaveRoomForTheirLabels)
{
    ThemedPlot plot;
    for (const int width : {240, 400, 900})
        for (double length = 1e-5; length < 1e3; length *= 3.1) {
            plot.resize(width, 200);
            plot.xAxis->setRange(100, 100 + length);
            plot.toPixmap(width, 200); // the axis had another width before
            const QVector<double> ticks = plot.xAxis->tickVector();
            const QVector<QString> texts = plot.xAxis->tickVectorLabels();
            const QFontMetricsF metrics(plot.xAxis->tickLabelFont());
            EXPECT_GE(ticks.size(), 1);
            for (qsizetype i = 1; i < ticks.size(); ++i)
                EXPECT_GT(plot.xAxis->coordToPixel(ticks[i]) - plot.xAxis->coordToPixel(ticks[i - 1]),
                          (metrics.horizontalAdvance(texts[i - 1]) + metrics.horizontalAdvance(texts[i])) / 2)
                    << texts[i - 1].toStdString() << " and " << texts[i].toStdString() << " at " << width;
        }
}

// The labels that an axis has after it was drawn.
void expectTrueLabels(const QCPAxis& axis, double wanted)
{
    const QVector<double> ticks = axis.tickVector();
    const QVector<QString> texts = axis.tickVectorLabels();
    ASSERT_EQ(ticks.size(), texts.size());
    int within = 0;
    for (qsizetype i = 0; i < ticks.size(); ++i)
        if (axis.range().contains(ticks[i])) {
            EXPECT_NEAR(valueOf(texts[i]), ticks[i], 1e-9 * ticks[i]) << texts[i].toStdString();
            ++within;
        }
    EXPECT_GE(within, wanted);
}

TEST(Ticks, OfFiguresAndRooflinesAreWhatTheirLabelsSay)
{
    for (const double factor : {1.0, 1.3, 2.6, 5.7, 9.1, 33.0, 700.0}) {
        std::vector<query::RunSummary> runs{runOf("naive", 256, 1.04), runOf("naive", 512, 1.04 * factor)};
        ChartRecipe recipe;
        recipe.bars = ChartRecipe::Bars::None;
        ChartPlot chart;
        chart.show(chartOf(recipe, pointersTo(runs)), recipe);
        chart.resize(ChartPlot::paperSize(recipe));
        chart.replot();
        expectTrueLabels(*chart.panels()[0]->axis(QCPAxis::atLeft), 2);
        RooflinePlot roofline;
        roofline.resize(400, 300);
        roofline.show({{.id = 1,
                        .label = QStringLiteral("gemm"),
                        .swatch = {},
                        .intensity = 12,
                        .rate = 2e12,
                        .total = 9},
                       {.id = 2,
                        .label = QStringLiteral("add"),
                        .swatch = {},
                        .intensity = 12 / factor,
                        .rate = 2e12 / factor,
                        .total = 9}},
                      {});
        roofline.replot();
        expectTrueLabels(*roofline.xAxis, 2);
        expectTrueLabels(*roofline.yAxis, 2);
    }
}

} // namespace
} // namespace tilescope::ui
