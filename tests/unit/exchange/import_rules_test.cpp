// The rules for events of foreign recordings (core/exchange/import/rules), each through the builder.

#include "core/exchange/import/rules/rules.h"

#include "core/base/error.h"
#include "core/exchange/import/trace_builder.h"
#include "core/model/losses.h"
#include "core/query/steps/step_tables.h"
#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace tilescope::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportRules : public ::testing::Test {
protected:
    static Timestamp at(std::int64_t ns) { return timestampAt(ns); }

    ForeignActivity kernel(std::string_view name, std::uint32_t correlation, std::int64_t start,
                           std::int64_t end)
    {
        const DeviceIndex device = builder.device(process, 0);
        return {.name = name,
                .device = device,
                .stream = builder.stream(process, device, 7),
                .correlation = correlation,
                .start = at(start),
                .end = at(end)};
    }
    void range(const std::string& name, std::int64_t start, std::int64_t end)
    {
        builder.addRange(thread, name, at(start), at(end));
    }
    void op(const std::string& name, std::int64_t start, std::int64_t end, std::uint64_t id = 0)
    {
        builder.addOp({.thread = thread, .name = name, .externalId = id, .start = at(start), .end = at(end)});
    }

    store::RunReader& finished()
    {
        run = builder.finish({.name = "x.json", .format = "test"}, folder / "x.tscope", {});
        reader = std::make_unique<store::RunReader>(folder / "x.tscope");
        for (const auto& loss : reader->losses(run)) {
            losses[loss.kind] += loss.count;
            details[loss.kind] += loss.detail;
        }
        return *reader;
    }
    std::vector<std::string> opNames() const
    {
        std::vector<std::string> names;
        for (const Op& each : reader->ops({.run = run}))
            names.emplace_back(reader->text(each.name));
        return names;
    }

    tilescope::testing::TemporaryFolder folder;
    TraceBuilder builder;
    ProcessIndex process = builder.addProcess({.pid = 1});
    ThreadId thread = builder.thread(process, 1);
    RunId run;
    std::unique_ptr<store::RunReader> reader;
    std::map<std::string, std::int64_t> losses;
    std::map<std::string, std::string> details;
};

TEST(ImportRuleList, IsThatOfTheHelpPageAndNamesLossesThatExist)
{
    std::ifstream file(std::string(TILESCOPE_SOURCE_DIR) + "/resources/help/import.md");
    std::string page;
    for (std::string word; file >> word;)
        page += word + " ";
    for (const ImportRule& rule : kImportRules) {
        EXPECT_THAT(page, HasSubstr(std::string(rule.sentence))) << rule.name;
        std::stringstream counted{std::string(rule.counted)};
        for (std::string name; std::getline(counted >> std::ws, name, ',');)
            EXPECT_NE(std::ranges::find(kLosses, name, &LossInfo::name), std::end(kLosses)) << name;
    }
}

