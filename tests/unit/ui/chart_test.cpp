// Charts: recipes as files, points and fits from runs, figures on disk.

#include "core/base/error.h"
#include "core/base/paths.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "tests/unit/ui/chart_fixture.h"
#include "ui/charts/chart_choice.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_ranges.h"
#include "ui/charts/chart_recipe.h"
#include "ui/charts/chart_rows.h"
#include "ui/charts/charts_offscreen.h"
#include "ui/theme/theme.h"

#include <QFile>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

namespace tilescope::ui {
namespace {

TEST(Chart, DrawsOnlyTheRunsThatItsRecipeNames)
{
    std::vector<query::RunSummary> runs = attention();
    for (std::size_t i = 0; i < runs.size(); ++i)
        runs[i].uid = "run-" + std::to_string(i);
    ChartRecipe recipe;
    recipe.runs = QStringList{QStringLiteral("run-4"), QStringLiteral("run-6")};
    const Chart chart = chartOf(recipe, pointersTo(runs));
    ASSERT_EQ(chart.series.size(), 1U);
    EXPECT_EQ(chart.series[0].name, QStringLiteral("flash"));
    EXPECT_EQ(chart.series[0].points.size(), 2U);
    EXPECT_EQ(ChartRecipe::fromJson(recipe.toJson().toUtf8(), QStringLiteral("r.json")), recipe);
}

TEST(Chart, HasASeriesForEachValueWithItsPointsByX)
{
    const std::vector<query::RunSummary> runs = attention();
    const Chart chart = chartOf({}, pointersTo(runs));
    ASSERT_EQ(chart.series.size(), 2U);
    EXPECT_EQ(chart.series[0].name, QStringLiteral("flash"));
    ASSERT_EQ(chart.series[1].points.size(), 3U);
    EXPECT_EQ(chart.series[1].points[0].x, 256);
    EXPECT_EQ(chart.series[1].points[2].x, 1024);
    EXPECT_EQ(chart.unit, QStringLiteral("ms"));
    EXPECT_NEAR(chart.series[1].points[1].y, 8, 1e-9);
    EXPECT_NEAR(*chart.series[1].points[1].low, 7.2, 1e-9) << "the interval of the median";
    ASSERT_EQ(chart.series[1].outOfMemory.size(), 1U);
    EXPECT_EQ(chart.series[1].outOfMemory[0].x, 2048);
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("precision bf16"))) << chart.caption.toStdString();
}

TEST(Chart, AMarkerOutOfMemoryLeadsToItsRun)
{
    std::vector<query::RunSummary> runs = attention();
    for (std::size_t i = 0; i < runs.size(); ++i)
        runs[i].uid = "run-" + std::to_string(i);
    EXPECT_EQ(chartOf({}, pointersTo(runs)).series[1].outOfMemory.at(0).uid, "run-3");
}

TEST(Chart, CentreAndBarsAreThoseOfTheRecipe)
{
    const std::vector<query::RunSummary> runs = attention();
    for (const auto bars : {ChartRecipe::Bars::Deviation, ChartRecipe::Bars::Interval}) {
        ChartRecipe recipe;
        recipe.bars = bars;
        recipe.centre = ChartRecipe::Centre::Mean;
        const ChartPoint mean = chartOf(recipe, pointersTo(runs)).series[1].points[1];
        EXPECT_NEAR(mean.y, 8.8, 1e-9);
        EXPECT_NEAR(*mean.low, 8.0, 1e-9) << "a deviation, whose centre is the mean";
        recipe.centre = ChartRecipe::Centre::Median;
        const ChartPoint median = chartOf(recipe, pointersTo(runs)).series[1].points[1];
        EXPECT_NEAR(median.y, 8, 1e-9);
        EXPECT_NEAR(*median.low, 7.2, 1e-9);
        EXPECT_NEAR(*median.high, 8.8, 1e-9);
    }
}

TEST(Chart, FitsFindTheLawThatThePointsFollow)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.fit = ChartRecipe::Fit::Power;
    const Chart chart = chartOf(recipe, pointersTo(runs));
    EXPECT_NEAR(chart.series[0].fit->exponent, 1, 1e-9);
    EXPECT_NEAR(chart.series[1].fit->exponent, 2, 1e-9);
    EXPECT_NEAR(chart.series[1].fit->r2, 1, 1e-9);
    recipe.fit = ChartRecipe::Fit::Quadratic;
    const ChartFit quadratic = *chartOf(recipe, pointersTo(runs)).series[1].fit;
    EXPECT_NEAR(quadratic.at(1024), 32, 1e-6);
    EXPECT_EQ(quadratic.formula(QStringLiteral("N"), QStringLiteral("ms")),
              QStringLiteral("3.05·10⁻⁵ N² ms"));
    ChartPoint alone;
    alone.x = alone.y = 1;
    EXPECT_FALSE(fitOf({alone}, ChartRecipe::Fit::Linear)) << "one point has no law";
}

