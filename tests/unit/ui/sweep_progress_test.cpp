#include "ui/experiment/sweep_progress.h"

#include "core/config/spec_file.h"
#include "ui/experiment/forecast.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

SweepProgress::Points pointsOf(const std::string& yaml)
{
    return std::make_shared<const std::vector<session::SweepPoint>>(
        session::numbered(config::parseSpec(yaml, "s.yaml")));
}

SweepProgress::Points fourPoints()
{
    return pointsOf(
        "workload: attention\nwarmup: 2\nsteps: 10\ntrace_steps: 0\nsweep: {seq_len: [1, 2, 3, 4]}\n");
}

void begin(SweepProgress& progress, std::int64_t index)
{
    progress.take(session::Event(session::PointEvent{index, 4, index + 1, "{}"}));
}

void finish(SweepProgress& progress, std::int64_t index, const char* status)
{
    session::ResultEvent result;
    result.run = index + 1;
    result.status = status;
    progress.take(session::Event(result));
}

TEST(SweepProgress, KeepsTheStepsAndTheMemoryOfThePointThatRuns)
{
    SweepProgress progress(fourPoints());
    EXPECT_EQ(progress.current(), nullptr);
    begin(progress, 0);
    progress.take(session::Event(session::StateEvent{1, "warmup"}));
    progress.take(session::Event(session::SampleEvent{1, 0, 5'000}));
    progress.take(session::Event(session::SampleEvent{1, 1, 4'000}));
    progress.take(session::Event(session::StateEvent{1, "measure"}));
    progress.take(session::Event(session::SampleEvent{1, 0, 3'000}));
    progress.take(session::Event(session::MemoryEvent{1, 0, 64, 128, 96}));
    progress.take(session::Event(session::StateEvent{1, "trace"}));
    progress.take(session::Event(session::SampleEvent{1, 0, 9'000}));
    ASSERT_EQ(progress.steps().size(), 3U) << "traced steps are not what is measured";
    EXPECT_EQ(progress.steps()[0].step, -2);
    EXPECT_EQ(progress.steps()[1].step, -1);
    EXPECT_EQ(progress.steps()[2].step, 0);
    EXPECT_EQ(progress.steps()[2].wallNs, 3'000);
    ASSERT_EQ(progress.memory().size(), 1U);
    EXPECT_EQ(progress.memory()[0].reserved, 128);
    finish(progress, 0, "ok");
    begin(progress, 1);
    EXPECT_TRUE(progress.steps().empty());
}

TEST(SweepProgress, KeepsEvenlySomeOfVeryManySteps)
{
    SweepProgress progress(fourPoints());
    begin(progress, 0);
    progress.take(session::Event(session::StateEvent{1, "measure"}));
    for (std::int64_t step = 0; step < 100'000; ++step)
        progress.take(session::Event(session::SampleEvent{1, step, 1'000}));
    EXPECT_LT(progress.steps().size(), 4'096U);
    EXPECT_GT(progress.steps().size(), 1'000U);
    EXPECT_GT(progress.steps().back().step, 99'000);
    const std::int64_t apart = progress.steps()[1].step - progress.steps()[0].step;
    for (std::size_t i = 1; i < progress.steps().size(); ++i)
        ASSERT_EQ(progress.steps()[i].step - progress.steps()[i - 1].step, apart);
}

TEST(SweepProgress, GuessesTheRestFromWhatRanHere)
{
    SweepProgress progress(fourPoints());
    EXPECT_EQ(progress.secondsLeft(10), std::nullopt);
    progress.passOver({0, 1});
    EXPECT_EQ(progress.finished(), 2U);
    EXPECT_EQ(progress.secondsLeft(10), std::nullopt) << "points that the file held took no time";
    begin(progress, 2);
    finish(progress, 2, "ok");
    EXPECT_NEAR(*progress.secondsLeft(10), 10, 1e-9);
    EXPECT_EQ(progress.counts(), "1 ok, 2 in the file before");
    begin(progress, 3);
    finish(progress, 3, "oom");
    EXPECT_EQ(progress.fraction(), 1);
    EXPECT_EQ(progress.counts(), "1 ok, 1 out of memory, 2 in the file before");
}

TEST(SweepProgress, RemembersTheLastError)
{
    SweepProgress progress(fourPoints());
    begin(progress, 0);
    session::ResultEvent result;
    result.run = 1;
    result.status = "error";
    result.reason = "the engine was killed by SIGSEGV";
    EXPECT_NE(progress.take(session::Event(result)).indexOf("SIGSEGV"), -1);
    EXPECT_EQ(progress.lastError(), "the engine was killed by SIGSEGV");
}

TEST(SweepProgress, ShowsSomeOfVeryManyPointsAboutTheOneThatRuns)
{
    const auto many = pointsOf("workload: attention\nsweep: {batch: [1, 2], seed: [1,2,3,4,5,6,7,8,9,10]}\n");
    SweepProgress progress(many);
    EXPECT_EQ(progress.table(8).rows.size(), 8U);
    EXPECT_EQ(progress.shownPart(8), "points 1 to 8");
    progress.take(session::Event(session::PointEvent{12, 20, 1, "{}"}));
    EXPECT_EQ(progress.table(8).rows.front().id, 8);
    EXPECT_EQ(progress.shownPart(8), "points 9 to 16");
    EXPECT_EQ(progress.table().rows.size(), 20U);
    EXPECT_EQ(progress.shownPart(), "");
}

TEST(SweepProgress, MarksPointsThatAreExpectedToRunOutOfMemory)
{
    SweepProgress progress(fourPoints());
    SweepForecast forecast;
    forecast.device = "NVIDIA H200";
    forecast.points.resize(4);
    for (PointForecast& point : forecast.points)
        point = {.seconds = 40, .peakBytes = std::int64_t(1) << 30, .stepSeconds = 0.012, .error = 0.2};
    forecast.points[3] = {.seconds = 40, .peakBytes = std::int64_t(16) << 30, .outOfMemory = true};
    progress.setForecast(forecast);
    const TableData table = progress.table();
    EXPECT_EQ(table.rows[2].cells[2].text, "waiting");
    EXPECT_EQ(table.rows[2].cells[3].text, QString::fromUtf8("~12.0\u2009ms"));
    EXPECT_EQ(table.rows[2].cells[3].exact, QString::fromUtf8("predicted: 12.0\u2009ms ± 20\u2009%"));
    EXPECT_EQ(table.rows[3].cells[2].text, "expected OOM");
    EXPECT_EQ(table.rows[3].cells[2].tone, Tone::Warning);
    EXPECT_EQ(forecastWords(forecast),
              QString::fromUtf8(
                  "about 2m40s ± 15\u2009% on this NVIDIA H200, predicted peak 16.0\u2009GiB allocated"));
    EXPECT_EQ(forecast.outOfMemory(), 1);
    SweepForecast tiny;
    tiny.device = "cpu";
    tiny.points = {{.outOfMemory = true}};
    EXPECT_EQ(forecastWords(tiny), QString()) << "it ends at once";
    tiny.points = {{.seconds = 0.0246}};
    EXPECT_EQ(forecastWords(tiny), QString::fromUtf8("about 24.6 ms on this cpu"));
    forecast.isFromBusyHost = true;
    EXPECT_TRUE(forecastWords(forecast).contains("(calibrated while its host was busy)"));
    forecast.isHere = false;
    EXPECT_TRUE(forecastWords(forecast).contains("on the calibrated NVIDIA H200"));
    forecast.points[0].seconds.reset();
    EXPECT_EQ(forecast.seconds(), std::nullopt) << "a sum without one of its parts is none";
    EXPECT_EQ(
        forecastWords(forecast),
        QString::fromUtf8(
            "time not predicted: no calibration of this device, predicted peak 16.0\u2009GiB allocated"));
}

TEST(MemoryLimitWords, DescribesTheMemoryLimitOfPoints)
{
    EXPECT_EQ(memoryLimitWords(*fourPoints()), "memory_limit auto");
    EXPECT_EQ(memoryLimitWords(*pointsOf("workload: lm\nmemory_limit: 8 GiB\n")),
              QString::fromUtf8("memory_limit 8\u2009GiB"));
    EXPECT_EQ(memoryLimitWords(*pointsOf("workload: lm\nsweep: {memory_limit: [4 GiB, 8 GiB, auto]}\n")),
              QString::fromUtf8("memory_limit 4\u2009GiB to 8\u2009GiB or auto"));
}

} // namespace
} // namespace tilescope::ui
