#include "core/session/engine/recorder.h"

#include "core/base/error.h"
#include "core/session/protocol/run_header.h"
#include "core/store/run_reader.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tilescope::session {

namespace {

Sample step(int index)
{
    return {
        .step = index, .kind = SampleKind::Measure, .phase = Phase::Step, .wall = Nanoseconds(100 + index)};
}

class RecorderTest : public ::testing::Test {
protected:
    testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "a.tscope";
    StringTable strings;
};

} // namespace

TEST_F(RecorderTest, WritesBatchesInOrder)
{
    {
        Recorder recorder(file, strings, {[] {}});
        const RunId run = recorder.begin(runHeader({}, 0));
        EXPECT_EQ(run, RunId{1});
        recorder.environment({{"libtorch", "2.11"}});
        for (int i = 0; i < 5; ++i)
            recorder.sample(step(i));
        testing::FakeTrace trace(strings);
        const std::int64_t now = nanosecondsOf(TraceClock::now());
        trace.step(0, now, now + 100)
            .kernel("gemm", now + 5, now + 10)
            .loss("ring_overflow", LossSeverity::Warning, 3);
        trace.checked(42);
        recorder.consume(TraceBatch(trace.batch()));
        const RecordSummary summary = recorder.end({});
        EXPECT_EQ(summary.records, 42);
        ASSERT_EQ(summary.losses.size(), 1U);
        EXPECT_EQ(summary.losses[0].kind, "ring_overflow");
        EXPECT_EQ(summary.losses[0].count, 3);
    }
    const store::RunReader reader(file);
    ASSERT_EQ(reader.samples(RunId{1}).size(), 5U);
    EXPECT_EQ(reader.samples(RunId{1})[4].wall, Nanoseconds(104));
    EXPECT_EQ(reader.deviceEvents({.run = RunId{1}}).size(), 1U);
    EXPECT_EQ(reader.recordsChecked(RunId{1}), 42);
}

TEST_F(RecorderTest, SamplesAreVisibleToReadersBeforeTheRunEnds)
{
    Recorder recorder(file, strings, {[] {}});
    recorder.begin(runHeader({}, 0));
    recorder.sample(step(0));
    recorder.flush();
    EXPECT_EQ(store::RunReader(file).samples(RunId{1}).size(), 1U);
    recorder.end({});
}

TEST_F(RecorderTest, LossesOfOneRunAreNotThoseOfTheNext)
{
    Recorder recorder(file, strings, {[] {}});
    recorder.begin(runHeader({}, 0));
    testing::FakeTrace trace(strings);
    trace.loss("dropped", LossSeverity::Error, 1).checked(7);
    recorder.consume(TraceBatch(trace.batch()));
    EXPECT_EQ(recorder.end({}).losses.size(), 1U);
    recorder.begin(runHeader({}, 0));
    const RecordSummary second = recorder.end({});
    EXPECT_EQ(second.losses.size(), 0U);
    EXPECT_EQ(second.records, 0);
}

TEST_F(RecorderTest, ATracerThatIsFasterThanTheDiskLosesNothing)
{
    constexpr int kBatches = 50;
    constexpr int kKernels = 400;
    Recorder recorder(file, strings, {[] {}}, {.queuedRecords = 500});
    recorder.begin(runHeader({}, 0));
    std::thread tracer([&] {
        const std::int64_t now = nanosecondsOf(TraceClock::now());
        for (int batch = 0; batch < kBatches; ++batch) {
            testing::FakeTrace trace(strings);
            for (int i = 0; i < kKernels; ++i)
                trace.kernel("gemm", now + batch * kKernels + i, now + batch * kKernels + i + 1);
            recorder.consume(TraceBatch(trace.batch()));
        }
    });
    tracer.join();
    recorder.end({});
    EXPECT_EQ(store::RunReader(file).deviceEvents({.run = RunId{1}}).size(),
              std::size_t{kBatches * kKernels});
}

TEST_F(RecorderTest, AForeignFileIsRefusedBeforeAnythingRuns)
{
    std::ofstream(file) << "shopping list";
    EXPECT_THROW(Recorder(file, strings, {[] {}}), Error);
    std::string text;
    std::ifstream in(file);
    std::getline(in, text);
    EXPECT_EQ(text, "shopping list");
}

} // namespace tilescope::session