TEST_F(ImportRules, RangesNestAtMost512DeepAndEachCutIsCounted)
{
    for (std::int64_t i = 0; i < 600; ++i)
        range("push", i, 10'000 - i);
    op("aten::mm", 5'000, 5'001);
    finished();
    EXPECT_EQ(reader->ranges({.run = run}).size(), kMostNested);
    EXPECT_EQ(losses["nested_too_deep"], 600 - kMostNested);
    EXPECT_EQ(opNames(), std::vector<std::string>{"aten::mm"}) << "leaked ranges cost no op";
    EXPECT_EQ(reader->ops({.run = run}).front().range.value, kMostNested - 1)
        << "it is in the deepest range that is stored";
}

TEST_F(ImportRules, OfOverlappingRangesTheLastOneContainsWhatBothContain)
{
    range("a", 0, 100);
    range("b", 50, 150);
    op("in both", 60, 70);
    op("in b", 110, 120);
    op("across the end of a", 90, 110);
    op("across the end of b", 140, 160);
    finished();
    const std::vector<Range> ranges = reader->ranges({.run = run});
    EXPECT_FALSE(ranges[1].parent) << "b is not within a";
    std::map<std::string, RangeId> place;
    for (const Op& each : reader->ops({.run = run}))
        place[std::string(reader->text(each.name))] = each.range;
    EXPECT_EQ(place["in both"], ranges[1].id);
    EXPECT_EQ(place["in b"], ranges[1].id);
    EXPECT_EQ(place["across the end of a"], ranges[1].id);
    EXPECT_FALSE(place["across the end of b"]);
}

TEST_F(ImportRules, OpsOfOneIntervalKeepTheOrderOfTheFile)
{
    for (std::int64_t i = 0; i < 40; ++i)
        for (const char* name : {"aten::to", "aten::_to_copy", "aten::copy_"})
            op(name, 100 * i, 100 * i + 50);
    op("earlier, so that the rows are not in order", -10, -5);
    finished();
    const std::vector<Op> ops = reader->ops({.run = run});
    for (std::size_t i = 1; i < ops.size(); i += 3) {
        EXPECT_EQ(reader->text(ops[i].name), "aten::to");
        EXPECT_EQ(reader->text(ops[i + 1].name), "aten::_to_copy");
        EXPECT_EQ(ops[i + 1].parent, ops[i].id);
        EXPECT_EQ(ops[i + 2].parent, ops[i + 1].id);
    }
}

TEST_F(ImportRules, OpsOfOneIntervalAreOrderedByTheirIdsIfAllHaveOne)
{
    op("inner", 100, 200, 8);
    op("outer", 100, 200, 7);
    finished();
    EXPECT_THAT(opNames(), ElementsAre("outer", "inner"));
}

TEST_F(ImportRules, ActivitiesWithoutATimeAreLeftOutAndCounted)
{
    constexpr std::int64_t kNow = 1'700'000'000'000'000'000;
    range("step", kNow, kNow + 1'000'000);
    builder.addActivity(kernel("gemm", 1, kNow, kNow + 50));
    builder.addActivity(kernel("no times", 2, 0, 0));
    builder.addActivity(kernel("no start", 3, 0, 50));
    range("of 1970", 5, 10);
    finished();
    EXPECT_EQ(reader->deviceEvents({.run = run}).size(), 1U);
    EXPECT_EQ(losses["no_timestamp"], 3) << details["no_timestamp"];
    EXPECT_EQ(reader->run(run)->result.duration, Nanoseconds(1'000'000));
}

TEST_F(ImportRules, TheHostSaysWhichTimesAreMissingHoweverManyActivitiesLackThem)
{
    constexpr std::int64_t kNow = 1'700'000'000'000'000'000;
    range("step", kNow, kNow + 1'000'000);
    builder.addActivity(kernel("gemm", 1, kNow, kNow + 50));
    for (std::uint32_t i = 2; i < 60; ++i)
        builder.addActivity(kernel("no start", i, 10 * i, 10 * i + 7));
    finished();
    EXPECT_EQ(reader->deviceEvents({.run = run}).size(), 1U);
    EXPECT_EQ(reader->ranges({.run = run}).size(), 1U);
    EXPECT_EQ(losses["no_timestamp"], 58) << details["no_timestamp"];
}

TEST_F(ImportRules, AWeekOfEventsStays)
{
    for (std::int64_t day = 0; day < 7; ++day)
        range("step", day * 24 * 3'600'000'000'000, day * 24 * 3'600'000'000'000 + 5);
    finished();
    EXPECT_EQ(losses["no_timestamp"], 0);
}

TEST_F(ImportRules, DuplicatesAreStoredOnce)
{
    ForeignActivity gemm = kernel("gemm", 5, 30, 40);
    gemm.externalId = 9;
    ForeignActivity copy = kernel("Memcpy HtoD", 6, 50, 60);
    copy.kind = DeviceEventKind::Memcpy;
    copy.bytes = 4096;
    for (int i = 0; i < 2; ++i) {
        builder.addActivity(gemm);
        builder.addActivity(copy);
        builder.addApiCall(thread, "cudaLaunchKernel", 5, at(10), at(12));
        op("aten::mm", 5, 20, 3);
    }
    copy.bytes = 8192;
    builder.addActivity(copy);
    op("aten::mm", 5, 20, 4);
    finished();
    EXPECT_EQ(reader->deviceEvents({.run = run}).size(), 3U) << "a copy of other bytes is another one";
    EXPECT_EQ(losses["duplicate_activity"], 2);
    EXPECT_EQ(reader->apiCalls({.run = run}).size(), 1U);
    EXPECT_EQ(reader->ops({.run = run}).size(), 2U) << "another External id is another op";
    EXPECT_EQ(losses["duplicate_call"], 2);
}

std::vector<std::string> opsOfKernels(const store::RunReader& reader, RunId run)
{
    std::map<OpId, std::string> names;
    for (const Op& each : reader.ops({.run = run}))
        names[each.id] = reader.text(each.name);
    std::vector<std::string> ops;
    for (const DeviceEvent& event : reader.deviceEvents({.run = run}))
        ops.push_back(names[event.op]);
    return ops;
}

TEST_F(ImportRules, OfSeveralCallsWithOneIdAnActivityIsThatOfTheLastOneBeforeIt)
{
    for (int i = 0; i < 3; ++i) {
        const std::int64_t start = 1'000'000 * i;
        op("op" + std::to_string(i), start, start + 100);
        builder.addApiCall(thread, "cudaLaunchKernel", 5, at(start + 10), at(start + 30));
        builder.addApiCall(thread, "cuLaunchKernel", 5, at(start + 12), at(start + 20));
        builder.addActivity(kernel("a", 5, start + 200, start + 300));
        builder.addActivity(kernel("b", 5, start + 300, start + 400)); // of the same graph
    }
    finished();
    EXPECT_THAT(opsOfKernels(*reader, run), ElementsAre("op0", "op0", "op1", "op1", "op2", "op2"));
    std::map<CorrelationId, int> calls;
    for (const ApiCall& call : reader->apiCalls({.run = run}))
        ++calls[call.correlation];
    EXPECT_EQ(calls.size(), 3U) << "nested calls keep one id";
    for (const DeviceEvent& event : reader->deviceEvents({.run = run}))
        EXPECT_EQ(calls[event.correlation], 2);
}

TEST_F(ImportRules, OfAsManyCallsAsActivitiesWithOneIdEachHasItsOwn)
{
    op("first", 0, 40);
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(10), at(30));
    op("second", 50, 90);
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(60), at(80));
    builder.addActivity(kernel("a", 5, 200'000, 300'000)); // both wait until the GPU is free
    builder.addActivity(kernel("b", 5, 300'000, 400'000));
    finished();
    EXPECT_THAT(opsOfKernels(*reader, run), ElementsAre("first", "second"));
}