TEST(Chart, FitsThatDoNotFollowThePointsAreNotThere)
{
    const auto points = [](std::initializer_list<double> values) {
        std::vector<ChartPoint> made;
        for (const double y : values) {
            ChartPoint& point = made.emplace_back();
            point.x = double(1 << made.size());
            point.y = y;
        }
        return made;
    };
    EXPECT_FALSE(fitOf(points({5, 1, 7, 2, 6, 3}), ChartRecipe::Fit::Power)) << "noise";
    EXPECT_FALSE(fitOf(points({5, 5, 5, 5, 5, 5}), ChartRecipe::Fit::Quadratic)) << "constant, not c N²";
    EXPECT_TRUE(fitOf(points({5, 5, 5, 5, 5, 5}), ChartRecipe::Fit::Power)) << "constant: the exponent is 0";
    EXPECT_GE(fitOf(points({1, 2, 4.1, 7.9, 16, 33}), ChartRecipe::Fit::Linear)->r2, kLeastR2);
}

TEST(Chart, ItsFileHasTheErrorBarsThatItDraws)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.bars = ChartRecipe::Bars::Interval;
    const Chart chart = chartOf(recipe, pointersTo(runs));
    const TableData drawn = chartRows(chart);
    const TableData file = chartFileRows(chart);
    ASSERT_GT(file.columns.size(), drawn.columns.size());
    const auto titled = [&file](const QString& title) {
        for (std::size_t column = 0; column < file.columns.size(); ++column)
            if (file.columns[column].title == title)
                return column;
        return std::size_t(0);
    };
    const ChartPoint& point = chart.series[1].points[1];
    const QString x = drawn.columns[2].title;
    ASSERT_GT(titled(x + QStringLiteral(" low")), 0u);
    EXPECT_NEAR(file.rows[1].cells[titled(x + QStringLiteral(" low"))].sort, *point.low, 1e-9);
    EXPECT_NEAR(file.rows[1].cells[titled(x)].sort, point.y, 1e-9);
    EXPECT_NEAR(file.rows[1].cells[titled(x + QStringLiteral(" high"))].sort, *point.high, 1e-9);
    for (const TableRow& row : file.rows)
        EXPECT_EQ(row.cells.size(), file.columns.size());
}

TEST(Chart, HasAPanelForEachValueOfItsFacetAndOneColourALine)
{
    std::vector<query::RunSummary> runs = attention();
    for (query::RunSummary run : attention()) {
        // Runs copied from one another share their texts, never their values.
        run.params.set("precision", "fp32");
        runs.push_back(run);
    }
    ChartRecipe recipe;
    recipe.facet = QStringLiteral("precision");
    const Chart chart = chartOf(recipe, pointersTo(runs));
    EXPECT_EQ(chart.facets, QStringList({QStringLiteral("bf16"), QStringLiteral("fp32")}));
    EXPECT_EQ(chart.names, QStringList({QStringLiteral("flash"), QStringLiteral("naive")}));
    EXPECT_EQ(chart.series.size(), 4U);
    ChartPlot plot;
    plot.show(chart, recipe);
    ASSERT_EQ(plot.panels().size(), 2U);
    EXPECT_EQ(plot.panels()[0]->axis(QCPAxis::atLeft)->range(),
              plot.panels()[1]->axis(QCPAxis::atLeft)->range());
    EXPECT_LT(plot.panels()[0]->rect().right(), plot.panels()[1]->rect().left()) << "beside each other";
    std::map<QString, std::set<QRgb>> colours;
    for (int i = 0; i < plot.graphCount(); ++i)
        if (chart.names.contains(plot.graph(i)->name()))
            colours[plot.graph(i)->name()].insert(plot.graph(i)->pen().color().rgb());
    EXPECT_EQ(colours.size(), 2U);
    for (const auto& [name, ofLine] : colours)
        EXPECT_EQ(ofLine.size(), 1U) << name.toStdString();
}

