// Charts: recipes as files, points and fits from runs, figures on disk.

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/models/chart_recipe.h"
#include "ui/pages/charts_offscreen.h"
#include "ui/pages/charts_page.h"
#include "ui/theme/theme.h"

#include <QFile>

#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::ui {
namespace {

query::RunSummary runOf(const char* backend, double length, double ms, RunStatus status = RunStatus::Ok)
{
    query::RunSummary run;
    run.workload = "attention";
    run.params = {{"backend", backend}, {"seq_len", std::to_string(int(length))}, {"precision", "bf16"}};
    run.result.status = status;
    run.result.peakAllocated = Bytes{std::int64_t(length) * 1024};
    if (status == RunStatus::Ok) {
        query::PhaseTimes step;
        step.wallMs = analysis::Statistics{.n = 10,
                                           .mean = ms,
                                           .standardDeviation = ms / 10,
                                           .median = ms * 0.9,
                                           .min = ms,
                                           .max = ms,
                                           .p95 = ms,
                                           .ci95 = analysis::ConfidenceInterval{ms * 0.8, ms}};
        run.phases.push_back(step);
    }
    return run;
}

std::vector<const query::RunSummary*> pointersTo(const std::vector<query::RunSummary>& runs)
{
    std::vector<const query::RunSummary*> pointers;
    for (const query::RunSummary& run : runs)
        pointers.push_back(&run);
    return pointers;
}

// 2 ms at 256, growing with the square; the longest does not fit.
std::vector<query::RunSummary> attention()
{
    return {runOf("naive", 1024, 32), runOf("naive", 256, 2),
            runOf("naive", 512, 8),   runOf("naive", 2048, 0, RunStatus::Oom),
            runOf("flash", 256, 1),   runOf("flash", 512, 2),
            runOf("flash", 1024, 4),  runOf("flash", 2048, 8)};
}

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
    EXPECT_NEAR(*chart.series[1].points[1].low, 7.2, 1e-9) << "one standard deviation";
    EXPECT_EQ(chart.series[1].outOfMemory, std::vector<double>{2048});
    EXPECT_TRUE(chart.caption.contains(QStringLiteral("precision bf16"))) << chart.caption.toStdString();
}

TEST(Chart, CentreAndBarsAreThoseOfTheRecipe)
{
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.centre = ChartRecipe::Centre::Median;
    recipe.bars = ChartRecipe::Bars::Interval;
    const ChartPoint& point = chartOf(recipe, pointersTo(runs)).series[1].points[1];
    EXPECT_NEAR(point.y, 7.2, 1e-9);
    EXPECT_NEAR(*point.low, 6.4, 1e-9);
    EXPECT_NEAR(*point.high, 8, 1e-9);
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

TEST(Chart, SaysWhyThereIsNothingToDraw)
{
    EXPECT_FALSE(chartOf({}, {}).empty.isEmpty());
    const std::vector<query::RunSummary> runs = attention();
    ChartRecipe recipe;
    recipe.x = QStringLiteral("no_such_key");
    EXPECT_TRUE(chartOf(recipe, pointersTo(runs)).empty.contains(QStringLiteral("no_such_key")));
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
    recipe.logX = false;
    recipe.centre = ChartRecipe::Centre::Median;
    recipe.bars = ChartRecipe::Bars::None;
    recipe.fit = ChartRecipe::Fit::Power;
    recipe.oneColumn = true;
    EXPECT_EQ(ChartRecipe::fromJson(recipe.toJson().toUtf8(), QStringLiteral("r.json")), recipe);
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

} // namespace
} // namespace tilescope::ui
