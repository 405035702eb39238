#include "ui/experiment/point_grid.h"

#include "core/config/spec_file.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

std::vector<session::SweepPoint> points(const std::string& yaml)
{
    return session::numbered(config::parseSpec("workload: attention\n" + yaml, "s.yaml"));
}

TEST(PointGrid, PutsTheLongestRowOfNumbersDownAndNestsTheRest)
{
    const auto grid = gridOf(
        points("sweep:\n  backend: [naive, sdpa]\n  precision: [fp32, bf16]\n  seq_len: [64, 128, 256]\n"));
    ASSERT_TRUE(grid);
    EXPECT_EQ(grid->rowKey, "seq_len");
    EXPECT_EQ(grid->rows, QStringList({"64", "128", "256"}));
    EXPECT_EQ(grid->columnKeys, QStringList({"backend", "precision"}));
    ASSERT_EQ(grid->columns.size(), 4U);
    EXPECT_EQ(grid->columns[1], QStringList({"naive", "bf16"}));
    EXPECT_EQ(grid->columns[2], QStringList({"sdpa", "fp32"}));
    // Every point has one cell, where its values say.
    std::vector<int> seen(12);
    for (const std::ptrdiff_t position : grid->cells)
        ++seen[std::size_t(position)];
    EXPECT_EQ(seen, std::vector<int>(12, 1));
    EXPECT_EQ(grid->at(0, 0), 0);
    EXPECT_EQ(grid->at(2, 0), 2);
    EXPECT_EQ(grid->at(0, 1), 3);
}

TEST(PointGrid, ShowsSizesWithTheirUnits)
{
    const auto grid = gridOf(
        session::numbered(config::parseSpec("workload: lm\nsize: tiny\nmode: train\ngpus: 2\nparallel: ddp\n"
                                            "sweep:\n  bucket: [1 MiB, 25 MiB, 100 MB]\n  batch: [2, 4]\n",
                                            "s.yaml")));
    ASSERT_TRUE(grid);
    EXPECT_EQ(grid->rowKey, "bucket");
    EXPECT_EQ(grid->rows, QStringList({"1 MiB", "25 MiB", "100 MB"}));
    EXPECT_EQ(grid->columns[1], QStringList({"4"}));
}

TEST(PointGrid, GivesEachRepeatAColumn)
{
    const auto grid =
        gridOf(points("repeat: 2\nsweep:\n  backend: [naive, sdpa]\n  seq_len: [64, 128, 256]\n"));
    ASSERT_TRUE(grid);
    EXPECT_EQ(grid->rowKey, "seq_len");
    EXPECT_EQ(grid->columnKeys, QStringList({"repeat", "backend"}));
    ASSERT_EQ(grid->columns.size(), 4U);
    EXPECT_EQ(grid->columns[2], QStringList({"2/2", "naive"}));
    EXPECT_EQ(grid->at(0, 2), 6) << "the seventh run is the second of the first point";
}

TEST(PointGrid, LeavesOtherSweepsToAList)
{
    EXPECT_FALSE(gridOf(points("batch: 1\n")));
    EXPECT_FALSE(
        gridOf(points("sweep:\n  - {batch: 1, heads: 1, d_head: 16}\n  - {batch: 2, heads: 2, d_head: 32}\n"
                      "  - {batch: 4, heads: 4, d_head: 64}\n")))
        << "mostly holes";
    std::string many = "sweep:\n  batch: [1, 2]\n  seed: [0";
    for (int i = 1; i < 3000; ++i)
        many += "," + std::to_string(i);
    EXPECT_FALSE(gridOf(points(many + "]\n")));
    const auto column = gridOf(points("sweep: {batch: [1, 2, 4]}\n"));
    ASSERT_TRUE(column);
    EXPECT_EQ(column->columns.size(), 1U);
    EXPECT_EQ(column->rows.size(), 3);
}

