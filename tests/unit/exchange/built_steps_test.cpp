#include "core/base/error.h"
#include "core/exchange/import/trace_builder.h"
#include "core/exchange/tables/sections.h"
#include "core/query/advice/advice_table.h"
#include "core/query/path/path_tables.h"
#include "core/query/steps/step_tables.h"
#include "core/store/run_reader.h"
#include "tests/unit/exchange/trace_building.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Eight periods of two kernels.
/// \param asGraph  one call launches all of them
void addPeriods(TraceBuilder& builder, ThreadId thread,
                const std::function<ForeignActivity(std::string, int, int)>& of, bool asGraph)
{
    for (int i = 0; i < 16; ++i) {
        const int correlation = asGraph ? 1 : i + 1;
        if (!asGraph || i == 0)
            builder.addApiCall(thread, asGraph ? "cudaGraphLaunch" : "cudaLaunchKernel",
                               static_cast<std::uint32_t>(correlation), timestampAt(100 * i),
                               timestampAt(100 * i + 10));
        builder.addActivity(of(i % 2 == 0 ? "gemm" : "softmax", correlation, 100 * i + 20));
    }
}

TEST_F(TraceBuilding, PeriodsOfOneGraphAreLayersAndNoSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    addPeriods(
        builder, thread,
        [&](const std::string& name, int correlation, int start) {
            return kernel(process, name, static_cast<std::uint32_t>(correlation), start, start + 50);
        },
        true);
    const store::RunReader reader = finished();
    EXPECT_TRUE(query::stepsOf(reader, run).empty());
}

TEST_F(TraceBuilding, PeriodsOfSeparateLaunchesAreSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    addPeriods(
        builder, thread,
        [&](const std::string& name, int correlation, int start) {
            return kernel(process, name, static_cast<std::uint32_t>(correlation), start, start + 50);
        },
        false);
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_GE(rows.size(), 7U);
    EXPECT_EQ(rows.front().source, "inferred");
}

TEST_F(TraceBuilding, StepsOfTheTypeThatTakesMostOfTheTimeAreTypical)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    for (int i = 0; i < 10; ++i) {
        const bool validates = i == 4 || i == 9;
        builder.addRange(thread, (validates ? "eval_step " : "train_step ") + std::to_string(i),
                         at(1'000'000 * i), at(1'000'000 * i + (validates ? 300'000 : 900'000)));
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 10U);
    for (const query::StepRow& row : rows) {
        const bool validates = row.step == 4 || row.step == 9;
        EXPECT_EQ(row.type, validates ? StepType::Validation : StepType::Train) << row.step;
        EXPECT_EQ(row.leftOut, validates ? "is of type validation" : "") << row.step;
        EXPECT_EQ(row.source, "range");
    }
    const query::StepChoice choice = query::stepChoice(reader, run);
    EXPECT_THAT(choice.summary, HasSubstr("8 of 10 steps; steps 4 and 9 are of type validation"));
    EXPECT_TRUE(query::stepChoice(reader, run, {.allSteps = true}).leftOut.empty());
    const Table table =
        tableOf(std::make_shared<const query::StepsTable>(query::steps(reader, {.run = run})));
    EXPECT_THAT(table.notes,
                Contains(HasSubstr("8 train steps, mean 900 µs; 2 validation steps, mean 300 µs")));
    const Table paths =
        pathsOf(std::make_shared<const query::PathTable>(query::criticalPaths(reader, {.run = run})));
    EXPECT_THAT(paths.notes, Contains(HasSubstr("Mean of 8 typical steps: 900 µs")));
    EXPECT_THAT(paths.notes, Contains(HasSubstr("Mean of 2 validation steps: 300 µs")));
}

TEST_F(TraceBuilding, AMarkAtTheEndOfTheRecordingIsNoTypicalStep)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "ProfilerStep#1", at(0), at(9'290'000));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1'000), at(2'000));
    builder.addActivity(kernel(process, "gemm", 5, 10'000, 900'000));
    builder.addRange(thread, "ProfilerStep#2", at(9'290'000), at(9'340'000));
    const store::RunReader reader = finished();
    const query::StepChoice choice = query::stepChoice(reader, run);
    EXPECT_EQ(choice.summary, "1 of 2 steps; step 2 has no work for the GPU (50.0 µs)");
    EXPECT_TRUE(choice.isTypical(0, 1)) << "the only step with work";
    EXPECT_EQ(choice.whyNot(0, 2), "has no work for the GPU, unlike the others");
}

