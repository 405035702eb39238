#include "core/query/runs/run_list.h"

#include "core/base/error.h"
#include "core/query/file_session.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

namespace {

constexpr std::size_t kRuns = 2 * RunList::kPage + 100;

/// A sweep of many runs: every third has no samples and was skipped, every seventh is flagged.
class RunListOfManyRuns : public ::testing::Test {
protected:
    static void SetUpTestSuite()
    {
        folder = std::make_unique<testing::TemporaryFolder>();
        const StringTable strings;
        store::RunWriter writer(file(), strings);
        for (std::size_t i = 0; i < kRuns; ++i) {
            writer.beginRun({"sweep", "attention", R"({"batch": 1, "seed": )" + std::to_string(i) + "}",
                             "hash " + std::to_string(i), "test"});
            RunResult result;
            if (isSkipped(i)) {
                result.status = RunStatus::Skipped;
                result.reason = "no GPU";
            } else {
                writer.writeSamples(samplesOf(i));
            }
            if (i % 7 == 0)
                result.flags = {"drift: up"};
            writer.endRun(result);
        }
    }
    static void TearDownTestSuite() { folder.reset(); }

    static bool isSkipped(std::size_t run) { return run % 3 == 2; }
    static std::vector<Sample> samplesOf(std::size_t run)
    {
        std::vector<Sample> samples;
        samples.push_back({0, SampleKind::Warmup, Phase::Step, Nanoseconds(5'000'000)});
        for (int step = 0; step < 2; ++step)
            for (const Phase phase : {Phase::Step, Phase::Forward})
                samples.push_back({step, SampleKind::Measure, phase,
                                   Nanoseconds(1'000'000 * static_cast<std::int64_t>(run + 1))});
        return samples;
    }
    static std::filesystem::path file() { return *folder / "many.tscope"; }

    static inline std::unique_ptr<testing::TemporaryFolder> folder;
};

} // namespace

TEST_F(RunListOfManyRuns, ContainsTheValuesOfEachRun)
{
    const store::RunReader reader(file());
    const RunList list(reader);
    ASSERT_EQ(list.size(), kRuns);
    for (std::size_t i = 0; i < kRuns; ++i) {
        const RunRow& row = list[i];
        ASSERT_EQ(row.record.run.value, static_cast<std::int64_t>(i) + 1);
        EXPECT_EQ(row.record.specHash, "hash " + std::to_string(i));
        ASSERT_EQ(row.stepMs().has_value(), !isSkipped(i)) << i;
        if (isSkipped(i))
            continue;
        EXPECT_EQ(row.stepMs()->median, static_cast<double>(i + 1));
        EXPECT_EQ(row.stepMs()->n, 2);
        EXPECT_THAT(row.warmupMs, ElementsAre(5.0));
        EXPECT_THAT(row.phases, SizeIs(2));
    }
    EXPECT_TRUE(list.anyVarying());
    EXPECT_THAT(list.varying(list[7].record), ElementsAre(Pair("seed", _)));
    EXPECT_THAT(list.timedPhases(), ElementsAre(Phase::Step, Phase::Forward));
    EXPECT_TRUE(list.anyFlags());
}

TEST_F(RunListOfManyRuns, ReadsEachPageOnceInOnePass)
{
    const store::RunReader reader(file());
    const RunList list(reader);
    for (std::size_t i = 0; i < list.size(); ++i)
        for (int column = 0; column < 5; ++column)
            EXPECT_EQ(list[i].record.name, "sweep");
    EXPECT_LE(list.pagesRead(), kRuns / RunList::kPage + 1);
}

TEST_F(RunListOfManyRuns, GivesAReasonOnce)
{
    const store::RunReader reader(file());
    const RunList list(reader);
    ASSERT_THAT(list.reasons(), SizeIs(1));
    const std::size_t more = kRuns / 3 - 10;
    EXPECT_THAT(list.reasons()[0], HasSubstr("Runs 3, 6, 9, 12, 15, 18, 21, 24, 27, 30 and " +
                                             std::to_string(more) + " more: "));
    EXPECT_THAT(list.reasons()[0], HasSubstr(": no GPU"));
}

TEST_F(RunListOfManyRuns, WithoutASurveyHasTheSameRunsAndReadsEachOnce)
{
    const store::RunReader reader(file());
    const RunList surveyed(reader);
    const RunList list(reader, {}, RunList::Survey::None);
    ASSERT_EQ(list.size(), surveyed.size());
    for (std::size_t i = 0; i < list.size(); ++i)
        ASSERT_EQ(list[i].record.uid, surveyed[i].record.uid);
    EXPECT_LE(list.pagesRead(), list.size() / RunList::kPage + 1);
    EXPECT_FALSE(list.anyVarying());
    EXPECT_FALSE(list.anyFlags());
    EXPECT_THAT(list.reasons(), IsEmpty());
    EXPECT_THROW(RunList(reader, RunId{5000}, RunList::Survey::None), Error);
}

