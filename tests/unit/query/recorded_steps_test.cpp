#include "core/query/compare/recorded_steps.h"

#include "core/analysis/compare/several_threads.h"
#include "core/model/counter_track.h"
#include "core/model/run_workload.h"
#include "core/model/thread_counter_names.h"
#include "core/query/compare/compare_tables.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilescope::query {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr int kSteps = 10;

/// A counter in per cent with these values, one for each 100 ms from 0 on.
CounterTrack percent(const char* name, const std::vector<double>& values, std::int64_t failed = 0)
{
    CounterTrack track{.name = name, .unit = "%", .failed = failed};
    for (const double value : values) {
        track.points.push_back({timestampAt(static_cast<std::int64_t>(track.points.size()) * 100 * kMs),
                                static_cast<std::int64_t>(value * kPartsOfCounterUnit)});
        track.end = track.points.back().time + Nanoseconds(100 * kMs);
    }
    return track;
}

class RecordedStepsTest : public ::testing::Test {
protected:
    /// Adds a recording with ten steps of 50 ms, one each 100 ms from 0 on.
    void write(const std::vector<CounterTrack>& tracks, bool onGpu = false, std::int64_t wall = 50 * kMs)
    {
        StringTable strings;
        testing::FakeTrace trace(strings);
        for (int step = 0; step < kSteps; ++step) {
            const std::int64_t begin = 100 * kMs * step;
            trace.step(step, begin, begin + wall);
            if (onGpu)
                trace.kernel("gemm", begin + 10, begin + 1000).at("step");
        }
        store::RunWriter writer(file_, strings);
        writer.beginRun({"recorded", std::string(kTraceWorkload.name), "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.writeCounterTracks(tracks);
        writer.endRun({});
    }

    RecordedSteps steps(RunId run = RunId{1}) const
    {
        return recordedStepTimes(store::RunReader(file_), run, {});
    }

private:
    const testing::TemporaryFolder folder_;

protected:
    const std::filesystem::path file_ = folder_ / "a.tscope";
};

TEST_F(RecordedStepsTest, WaitingIsThatWithinTheSteps)
{
    // The second half of each 100 ms, between the steps, has other values.
    CounterTrack waiting{.name = kWaitingCounter, .unit = "%", .end = timestampAt(1000 * kMs)};
    for (int i = 0; i < 2 * kSteps; ++i)
        waiting.points.push_back({timestampAt(i * 50 * kMs), i % 2 == 0 ? 25'000 : 90'000});
    write({waiting});
    const RecordedSteps recorded = steps();
    ASSERT_EQ(recorded.walls.size(), std::size_t{kSteps});
    EXPECT_DOUBLE_EQ(recorded.walls.front(), 50);
    ASSERT_TRUE(recorded.waiting);
    EXPECT_DOUBLE_EQ(*recorded.waiting, 0.25);
    EXPECT_FALSE(recorded.someWaiting) << "recorded by an older version";
}

TEST_F(RecordedStepsTest, OneThreadComputesThemIfItTakesTheProcessorTime)
{
    const std::vector<double> some(kSteps, 10);
    write({percent(kWaitingCounter, some), percent(kCpuUseCounter, std::vector<double>(kSteps, 95)),
           percent(kOneThreadCounter, std::vector<double>(kSteps, 90))});
    write({percent(kWaitingCounter, some), percent(kCpuUseCounter, std::vector<double>(kSteps, 180)),
           percent(kOneThreadCounter, std::vector<double>(kSteps, 95))});
    write({percent(kWaitingCounter, some), percent(kCpuUseCounter, std::vector<double>(kSteps, 95)),
           percent(kOneThreadCounter, std::vector<double>(kSteps, 90))},
          true);
    EXPECT_EQ(steps(RunId{1}).threads, 1);
    EXPECT_EQ(steps(RunId{2}).threads, analysis::kSeveralThreads) << "two threads";
    EXPECT_EQ(steps(RunId{3}).threads, 0) << "a GPU";
    EXPECT_DOUBLE_EQ(*steps(RunId{3}).waiting, 0.1);
}

TEST_F(RecordedStepsTest, WaitingIsUnknownWithoutReadingsOfTheSteps)
{
    write({});
    write({percent(kWaitingCounter, {10, 10, 10})});
    write({percent(kWaitingCounter, std::vector<double>(kSteps, 10), 4)});
    write({percent(kWaitingCounter, std::vector<double>(kSteps, 10))}, false, 5 * kMs);
    EXPECT_FALSE(steps(RunId{1}).waiting);
    EXPECT_FALSE(steps(RunId{2}).waiting) << "of three tenths of the steps";
    EXPECT_FALSE(steps(RunId{3}).waiting) << "threads came and went";
    EXPECT_FALSE(steps(RunId{4}).waiting) << "50 ms in total";
}

// B waits for a core for two thirds of its steps, and takes three times as long.
TEST_F(RecordedStepsTest, ComparisonsTakeTheWaitingIntoAccount)
{
    const auto busy = [](double waiting) {
        return std::vector{percent(kWaitingCounter, std::vector<double>(kSteps, waiting)),
                           percent(kCpuUseCounter, std::vector<double>(kSteps, 99 - waiting)),
                           percent(kOneThreadCounter, std::vector<double>(kSteps, 99 - waiting))};
    };
    write(busy(1), false, 30 * kMs);
    write(busy(67), false, 90 * kMs);
    write(busy(1), false, 90 * kMs);
    const store::RunReader reader(file_);
    const auto verdictOf = [&](std::int64_t b) {
        return compare(reader, RunId{1}, reader, RunId{b}).recordedStep->verdict;
    };
    EXPECT_EQ(verdictOf(2), analysis::Verdict::Inconclusive);
    EXPECT_EQ(verdictOf(3), analysis::Verdict::Slower);
    // Of several threads, each may hold up the others for much longer than it waited itself.
    const auto ofTwo = [](double waiting) {
        return std::vector{percent(kWaitingCounter, std::vector<double>(kSteps, waiting)),
                           percent(kCpuUseCounter, std::vector<double>(kSteps, 150)),
                           percent(kOneThreadCounter, std::vector<double>(kSteps, 75))};
    };
    write(ofTwo(50), false, 90 * kMs);
    write(ofTwo(0.5), false, 90 * kMs);
    EXPECT_EQ(verdictOf(4), analysis::Verdict::Inconclusive);
    EXPECT_EQ(verdictOf(5), analysis::Verdict::Slower);
    // Two threads that wait for each other: in half of the time the one has no core, in half of the rest the other.
    const auto ofWaitingTwo = [&](double longest, double some) {
        std::vector<CounterTrack> tracks = ofTwo(longest);
        tracks.push_back(percent(kSomeWaitingCounter, std::vector<double>(kSteps, some)));
        return tracks;
    };
    write(ofWaitingTwo(50, 75), false, 90 * kMs);
    write(ofWaitingTwo(0.5, 1), false, 90 * kMs);
    EXPECT_DOUBLE_EQ(*steps(RunId{6}).someWaiting, 0.75);
    EXPECT_EQ(compare(reader, RunId{6}, reader, RunId{7}).recordedStep->verdict, analysis::Verdict::Slower);
    EXPECT_EQ(compare(reader, RunId{6}, reader, RunId{6}).recordedStep->verdict,
              analysis::Verdict::Inconclusive);
}

} // namespace
} // namespace tilescope::query