// No line goes up and down at one x, and the table has a cell for each point.
void expectNoZigZag(const Chart& chart)
{
    const TableData table = chartRows(chart);
    ASSERT_EQ(table.rows.size(), chart.series.size());
    for (std::size_t line = 0; line < chart.series.size(); ++line) {
        const std::vector<ChartPoint>& points = chart.series[line].points;
        for (std::size_t i = 1; i < points.size(); ++i)
            EXPECT_LT(points[i - 1].x, points[i].x) << chart.series[line].name.toStdString();
        std::size_t cells = 0;
        for (const TableCell& cell : table.rows[line].cells)
            cells += std::isnan(cell.sort) ? 0 : 1;
        EXPECT_EQ(cells, points.size()) << chart.series[line].name.toStdString();
    }
}

query::RunSummary with(query::RunSummary run, const std::vector<std::pair<std::string, std::string>>& params)
{
    for (const auto& [key, value] : params)
        run.params.set(key, value);
    return run;
}

TEST(Chart, DrawsRepeatsOfAnExperimentAsOnePoint)
{
    std::vector<query::RunSummary> runs{with(runOf("naive", 256, 2), {{"seed", "0"}, {"trace", "kernels"}}),
                                        with(runOf("naive", 256, 4), {{"seed", "1"}, {"trace", "off"}}),
                                        with(runOf("naive", 512, 8), {{"seed", "0"}, {"trace", "off"}})};
    ChartRecipe recipe;
    recipe.centre = ChartRecipe::Centre::Mean;
    recipe.bars = ChartRecipe::Bars::Deviation;
    const Chart chart = chartOf(recipe, pointersTo(runs));
    expectNoZigZag(chart);
    ASSERT_EQ(chart.series.size(), 1U);
    ASSERT_EQ(chart.series[0].points.size(), 2U);
    const ChartPoint& point = chart.series[0].points[0];
    EXPECT_EQ(point.runs, 2);
    EXPECT_EQ(point.n, 20);
    EXPECT_DOUBLE_EQ(point.y, 3.3) << "the mean of means, each a tenth above its median";
    ASSERT_TRUE(point.low && point.high);
    EXPECT_NEAR(*point.high - point.y, 1.1 * std::sqrt(2.0), 1e-9)
        << "the deviation of the runs, not of their steps";
    EXPECT_TRUE(chart.separatedBy.isEmpty());
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("Repeated runs"))) << chart.caption.toStdString();
}

TEST(Chart, TokensOfAGenerationLieAlongTheirPositions)
{
    const auto generation = [](const char* backend, const char* seed, std::vector<double> decoded) {
        query::RunSummary run;
        run.workload = "lm";
        run.params = {{"mode", "generate"}, {"backend", backend}, {"context", "64"}, {"seed", seed}};
        run.result.status = RunStatus::Ok;
        query::PhaseTimes decode{.phase = Phase::Decode};
        for (const double ms : decoded)
            decode.tokensMs.emplace_back(std::int64_t(decode.tokensMs.size()) + 1, ms);
        run.phases.push_back(decode);
        return run;
    };
    const std::vector<query::RunSummary> runs{generation("naive", "0", {2, 3}),
                                              generation("naive", "1", {4, 5}),
                                              generation("flash", "0", {1, 1, 1}), runOf("naive", 64, 9)};
    ChartRecipe recipe;
    recipe.x = ChartRecipe::position();
    recipe.y = QStringLiteral("decode, wall");
    const Chart chart = chartOf(recipe, pointersTo(runs));
    EXPECT_EQ(chart.xTitle, QStringLiteral("position, tokens"));
    ASSERT_EQ(chart.series.size(), 2U);
    EXPECT_EQ(chart.series[0].name, QStringLiteral("flash"));
    EXPECT_EQ(chart.series[0].points.size(), 3U);
    const std::vector<ChartPoint>& naive = chart.series[1].points;
    ASSERT_EQ(naive.size(), 2U) << "repeats are one point";
    EXPECT_EQ(naive[0].x, 65);
    EXPECT_EQ(naive[0].y, 3);
    EXPECT_EQ(naive[0].runs, 2);
    EXPECT_EQ(naive[1].x, 66);
    EXPECT_EQ(naive[1].y, 4);
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("each token of all sequences")))
        << chart.caption.toStdString();
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("Left out: 1 run"))) << chart.caption.toStdString();
}