TEST_F(RunListOfManyRuns, CanContainASingleRun)
{
    const store::RunReader reader(file());
    const RunList list(reader, RunId{700});
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].record.run.value, 700);
    EXPECT_FALSE(list.anyVarying());
    EXPECT_THAT(list.varying(list[0].record), IsEmpty());
    EXPECT_EQ(list.pagesRead(), 0u);
    EXPECT_THROW(RunList(reader, RunId{5000}), Error);
}

TEST_F(RunListOfManyRuns, AgreesWithTheWindowAndTheTables)
{
    const store::RunReader reader(file());
    const RunList list(reader);
    const FileSession session(file());
    const FileSnapshot first = session.snapshot();
    const FileSnapshot second = session.snapshot(&first);
    const std::vector<RunRow> all = runs(reader).rows;
    ASSERT_EQ(first.runs.size(), kRuns);
    EXPECT_EQ(first.find(RunId{700}), &first.runs[699]);
    EXPECT_EQ(first.find(RunId{0}), nullptr);
    EXPECT_EQ(first.find(RunId{1'000'000}), nullptr);
    ASSERT_EQ(second.runs.size(), kRuns);
    ASSERT_EQ(all.size(), kRuns);
    std::size_t samplesExpected = 0;
    for (std::size_t i = 0; i < kRuns; ++i) {
        EXPECT_EQ(first.runs[i].run, list[i].record.run);
        EXPECT_EQ(first.runs[i].step.has_value(), list[i].stepMs().has_value());
        EXPECT_EQ(second.runs[i].uid, first.runs[i].uid);
        EXPECT_EQ(all[i].record.uid, first.runs[i].uid);
        EXPECT_EQ(all[i].stepMs().has_value(), list[i].stepMs().has_value());
        samplesExpected += isSkipped(i) ? 0 : 5;
    }
    EXPECT_EQ(samples(reader).rows.size(), samplesExpected);
}

TEST(FileSessionOfARecording, HasTheTracedStepAndThePeakOfItsEvents)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "recorded.tscope";
    testing::FakeTrace trace;
    trace.step(0, 0, 100).op("aten::mm", 10, 20);
    trace.alloc(1, 4096, 30).alloc(2, 1024, 40).free(1, 4096, 50);
    trace.step(1, 200, 500);
    {
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"train.py", "trace", "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.endRun({});
    }
    const FileSession session(file);
    const FileSnapshot first = session.snapshot();
    store::setNote(file, RunId{1}, "on a laptop");
    const FileSnapshot second = session.snapshot(&first);
    for (const FileSnapshot* snapshot : {&first, &second}) {
        ASSERT_EQ(snapshot->runs.size(), 1U);
        const RunSummary& run = snapshot->runs.front();
        EXPECT_FALSE(run.step);
        EXPECT_NEAR(run.tracedStep.value_or(0), 200e-6, 1e-9);
        EXPECT_EQ(run.result.peakAllocated.value_or(Bytes{0}).count, 5120);
    }
    EXPECT_EQ(second.runs.front().note, "on a laptop");
}

TEST(FileSessionOfARecording, TheTracedStepIsTheMeanOfTypicalStepsAsOnOtherPages)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "t.tscope";
    testing::FakeTrace trace;
    std::int64_t start = 0;
    for (std::int32_t step = 0; step < 12; ++step) {
        const std::int64_t length = step == 0 ? 900'000'000 : 10'000'000; // the first compiles
        trace.step(step, start, start + length).op("aten::mm", start + 10, start + length - 10);
        start += length;
    }
    {
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"train.py", "trace", "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.endRun({});
    }
    const FileSession session(file);
    const FileSnapshot snapshot = session.snapshot();
    ASSERT_EQ(snapshot.runs.size(), 1U);
    EXPECT_NEAR(snapshot.runs.front().tracedStep.value_or(0), 10, 1e-9);
}

TEST(RunListOfASweep, ShowsVaryingKeysWithoutWorkloadNameAndDerivedKeys)
{
    const testing::TemporaryFolder folder;
    const StringTable strings;
    const std::vector<std::string> specs{
        R"({"name":"a","workload":"attention","backend":"naive","seq_len":256,"kv_len":256,"tile_q":64})",
        R"({"name":"b","workload":"attention","backend":"flash-torch","seq_len":512,"kv_len":512,"tile_q":128})",
        R"({"name":"c","workload":"lm","size":"tiny","layers":2})",
        R"({"name":"c","workload":"lm","size":"small","layers":12})"};
    {
        store::RunWriter writer(folder / "a.tscope", strings);
        for (const std::string& spec : specs) {
            writer.beginRun({"sweep", "any", spec, spec, "test"});
            writer.endRun({});
        }
    }
    const store::RunReader reader(folder / "a.tscope");
    const RunList list(reader);
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < list.size(); ++i)
        labels.push_back(config::labelOf(list.varying(list[i].record)));
    EXPECT_THAT(labels, ElementsAre("backend=naive seq_len=256", "backend=flash-torch seq_len=512",
                                    "size=tiny", "size=small"));
    EXPECT_TRUE(list.anyVarying());
    EXPECT_FALSE(RunList(reader, RunId{1}).anyVarying());
}

} // namespace tilescope::query