std::vector<std::int32_t> unjudgedSteps(const store::RunReader& reader, RunId run)
{
    std::vector<std::int32_t> steps;
    for (const query::StepRow& row : query::steps(reader, {.run = run}).rows)
        if (row.verdict() == analysis::StepVerdict::Unjudged)
            steps.push_back(row.step);
    return steps;
}

TEST_F(ImportRules, AKernelThatOutlastsItsSuccessorIsCountedAndItsStepsGetNoVerdict)
{
    for (std::int64_t i = 0; i < 5; ++i) {
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(1000 * i), at(1000 * i + 990),
                         SpanKind::Step);
        const auto correlation = static_cast<std::uint32_t>(i + 1);
        builder.addApiCall(thread, "cudaLaunchKernel", correlation, at(1000 * i + 10), at(1000 * i + 15));
        builder.addActivity(kernel("k", correlation, 1000 * i + 20, i == 1 ? 3500 : 1000 * i + 920));
    }
    finished();
    EXPECT_EQ(losses["outlasts_successor"], 1);
    EXPECT_THAT(unjudgedSteps(*reader, run), ElementsAre(1, 2, 3));
    EXPECT_EQ(reader->deviceEvents({.run = run})[1].end - reader->deviceEvents({.run = run})[1].start,
              Nanoseconds(2480))
        << "it keeps its times";
}