TEST(Chart, DrawsDifferentExperimentsAtOneXAsLinesOfTheirOwn)
{
    std::vector<query::RunSummary> runs;
    for (const char* heads : {"1", "2"})
        for (const double length : {128.0, 256.0, 512.0})
            runs.push_back(with(runOf("flash-torch", length, length * (heads[0] - '0')),
                                {{"heads", heads},
                                 {"tile_q", heads[0] == '1' ? "128" : "256"},
                                 {"trace", length > 200 ? "kernels" : "off"}}));
    runs.push_back(with(runOf("flash-torch", 512, 0, RunStatus::Oom), {{"heads", "2"}, {"tile_q", "256"}}));
    ChartRecipe recipe;
    recipe.series = QStringLiteral("trace"); // whatever the user chooses
    for (const char* series : {"trace", "backend", "", "seq_len"}) {
        recipe.series = QString::fromLatin1(series);
        expectNoZigZag(chartOf(recipe, pointersTo(runs)));
    }
    recipe.series = QStringLiteral("backend");
    const Chart chart = chartOf(recipe, pointersTo(runs));
    EXPECT_EQ(chart.separatedBy, QStringList{QStringLiteral("heads")}) << "one key is enough";
    EXPECT_EQ(chart.names,
              (QStringList{QStringLiteral("flash-torch, heads 1"), QStringLiteral("flash-torch, heads 2")}));
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("by backend and heads")))
        << chart.caption.toStdString();
}

TEST(Chart, SuggestsWhatTheExperimentVaried)
{
    const auto of = [](const std::vector<query::RunSummary>& runs) {
        const ChartRecipe recipe = suggested({}, pointersTo(runs));
        return recipe.x + QLatin1Char('/') + recipe.series;
    };
    EXPECT_EQ(of(attention()), QStringLiteral("seq_len/backend"));
    EXPECT_EQ(of({with(runOf("flash", 512, 1), {{"heads", "1"}, {"trace", "off"}}),
                  with(runOf("flash", 512, 1), {{"heads", "2"}, {"trace", "full"}}),
                  with(runOf("flash", 512, 1), {{"heads", "4"}, {"trace", "off"}})}),
              QStringLiteral("heads/backend"))
        << "trace says how it was recorded, not what ran";
    EXPECT_EQ(
        of({with(runOf("flash", 128, 1), {{"heads", "1"}}), with(runOf("flash", 256, 1), {{"heads", "2"}})}),
        QStringLiteral("seq_len/heads"));
    EXPECT_EQ(of({runOf("naive", 2048, 9), runOf("flash", 2048, 1)}), QStringLiteral("backend/"))
        << "runs that differ in a word stand beside each other";
    EXPECT_EQ(of({with(runOf("naive", 2048, 9), {{"causal", "true"}}),
                  with(runOf("flash", 2048, 1), {{"causal", "false"}})}),
              QStringLiteral("backend/causal"));
    EXPECT_EQ(of({runOf("flash", 2048, 1)}), QStringLiteral("seq_len/backend")) << "the only x that there is";
}

TEST(Chart, WordsAlongXAreTicksWithoutLinesBetweenThem)
{
    const std::vector<query::RunSummary> runs{with(runOf("naive", 2048, 9), {{"precision", "bf16"}}),
                                              with(runOf("flash", 2048, 1), {{"precision", "bf16"}}),
                                              with(runOf("naive", 2048, 20), {{"precision", "fp32"}}),
                                              with(runOf("flash", 2048, 3), {{"precision", "fp32"}})};
    ChartRecipe recipe;
    recipe.x = QStringLiteral("backend");
    recipe.series = QStringLiteral("precision");
    recipe.fit = ChartRecipe::Fit::Power;
    const Chart chart = chartOf(recipe, pointersTo(runs));
    EXPECT_EQ(chart.words, QStringList({QStringLiteral("flash"), QStringLiteral("naive")}));
    ASSERT_EQ(chart.names, QStringList({QStringLiteral("bf16"), QStringLiteral("fp32")}));
    EXPECT_TRUE(chart.separatedBy.isEmpty()) << "x separates the backends";
    ASSERT_EQ(chart.series[1].points.size(), 2U);
    EXPECT_EQ(chart.series[1].points[0].x, 0);
    EXPECT_NEAR(chart.series[1].points[0].y, 3, 1e-9) << "flash comes first";
    EXPECT_EQ(chart.series[1].points[1].x, 1);
    EXPECT_NEAR(chart.series[1].points[1].y, 20, 1e-9);
    EXPECT_FALSE(chart.series[1].fit) << "words have no law";
    EXPECT_FALSE(chart.caption.contains(QStringLiteral("least-squares"))) << chart.caption.toStdString();
    const TableData table = chartRows(chart);
    EXPECT_EQ(table.columns[1].title, QStringLiteral("flash"));
    EXPECT_EQ(table.columns[2].title, QStringLiteral("naive"));

    ChartPlot plot;
    plot.show(chart, recipe);
    const QCPAxis& x = *plot.panels().front()->axis(QCPAxis::atBottom);
    EXPECT_EQ(x.range(), QCPRange(-0.5, 1.5));
    EXPECT_EQ(x.scaleType(), QCPAxis::stLinear);
    for (int i = 0; i < plot.graphCount(); ++i)
        EXPECT_EQ(plot.graph(i)->pen().style(), Qt::NoPen);
}