TEST(PointGrid, ShadesTimesByTheirLogarithmAndNamesTheRest)
{
    auto all = points("warmup: 0\ntrace: off\nsteps: 10\nsweep: {seq_len: [1, 2, 3, 4, 5]}\n");
    const auto shared = std::make_shared<const std::vector<session::SweepPoint>>(all);
    const auto plan = SweepPlan::of(shared);
    ASSERT_TRUE(plan->grid);
    SweepProgress progress = plan->progress;
    const auto finish = [&](std::int64_t index, const char* status, std::optional<double> ms) {
        progress.take(session::Event(session::PointEvent{index, 5, index + 1, "{}"}));
        session::ResultEvent result;
        result.run = index + 1;
        result.status = status;
        result.stepMs = ms;
        progress.take(session::Event(result));
    };
    finish(0, "ok", 1.0);
    finish(1, "ok", 10.0);
    finish(2, "ok", 100.0);
    finish(3, "oom", {});
    progress.take(session::Event(session::PointEvent{4, 5, 5, "{}"}));
    progress.take(session::Event(session::StateEvent{5, "measure"}));
    progress.take(session::Event(session::SampleEvent{5, 4, 1'000'000}));
    const std::vector<GridCell> cells = cellsOf(*plan->grid, progress);
    EXPECT_EQ(cells[0].text, QStringLiteral("1.00\u2009ms"));
    EXPECT_EQ(cells[0].shade, 0);
    EXPECT_NEAR(cells[1].shade, 0.5, 1e-9);
    EXPECT_NEAR(cells[2].shade, 1, 1e-9);
    EXPECT_EQ(cells[3].kind, GridCell::Kind::Oom);
    EXPECT_EQ(cells[4].kind, GridCell::Kind::Running);
    EXPECT_TRUE(cells[4].text.startsWith("3"))
        << "5 of 13 steps, traced ones too: " << cells[4].text.toStdString();
}

TEST(PointGrid, ShowsWhatIsExpectedUntilThereAreTimes)
{
    auto all = points("sweep: {seq_len: [1, 2, 3]}\n");
    SweepForecast forecast;
    forecast.points = {{.stepSeconds = 0.0012}, {.outOfMemory = true, .stepSeconds = 10}, {}};
    const auto plan = SweepPlan::of(std::make_shared<const std::vector<session::SweepPoint>>(all), forecast);
    ASSERT_TRUE(plan->grid);
    const std::vector<GridCell> cells = cellsOf(*plan->grid, plan->progress);
    EXPECT_EQ(cells[0].text, QStringLiteral("~1.20\u2009ms"));
    EXPECT_EQ(cells[0].kind, GridCell::Kind::Waiting);
    EXPECT_EQ(cells[1].kind, GridCell::Kind::ExpectedOom);
    EXPECT_EQ(cells[2].text, QString::fromUtf8("–"));
}

TEST(PointGrid, KeepsTheUnitOfATimeWhenASlowerPointEnds)
{
    const auto all =
        std::make_shared<const std::vector<session::SweepPoint>>(points("sweep: {seq_len: [256, 2048]}\n"));
    const auto plan = SweepPlan::of(all);
    ASSERT_TRUE(plan->grid);
    SweepProgress progress = plan->progress;
    const auto finish = [&](std::int64_t index, double ms) {
        progress.take(session::Event(session::PointEvent{index, 2, index + 1, "{}"}));
        session::ResultEvent result;
        result.run = index + 1;
        result.status = "ok";
        result.stepMs = ms;
        progress.take(session::Event(result));
    };
    finish(0, 40.1);
    EXPECT_EQ(cellsOf(*plan->grid, progress)[0].text, QStringLiteral("40.1\u2009ms"));
    finish(1, 1430);
    EXPECT_EQ(cellsOf(*plan->grid, progress)[0].text, QStringLiteral("40.1\u2009ms"));
    EXPECT_EQ(cellsOf(*plan->grid, progress)[1].text, QStringLiteral("1.43\u2009s"));
}

} // namespace
} // namespace tilescope::ui