TEST_F(ImportRules, AStepThatWaitsForWhatWasNotRecordedGetsNoVerdict)
{
    constexpr std::int64_t kMs = 1'000'000;
    // The profiler starts while earlier work runs: the copy at the end of step 0 waits for it.
    for (std::int64_t i = 0; i < 3; ++i) {
        const std::int64_t begin = 50 * kMs * i;
        const std::int64_t waits = i == 0 ? 40 * kMs : 0;
        const auto correlation = static_cast<std::uint32_t>(2 * i + 1);
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(begin), at(begin + 49 * kMs),
                         SpanKind::Step);
        builder.addApiCall(thread, "cudaLaunchKernel", correlation, at(begin + 1'000), at(begin + 6'000));
        builder.addApiCall(thread, "cudaMemcpy", correlation + 1, at(begin + 7'000),
                           at(begin + waits + 45'000));
        builder.addActivity(kernel("k", correlation, begin + waits + 12'000, begin + waits + 30'000));
        ForeignActivity copy =
            kernel("copy", correlation + 1, begin + waits + 31'000, begin + waits + 40'000);
        copy.kind = DeviceEventKind::Memcpy;
        builder.addActivity(copy);
    }
    finished();
    EXPECT_THAT(unjudgedSteps(*reader, run), ElementsAre(0));
    const query::StepRow step = query::steps(*reader, {.run = run}).rows.front();
    EXPECT_NEAR(static_cast<double>(step.unrecorded.count()), 40.0 * kMs, 0.02 * kMs);
    EXPECT_GE(step.partition.unexplained, step.unrecorded) << "it is not the host that was slow";
    EXPECT_LT(step.partition.launching.count(), 10 * kMs);
}

TEST_F(ImportRules, KernelsThatOverlapWithoutOutlastingAreNotDoubted)
{
    builder.addActivity(kernel("a", 1, 0, 100));
    builder.addActivity(kernel("launched early", 2, 90, 200));
    ForeignActivity node = kernel("node of a graph", 3, 150, 160);
    node.graphNode = 4;
    builder.addActivity(node);
    ForeignActivity copy = kernel("copy that waits for the kernel before it", 5, 95, 300);
    copy.kind = DeviceEventKind::Memcpy;
    builder.addActivity(copy);
    finished();
    EXPECT_EQ(losses["outlasts_successor"], 0);
}

TEST_F(ImportRules, LaunchesWithoutKernelsAreCountedAndTheirStepsGetNoVerdict)
{
    for (std::int64_t i = 0; i < 4; ++i) {
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(1000 * i), at(1000 * i + 990),
                         SpanKind::Step);
        for (std::int64_t j = 0; j < 6; ++j) {
            const auto correlation = static_cast<std::uint32_t>(10 * i + j + 1);
            const std::int64_t start = 1000 * i + 10 * j;
            builder.addApiCall(thread, "cudaLaunchKernel", correlation, at(start), at(start + 5));
            builder.addApiCall(thread, "cuLaunchKernel", correlation + 5000, at(start + 1), at(start + 4));
            if (i == 0 || (i == 2 && j < 3))
                builder.addActivity(
                    kernel("k", correlation, 1000 * i + 100 + 100 * j, 1000 * i + 190 + 100 * j));
        }
    }
    finished();
    EXPECT_EQ(losses["launch_without_activity"], 6 + 3 + 6) << "the driver's call within is the same launch";
    EXPECT_THAT(unjudgedSteps(*reader, run), ElementsAre(1, 2, 3));
}

TEST_F(ImportRules, LaunchesThatAreCapturedNeedNoKernel)
{
    builder.addApiCall(thread, "cudaStreamBeginCapture", 1, at(0), at(5));
    builder.addApiCall(thread, "cudaLaunchKernel", 2, at(10), at(15));
    builder.addApiCall(thread, "cudaStreamEndCapture", 3, at(20), at(25));
    builder.addApiCall(thread, "cudaGraphLaunch", 4, at(30), at(35));
    builder.addActivity(kernel("k", 4, 40, 50));
    finished();
    EXPECT_EQ(losses["launch_without_activity"], 0);
}

TEST_F(ImportRules, StepsThatTouchAreCutNotDropped)
{
    for (std::int64_t i = 0; i < 4; ++i)
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(1000 * i), at(1000 * i + 1001),
                         SpanKind::Step);
    builder.addRange(thread, "ProfilerStep#9", at(3100), at(3200), SpanKind::Step); // within a step: no step
    finished();
    const std::vector<Sample> samples = reader->samples(run);
    ASSERT_EQ(samples.size(), 4U);
    EXPECT_EQ(samples[0].wall, Nanoseconds(1000));
    EXPECT_EQ(samples[3].wall, Nanoseconds(1001));
    EXPECT_EQ(losses["steps_cut"], 3);
}

TEST_F(ImportRules, DevicesThatAreNotReadAreNamedAndCountInNoFigure)
{
    op("aten::mm", 0, 10);
    const ProcessIndex device = builder.addProcess({.pid = 1003});
    builder.addRange(builder.thread(device, 2), "MatMulV2", at(5), at(50));
    builder.leaveOut(device, "Ascend Hardware");
    finished();
    EXPECT_EQ(losses["device_not_read"], 1);
    EXPECT_THAT(details["device_not_read"], HasSubstr("Ascend Hardware"));
    EXPECT_TRUE(reader->ranges({.run = run}).empty());
    EXPECT_EQ(reader->topology(run).processes.size(), 1U);
    EXPECT_THAT(reader->run(run)->result.flags, ElementsAre("device-not-read: Ascend Hardware"));
    EXPECT_NE(reader->run(run)->result.device, "cpu");
}

TEST_F(ImportRules, TwoFilesOfOneRankAreRefused)
{
    builder.beginSource("a.json");
    builder.addProcess({.rank = 0});
    builder.beginSource("b.json");
    builder.addProcess({.rank = 0});
    op("aten::mm", 0, 10);
    try {
        finished();
        FAIL() << "counted twice";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("b.json: is of rank 0, as is a.json"));
    }
}

TEST_F(ImportRules, ARankMayHaveHadSeveralRecordedProcesses)
{
    for (const char* file : {"a", "b"}) {
        builder.beginSource(file, true);
        builder.addProcess({.rank = 0});
    }
    op("aten::mm", 0, 10);
    EXPECT_NO_THROW(finished());
}

} // namespace
} // namespace tilescope::exchange