TEST(Chart, AFilterKeepsTheRunsThatHaveItsWords)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.filter = QStringLiteral("backend=flash seq_len=256,512");
    const Chart chart = chartOf(recipe, pointersTo(runs));
    ASSERT_EQ(chart.series.size(), 1U);
    EXPECT_EQ(chart.series[0].points.size(), 2U);
    EXPECT_TRUE(chart.caption.contains(recipe.filter)) << "a reader has to know what was left out";
    recipe.filter = QStringLiteral("naive bf16");
    EXPECT_EQ(chartOf(recipe, pointersTo(runs)).names, QStringList{QStringLiteral("naive")});
    recipe.filter = QStringLiteral("fp64");
    EXPECT_TRUE(chartOf(recipe, pointersTo(runs)).empty.contains(QStringLiteral("fp64")));
}

TEST(Chart, TheCaptionNamesMachineSamplesFitAndWhatDidNotFit)
{
    const std::vector<query::RunSummary> runs = attention();
    query::EnvironmentTable environment;
    environment.rows = {{"gpu.name", "NVIDIA H200"}, {"libtorch", "2.11.0"}, {"cpu.model", "Xeon"}};
    ChartRecipe recipe;
    recipe.fit = ChartRecipe::Fit::Quadratic;
    const QString caption =
        chartOf(recipe, pointersTo(runs), machineWords({environment, environment})).caption;
    for (const char* words : {"Medians of 10 timed steps", "95 % interval of the median", "c·x²",
                              "out of memory", "NVIDIA H200, PyTorch 2.11.0."})
        EXPECT_TRUE(caption.contains(QString::fromUtf8(words))) << words << " in " << caption.toStdString();
    EXPECT_FALSE(caption.contains(QStringLiteral("Xeon"))) << "a GPU did the work";
}

TEST(Chart, FitsStateTheirPredictionAndItsError)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.fit = ChartRecipe::Fit::Quadratic;
    const Chart chart = chartOf(recipe, pointersTo(runs));
    const TableData fits = fitRows(chart);
    ASSERT_EQ(fits.rows.size(), 1U) << "flash is linear here: no square follows its points";
    EXPECT_FALSE(chart.series[0].fit);
    EXPECT_EQ(fits.columns[5].title, QStringLiteral("At 2048, ms"));
    EXPECT_EQ(fits.rows[0].cells[5].text, QStringLiteral("128")) << "naive did not run there: 32 times four";
    EXPECT_NEAR(chart.series[1].fit->spread, 0, 1e-9) << "its points fit exactly";
}

TEST(Chart, ItsWordsAreThoseOfPaper)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    EXPECT_EQ(chartOf(recipe, pointersTo(runs)).yTitle, QStringLiteral("step time, ms"));
    EXPECT_TRUE(chartOf(recipe, pointersTo(runs))
                    .caption.startsWith(QStringLiteral("Step time against sequence length N by backend. ")));
    recipe.series = QStringLiteral("seq_len");
    EXPECT_TRUE(chartOf(recipe, pointersTo(runs)).names.contains(QStringLiteral("seq_len 256, naive")))
        << "a number alone does not say of what";
}

TEST(Chart, SaysWhyThereIsNothingToDraw)
{
    EXPECT_FALSE(chartOf({}, {}).empty.isEmpty());
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.x = QStringLiteral("no_such_key");
    EXPECT_TRUE(chartOf(recipe, pointersTo(runs)).empty.contains(QStringLiteral("no_such_key")));
}