TEST_F(TraceBuilding, TimeBeforeTheFirstStepHasItsCauses)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    constexpr std::int64_t kSecond = 1'000'000'000;
    builder.addApiCall(thread, "cudaDeviceGetStreamPriorityRange", 1, at(0), at(4 * kSecond));
    builder.addRange(thread, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at(4 * kSecond),
                     at(4 * kSecond + kSecond / 2));
    for (int i = 0; i < 2; ++i)
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at((5 + i) * kSecond),
                         at((6 + i) * kSecond));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(5 * kSecond + 1'000), at(5 * kSecond + 2'000));
    builder.addActivity(kernel(process, "gemm", 5, 5 * kSecond + 10'000, 5 * kSecond + 900'000));
    const store::RunReader reader = finished();
    const std::optional<query::StartPhase> start = query::startPhase(reader, run);
    ASSERT_TRUE(start);
    EXPECT_EQ(start->time.length().count(), 5 * kSecond);
    EXPECT_EQ(
        start->text(),
        "Before the first step: 5.00 s, of which 4.00 s of CUDA initialisation and 500 ms of data loading.");
}

TEST_F(TraceBuilding, ARecordingThatBeginsWithItsFirstStepHasNoTimeBefore)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "ProfilerStep#0", at(0), at(1'000'000));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1'000), at(2'000));
    builder.addActivity(kernel(process, "gemm", 5, 10'000, 900'000));
    const store::RunReader reader = finished();
    EXPECT_FALSE(query::startPhase(reader, run));
}