TEST(Chart, OfRunsWithoutMemoryIsASentence)
{
    std::vector<query::RunSummary> runs = attention();
    std::erase_if(runs, [](const query::RunSummary& run) { return run.result.status != RunStatus::Oom; });
    ASSERT_FALSE(runs.empty());
    runs.resize(1);
    const Chart one = chartOf({}, pointersTo(runs));
    EXPECT_EQ(one.empty, QStringLiteral("The run ran out of memory: it has no step time to draw."));
    EXPECT_TRUE(one.series.empty()) << "an axis without points has invented ticks";
    runs.push_back(runs.front());
    EXPECT_EQ(chartOf({}, pointersTo(runs)).empty,
              QStringLiteral("All of these runs ran out of memory: none has a step time to draw."));
}

TEST(Chart, XIsANumberThatVariesAndSeriesWhateverVaries)
{
    const std::vector<query::RunSummary> runs = attention();
    EXPECT_EQ(numericKeys(pointersTo(runs)), QStringList{QStringLiteral("seq_len")});
    EXPECT_EQ(varyingKeys(pointersTo(runs)),
              QStringList({QStringLiteral("backend"), QStringLiteral("seq_len")}));
}

TEST(ChartRecipe, ComesBackFromItsFileAsItWas)
{
    ChartRecipe recipe;
    recipe.title = QStringLiteral("Attention");
    recipe.x = QStringLiteral("d_head");
    recipe.y = QStringLiteral("peak memory");
    recipe.series.clear();
    recipe.xAxis = ChartRecipe::Axis::Linear;
    recipe.yAxis = ChartRecipe::Axis::Log2;
    recipe.facet = QStringLiteral("precision");
    recipe.filter = QStringLiteral("batch=8 bf16");
    recipe.formula = recipe.outOfMemory = recipe.grid = false;
    recipe.palette = ChartRecipe::Palette::Grey;
    recipe.dashes = true;
    recipe.centre = ChartRecipe::Centre::Mean;
    recipe.bars = ChartRecipe::Bars::None;
    recipe.fit = ChartRecipe::Fit::Power;
    recipe.paper = {5, 3.5, 11};
    EXPECT_EQ(ChartRecipe::fromJson(recipe.toJson().toUtf8(), QStringLiteral("r.json")), recipe);
}

TEST(ChartRecipe, OlderWordsForPaperAndAxesAreStillRead)
{
    const ChartRecipe recipe =
        ChartRecipe::fromJson(R"({"tilescope_chart": 1, "x_axis": "log", "y_axis": "log", "columns": "one"})",
                              QStringLiteral("r.json"));
    EXPECT_EQ(recipe.xAxis, ChartRecipe::Axis::Log2);
    EXPECT_EQ(recipe.yAxis, ChartRecipe::Axis::Log10);
    EXPECT_DOUBLE_EQ(recipe.paper.width, 3.25);
}

TEST(ChartRecipe, ThoseThatComeWithTheProgramAreRead)
{
    int found = 0;
    for (const auto& file : std::filesystem::directory_iterator(resourcesDirectory() / "charts")) {
        const ChartRecipe recipe = readRecipe(QString::fromStdString(file.path().string()));
        EXPECT_FALSE(recipe.title.isEmpty()) << file.path();
        ++found;
    }
    EXPECT_GE(found, 4);
}

TEST(ChartRecipe, AMistakeIsNamed)
{
    const auto sentence = [](const char* json) -> std::string {
        try {
            ChartRecipe::fromJson(json, QStringLiteral("r.json"));
        } catch (const Error& error) {
            return error.sentence();
        }
        return "it was read";
    };
    EXPECT_NE(sentence("{").find("r.json"), std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_chart": 9})").find("tilescope_chart"), std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_chart": 1, "sereis": "a"})").find("sereis"), std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_chart": 1, "fit": "cubic"})").find("quadratic"), std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_chart": 1, "width": 4000})").find("width"), std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_chart": 1, "grid": "yes"})").find("grid"), std::string::npos);
}

TEST(ChartFiles, AreWrittenForEachRecipeFromARecording)
{
    Theme::instance().apply(ThemeChoice::Light);
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "lm.tscope";
    test::writeLmFile(file);
    ChartRecipe recipe;
    recipe.x = QStringLiteral("batch");
    const QString path = QString::fromStdString((folder / "time.json").string());
    QFile out(path);
    ASSERT_TRUE(out.open(QIODevice::WriteOnly));
    out.write(recipe.toJson().toUtf8());
    out.close();
    const QString to = QString::fromStdString((folder / "figures").string());
    try {
        writeCharts({path}, {QString::fromStdString(file.string())}, to);
    } catch (const Error& error) {
        FAIL() << error.sentence();
    }
    for (const char* suffix : {"pdf", "svg", "caption.txt", "csv"}) {
        QFile figure(to + QStringLiteral("/time.") + QLatin1String(suffix));
        ASSERT_TRUE(figure.open(QIODevice::ReadOnly)) << suffix;
        EXPECT_GT(figure.size(), 20) << suffix;
        if (QLatin1String(suffix) == QLatin1String("svg")) {
            EXPECT_TRUE(figure.readAll().contains("naive"));
        }
    }
    recipe.x = QStringLiteral("no_such_key");
    QFile bad(path);
    ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
    bad.write(recipe.toJson().toUtf8());
    bad.close();
    EXPECT_THROW(writeCharts({path}, {QString::fromStdString(file.string())}, to), Error);
}

TEST(Chart, AQuantityMayLieAlongXAndPointsMayHaveLabels)
{
    std::vector<query::RunSummary> runs{runOf("naive", 1024, 3), runOf("naive", 4096, 2)};
    std::vector<const query::RunSummary*> pointers{&runs[0], &runs[1]};
    ChartRecipe recipe;
    recipe.x = QStringLiteral("peak memory");
    recipe.y = QStringLiteral("step, wall");
    recipe.label = QStringLiteral("seq_len");
    const Chart chart = chartOf(recipe, pointers);
    ASSERT_EQ(chart.series.size(), 1U) << chart.empty.toStdString();
    ASSERT_EQ(chart.series[0].points.size(), 2U);
    EXPECT_EQ(chart.xTitle, QStringLiteral("peak memory, MiB"));
    EXPECT_EQ(chart.series[0].points[0].x, 1);
    EXPECT_EQ(chart.series[0].points[0].label, QStringLiteral("1024"));
    EXPECT_EQ(chart.series[0].points[1].x, 4);
    EXPECT_EQ(ChartRecipe::fromJson(recipe.toJson().toUtf8(), QStringLiteral("x")), recipe);
}

QString written(const std::filesystem::path& file, const QByteArray& text)
{
    QFile out(QString::fromStdString(file.string()));
    if (!out.open(QIODevice::WriteOnly) || out.write(text) != text.size())
        throw std::runtime_error("cannot write " + file.string());
    return out.fileName();
}

TEST(ChartFiles, TimelinesAreDrawnFromARecipeToo)
{
    Theme::instance().apply(ThemeChoice::Light);
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "lm.tscope";
    test::writeLmFile(file);
    const query::FileSnapshot runs = query::FileSession(file).snapshot();
    const QByteArray two = "\"" + QByteArray::fromStdString(runs.runs[0].uid) + "\",\"" +
                           QByteArray::fromStdString(runs.runs[1].uid) + "\"";
    const QString recording = QString::fromStdString(file.string());
    const QString to = QString::fromStdString((folder / "figures").string());
    try {
        writeCharts({written(folder / "pair.json", "{\"tilescope_timeline\": 1, \"runs\": [" + two + "]}")},
                    {recording}, to);
    } catch (const Error& error) {
        FAIL() << error.sentence();
    }
    QFile figure(to + QStringLiteral("/pair.svg"));
    ASSERT_TRUE(figure.open(QIODevice::ReadOnly));
    const QByteArray svg = figure.readAll();
    EXPECT_TRUE(svg.contains("naive"));
    EXPECT_TRUE(svg.contains("flash"));
    EXPECT_TRUE(svg.contains("Difference")); // of one with the other
    EXPECT_TRUE(QFile::exists(to + QStringLiteral("/pair.pdf")));

    const auto sentence = [&](const QByteArray& recipe) {
        try {
            writeCharts({written(folder / "bad.json", recipe)}, {recording}, to);
        } catch (const Error& error) {
            return error.sentence();
        }
        return std::string("no error");
    };
    EXPECT_NE(sentence(R"({"tilescope_timeline": 1, "runs": ["nobody"]})").find("the run nobody"),
              std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_timeline": 1, "runs": []})").find("names no run"), std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_timeline": 2, "runs": ["a"]})").find("'tilescope_timeline' is not 1"),
              std::string::npos);
    EXPECT_NE(sentence(R"({"tilescope_timeline": 1, "runs": ["a"], "runz": 1})").find("unknown key 'runz'"),
              std::string::npos);
}