TEST_F(TraceBuilding, AStepWhoseGpuWaitsForDataIsDataBound)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    const ThreadId other = builder.thread(process, 2);
    for (int i = 0; i < 2; ++i) {
        const std::int64_t start = i * 1'000'000;
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(start), at(start + 1'000'000));
        // In the second step, another thread loads.
        builder.addRange(i == 0 ? thread : other,
                         "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at(start + 1'000),
                         at(start + 700'000));
        builder.addApiCall(thread, "cudaLaunchKernel", 5 + static_cast<std::uint32_t>(i), at(start + 710'000),
                           at(start + 715'000));
        builder.addActivity(
            kernel(process, "gemm", 5 + static_cast<std::uint32_t>(i), start + 720'000, start + 900'000));
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(wordOf(rows[0].verdict()), "data-bound");
    EXPECT_EQ(wordOf(rows[1].verdict()), "launch-bound");
    const Table table =
        tableOf(std::make_shared<const query::StepsTable>(query::steps(reader, {.run = run})));
    const auto why = std::ranges::find(table.columns, "why", &Column::key);
    ASSERT_NE(why, table.columns.end());
    EXPECT_THAT(std::get<std::string>(why->cell(0)), HasSubstr("most of it to load data"));
}

TEST_F(TraceBuilding, AStepInWhichACollectiveWaitsForALateRankIsRankBound)
{
    for (int rank = 0; rank < 2; ++rank) {
        const ProcessIndex process = builder.addProcess({.pid = 10 + rank, .rank = rank});
        const ThreadId thread = builder.thread(process, 100 + rank);
        const std::int64_t late = rank == 0 ? 0 : 700'000; // its host is slow
        builder.addRange(thread, "ProfilerStep#0", at(0), at(1'000'000), SpanKind::Step);
        builder.addApiCall(thread, "cudaLaunchKernel", 1, at(2'000), at(5'000));
        builder.addActivity(kernel(process, "gemm", 1, 10'000, 200'000));
        builder.addApiCall(thread, "cudaLaunchKernel", 2, at(late + 202'000), at(late + 205'000));
        builder.addActivity(
            kernel(process, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, late + 210'000, 1'000'000));
        builder.addCollective(
            process, {.op = "all_reduce", .group = "0", .ranks = "0,1", .bytes = 8, .groupSize = 2}, 2);
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(wordOf(rows[0].verdict()), "rank-bound");
    EXPECT_EQ(wordOf(rows[1].verdict()), "launch-bound") << "the late one";
}

// The kernels of a replayed graph share the number of its launch.
TEST_F(TraceBuilding, ComputationBesideAWaitingCollectiveOfOneGraphIsWork)
{
    for (int rank = 0; rank < 2; ++rank) {
        const ProcessIndex process = builder.addProcess({.pid = 10 + rank, .rank = rank});
        const ThreadId thread = builder.thread(process, 100 + rank);
        const std::int64_t late = rank == 0 ? 0 : 700'000;
        builder.addRange(thread, "ProfilerStep#0", at(0), at(1'000'000), SpanKind::Step);
        builder.addApiCall(thread, "cudaGraphLaunch", 2, at(2'000), at(5'000));
        builder.addActivity(
            kernel(process, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, late + 10'000, 1'000'000));
        ForeignActivity gemm = kernel(process, "gemm", 2, 12'000, 990'000);
        gemm.stream = builder.stream(process, gemm.device, 8);
        builder.addActivity(gemm);
        builder.addCollective(
            process, {.op = "all_reduce", .group = "0", .ranks = "0,1", .bytes = 8, .groupSize = 2}, 2);
    }
    const store::RunReader reader = finished();
    const std::vector<query::StepRow> rows = query::stepsOf(reader, run);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_FALSE(rows[0].waitsForRanks);
    EXPECT_NE(wordOf(rows[0].verdict()), "rank-bound");
}

TEST_F(TraceBuilding, AMeanIsOfTheProcessesThatHaveSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1, .name = "python"});
    const ProcessIndex helper = builder.addProcess({.pid = 2, .name = "python"});
    const ThreadId thread = builder.thread(process, 1);
    for (int i = 0; i < 2; ++i)
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(i * 1'000'000),
                         at((i + 1) * 1'000'000));
    builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1'000), at(2'000));
    builder.addActivity(kernel(process, "gemm", 5, 10'000, 900'000));
    builder.addActivity(kernel(helper, "gemm", 6, 10'000, 20'000));
    const store::RunReader reader = finished();
    EXPECT_EQ(query::advice(reader, run).process, "python 1");
}

TEST_F(TraceBuilding, ModulesInTheClosureOfAnOptimizerAreNoPartOfIt)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    builder.addRange(thread, "ProfilerStep#1", at(0), at(100), SpanKind::Step);
    builder.addRange(thread, "Optimizer.step#LBFGS.step", at(10), at(90));
    builder.addRange(thread, "Net_0", at(20), at(50), SpanKind::Module);
    builder.addRange(thread, "Linear_0", at(30), at(40), SpanKind::Module);
    const store::RunReader reader = finished();
    std::vector<std::string> paths;
    reader.eachRange({.run = run}, [&](const Range& range) {
        paths.emplace_back(reader.text(range.path));
        return true;
    });
    EXPECT_THAT(paths, ::testing::UnorderedElementsAre("step", "step/Optimizer.step#LBFGS.step", "step/Net_0",
                                                       "step/Net_0/Linear_0"));
}

TEST_F(TraceBuilding, TheUserSaysWhichRangesAreSteps)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    const ThreadId thread = builder.thread(process, 1);
    for (int i = 0; i < 3; ++i) {
        builder.addRange(thread, "ProfilerStep#" + std::to_string(i), at(100 * i), at(100 * i + 90),
                         SpanKind::Step);
        builder.addRange(thread, "microbatch " + std::to_string(2 * i), at(100 * i), at(100 * i + 40));
        builder.addRange(thread, "microbatch " + std::to_string(2 * i + 1), at(100 * i + 40),
                         at(100 * i + 90));
    }
    run = builder.finish({.name = "x.json", .format = "test", .stepsBy = "microbatch"}, file, {});
    const std::vector<query::StepRow> rows = query::stepsOf(store::RunReader(file), run);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_EQ(rows[5].step, 5);
    EXPECT_EQ(rows[5].source, "user");
}

TEST_F(TraceBuilding, AnUnknownNameOfStepsIsRefusedWithTheNamesThatAreThere)
{
    const ProcessIndex process = builder.addProcess({.pid = 1});
    builder.addRange(builder.thread(process, 1), "epoch 1", at(0), at(100));
    try {
        builder.finish({.name = "x.json", .format = "test", .stepsBy = "step"}, file, {});
        FAIL() << "no range has this name";
    } catch (const Error& error) {
        EXPECT_EQ(error.what, "no range is named 'step'");
        EXPECT_THAT(error.remedy, HasSubstr("'epoch' (1)"));
    }
}

} // namespace
} // namespace tilescope::exchange