TEST(ChartOfImports, ShowsTheMeanTracedStepByFile)
{
    std::vector<query::RunSummary> runs(2);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].workload = "trace";
        runs[i].params = {{"workload", "trace"},
                          {"format", "trace of PyTorch's profiler (.json, .json.gz)"},
                          {"file", i == 0 ? "a.json.gz" : "b.json.gz"}};
        runs[i].tracedStep = i == 0 ? 11.2 : 5.6;
    }
    EXPECT_EQ(suggested({}, {&runs[0]}).x, QStringLiteral("file"));
    const ChartRecipe recipe = suggested({}, pointersTo(runs));
    EXPECT_EQ(recipe.x, QStringLiteral("file"));
    const Chart chart = chartOf(recipe, pointersTo(runs));
    EXPECT_EQ(chart.empty, QString());
    EXPECT_EQ(chart.words, (QStringList{QStringLiteral("a.json.gz"), QStringLiteral("b.json.gz")}));
    ASSERT_EQ(chart.series.size(), 1U);
    ASSERT_EQ(chart.series[0].points.size(), 2U);
    EXPECT_DOUBLE_EQ(chart.series[0].points[1].y, 5.6);
    EXPECT_EQ(chart.unit, QStringLiteral("ms"));
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("Of recordings and imports: the mean traced step.")))
        << chart.caption.toStdString();
    EXPECT_FALSE(chart.caption.contains(QStringLiteral("timed step"))) << chart.caption.toStdString();
}

TEST(ChartOfImports, OneImportIsDrawnStepByStep)
{
    query::RunSummary run;
    run.workload = "trace";
    run.params = {{"workload", "trace"}, {"file", "a.json.gz"}};
    run.tracedStep = 2;
    run.tracedSteps = {{0, 3}, {1, 1}, {4, 2}};
    EXPECT_EQ(quantitiesOf({&run}), QStringList{QStringLiteral("step, wall")});
    run.result.peakAllocated = Bytes{1'000};
    EXPECT_EQ(quantitiesOf({&run}),
              (QStringList{QStringLiteral("step, wall"), QStringLiteral("peak memory")}));
    const ChartRecipe recipe = suggested({}, {&run});
    EXPECT_EQ(recipe.x, ChartRecipe::stepNumber());
    EXPECT_EQ(recipe.scaleOfX(), ChartRecipe::Axis::Linear) << "there is a step 0";
    const Chart chart = chartOf(recipe, {&run});
    ASSERT_EQ(chart.series.size(), 1U);
    ASSERT_EQ(chart.series[0].points.size(), 3U);
    EXPECT_DOUBLE_EQ(chart.series[0].points[2].x, 4);
    EXPECT_DOUBLE_EQ(chart.series[0].points[2].y, 2);
    EXPECT_EQ(chartRows(chart).columns.size(), 4U);
    EXPECT_EQ(chartRows(chart, {}, 2).columns.size(), 3U) << "a name and the first steps";
    EXPECT_TRUE(chartRows(chartOf(recipe, {})).columns.empty()) << "no unit is known";
    EXPECT_TRUE(
        chart.caption.startsWith(QStringLiteral("Step time against step. The time of each typical step")))
        << chart.caption.toStdString();
    const std::optional<ChartRanges> ranges = rangesOf(chart, recipe);
    ASSERT_TRUE(ranges);
    EXPECT_LT(ranges->xLow, 0);
}

TEST(ChartOfImports, ASnapshotWithoutStepsIsDrawnByItsMemory)
{
    query::RunSummary run;
    run.workload = "trace";
    run.params = {{"workload", "trace"}, {"file", "a.pickle"}};
    run.result.peakAllocated = Bytes{3 << 20};
    const ChartRecipe recipe = suggested({}, {&run});
    EXPECT_EQ(recipe.y, QStringLiteral("peak memory"));
    const Chart chart = chartOf(recipe, {&run});
    EXPECT_EQ(chart.empty, QString());
    EXPECT_EQ(chart.unit, QStringLiteral("MiB"));
    EXPECT_EQ(suggested(recipe, {}).y, QStringLiteral("step, wall")) << "of other runs";
}

} // namespace
} // namespace tilescope::ui
