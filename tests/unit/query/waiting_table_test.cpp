#include "core/query/waiting/waiting_table.h"

#include "core/base/error.h"
#include "core/query/advice/advice_table.h"
#include "core/query/advice/waiting_advice.h"
#include "core/query/calls/flame_graph.h"
#include "core/query/calls/idle_tree.h"
#include "core/query/waiting/compared_lines.h"
#include "core/query/waiting/source_folders.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/waiting_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace tilescope::query {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WaitingTables : public ::testing::Test {
protected:
    WaitingTables()
    {
        test::writeWaitingFile(folder_ / "a.tscope", folder_ / "program");
        reader_.emplace(folder_ / "a.tscope");
    }
    WaitingRecords records(const WaitingScope& scope = {.run = RunId{1}}) const
    {
        return waitingRecords(*reader_, scope);
    }

    testing::TemporaryFolder folder_;
    std::optional<store::RunReader> reader_;
};

Nanoseconds sumOf(const WaitingTable& table)
{
    Nanoseconds sum{0};
    for (const WaitingRow& row : table.rows)
        sum += row.idle;
    return sum;
}

TEST_F(WaitingTables, RowsOfEachGroupingAddUpToTheIdleTime)
{
    const WaitingRecords all = records();
    EXPECT_GT(all.idle().count(), 0);
    EXPECT_EQ(all.steps, 12);
    for (const auto group : {WaitingGroup::Line, WaitingGroup::Innermost, WaitingGroup::Function,
                             WaitingGroup::Place, WaitingGroup::Cause, WaitingGroup::Thread})
        EXPECT_EQ(sumOf(waitingTable(all, group)), all.idle()) << wordOf(group);
}

TEST_F(WaitingTables, CausesOfARowAddUpToItsTime)
{
    for (const auto group : {WaitingGroup::Line, WaitingGroup::Innermost, WaitingGroup::Cause})
        for (const WaitingRow& row : waitingTable(records(), group).rows) {
            double sum = 0;
            for (const CauseTime& part : row.causes)
                sum += part.time;
            EXPECT_NEAR(sum, static_cast<double>(row.idle.count()), 100) << row.cause;
        }
}

TEST_F(WaitingTables, NameTheCudaCallsOfTheirTime)
{
    for (const WaitingRow& row : waitingTable(records(), WaitingGroup::Cause).rows)
        EXPECT_EQ(row.calls, row.cause == "synchronization" ? "cudaStreamSynchronize" : "") << row.cause;
    for (const WaitingRow& row : waitingTable(records(), WaitingGroup::Line).rows) {
        const bool waits = row.line && row.line->line == 19;
        EXPECT_EQ(row.calls, waits ? "cudaStreamSynchronize" : "");
    }
}

TEST_F(WaitingTables, AGroupingOfAnyCodeNamesLinesOfLibraries)
{
    const auto has = [](const WaitingTable& table, const std::string& file) {
        return std::ranges::any_of(table.rows,
                                   [&](const WaitingRow& row) { return row.line && row.line->file == file; });
    };
    EXPECT_FALSE(has(waitingTable(records(), WaitingGroup::Line), "torch/autograd/graph.py"));
    EXPECT_TRUE(has(waitingTable(records(), WaitingGroup::Innermost), "torch/autograd/graph.py"));
}

TEST_F(WaitingTables, TheTreeHasTheTimesOfTheTable)
{
    const WaitingRecords all = records();
    const CallTreeTable tree = idleTree(all);
    EXPECT_EQ(tree.tree.totalAmount(), all.idle().count());
    std::map<std::string, double> causes;
    for (CallTree::Node node = 1; node < tree.tree.entries().size(); ++node) {
        const CallTree::Node cause =
            tree.tree.entries()[node].kind == CallKind::Call ? tree.tree.entries()[node].parent : node;
        causes[tree.tree.nameOf(cause)] += static_cast<double>(tree.tree.entries()[node].amount);
    }
    for (const WaitingRow& row : waitingTable(all, WaitingGroup::Cause).rows)
        EXPECT_NEAR(causes[row.cause], static_cast<double>(row.idle.count()),
                    1e-6 * static_cast<double>(all.idle().count()))
            << row.cause;
}

TEST_F(WaitingTables, TheInvertedTreeBeginsWithCausesAndKeepsTheirColours)
{
    const FlameGraph graph = flameGraph(idleTree(records()), true);
    EXPECT_EQ(graph.width(), records().idle().count());
    for (const FlameBox& box : graph.rows.front())
        EXPECT_TRUE(box.hue.isWait()) << graph.labels[box.label];
}

TEST_F(WaitingTables, BoxesOfFunctionsHaveShortLabels)
{
    const FlameGraph graph = flameGraph(idleTree(records()), false);
    EXPECT_NE(std::ranges::find(graph.labels, "train_step (train.py)"), graph.labels.end());
}

TEST_F(WaitingTables, ATimeSpanCutsTheIdleTime)
{
    const TimeSpan first{Nanoseconds(0), Nanoseconds(60'000'000)};
    const TimeSpan rest{first.to, Nanoseconds::max()};
    const WaitingRecords before = records({.run = RunId{1}, .span = first});
    EXPECT_EQ(before.steps, 0);
    // What lies before the first work of the recording follows no work, and is not counted.
    EXPECT_LE(before.idle() + before.busy(), first.to);
    EXPECT_GT(before.idle() + before.busy(), first.to - Nanoseconds(3'000'000));
    EXPECT_GT(records({.run = RunId{1}, .span = rest}).idle(), before.idle());
}

TEST_F(WaitingTables, SayWhyThereIsNothing)
{
    EXPECT_THAT(waitingTable(records({.run = RunId{3}}), WaitingGroup::Line).whyEmpty,
                HasSubstr("holds no stacks of Python at launches"));
    EXPECT_THAT(idleTree(records({.run = RunId{1}, .step = 99})).whyEmpty, HasSubstr("has no such step"));
    EXPECT_THROW(callTree(*reader_, {.run = RunId{1}, .rangeGlob = "step"}, {.weight = CallWeight::Idle}),
                 Error);
}

TEST_F(WaitingTables, TwoRunsAreComparedByAMeanStep)
{
    const CallTreeDifference difference = callTreeDifference(*reader_, {.run = RunId{1}}, *reader_,
                                                             {.run = RunId{2}}, {.weight = CallWeight::Idle});
    EXPECT_EQ(difference.stepsA, 12);
    EXPECT_NEAR(static_cast<double>(difference.totalA.front()),
                static_cast<double>(records().idle().count()) / 12.0, 1000);
    EXPECT_LT(difference.totalB.front(), difference.totalA.front());
}

TEST_F(WaitingTables, TwoRunsAreComparedByLine)
{
    const WaitingTable a = waitingTable(records(), WaitingGroup::Line);
    const WaitingTable b = waitingTable(records({.run = RunId{2}}), WaitingGroup::Line);
    const std::vector<ComparedLine> lines = comparedLines(a, b);
    double sumA = 0;
    double sumB = 0;
    for (const ComparedLine& line : lines) {
        EXPECT_TRUE(line.a || line.b);
        sumA += line.a.value_or(0);
        sumB += line.b.value_or(0);
    }
    EXPECT_NEAR(sumA, a.perGpuStep(a.idle), 1);
    EXPECT_NEAR(sumB, b.perGpuStep(b.idle), 1);
    for (std::size_t i = 0; i < a.rows.size(); ++i)
        EXPECT_NEAR(lines[i].a.value_or(0), WaitingTable::perStep(a.rows[i]), 1)
            << "the lines of A are in its order";
    EXPECT_TRUE(comparedLines({}, {}).empty());
}

TEST_F(WaitingTables, SayWhenTheHostIsTheNextToLimit)
{
    WaitingTable table = waitingTable(records(), WaitingGroup::Line);
    EXPECT_GT(table.lead.launches, 0);
    EXPECT_GT(table.lead.work.count(), 0);
    EXPECT_FALSE(table.isHostBoundNext()) << "the GPU waits for the host already";
    table.idle = Nanoseconds(1'000);
    table.busy = Nanoseconds(100'000);
    table.lead.work = Nanoseconds(100'001);
    EXPECT_TRUE(table.isHostBoundNext());
    table.lead.work = table.busy;
    EXPECT_FALSE(table.isHostBoundNext());
}

class WaitingOfRanks : public ::testing::Test {
protected:
    WaitingTable table(const testing::FakeRanks& facts, const ProcessQuery& topology = {})
    {
        testing::writeFakeRanks(folder_ / "ranks.tscope", facts);
        return waiting(store::RunReader(folder_ / "ranks.tscope"), {.topology = topology},
                       WaitingGroup::Line);
    }

    testing::TemporaryFolder folder_;
};

// Rank 0 waits for 2 ms in the all-reduce of layers.1, in 1.2 of which it computes layers.0, and for 0.8 ms in that of layers.0.
TEST_F(WaitingOfRanks, NamesTheRankThatAnotherOneWaitsFor)
{
    const WaitingTable all = table({.hasStacks = true});
    ASSERT_EQ(all.peers.size(), 1U);
    const PeerWait& wait = all.peers.front();
    EXPECT_EQ(wait.title, "rank 0");
    EXPECT_EQ(wait.last, "rank 1");
    EXPECT_EQ(wait.lastRank, 1);
    EXPECT_EQ(wait.time, Nanoseconds(8 * 1'600'000));
    EXPECT_EQ(wait.perStep(), 1'600'000);
    EXPECT_EQ(wait.waitsIn, 8);
    EXPECT_EQ(wait.steps, 8);
    EXPECT_FALSE(wait.isOnHost);
    EXPECT_EQ(table({.hasStacks = true}, {.rank = 0}).peers.size(), 1U);
    EXPECT_TRUE(table({.hasStacks = true}, {.rank = 1}).peers.empty()) << "rank 1 waits for no other one";
}

TEST_F(WaitingOfRanks, IsSilentWhereNoneIsLate)
{
    EXPECT_TRUE(table({.delay = 0, .hasStacks = true}).peers.empty());
}

TEST_F(WaitingOfRanks, FindsTheLineOfTheLateRank)
{
    const WaitingTable late = table({.hasStacks = true}, {.rank = 1});
    const auto row = std::ranges::find_if(
        late.rows, [](const WaitingRow& each) { return each.line && each.line->line == 8; });
    ASSERT_NE(row, late.rows.end());
    // Its host stalls for 2 ms, in the first 0.4 of which its GPU has the all-reduce of layers.2.
    EXPECT_NEAR(WaitingTable::perStep(*row), 1.6e6, 0.1e6);
}

TEST_F(WaitingOfRanks, GivesMeansOfTheGpus)
{
    const WaitingTable all = table({.hasStacks = true});
    const WaitingTable one = table({.hasStacks = true}, {.rank = 0});
    const WaitingTable other = table({.hasStacks = true}, {.rank = 1});
    ASSERT_EQ(all.gpus.size(), 2U);
    EXPECT_EQ(all.gpus[0].title, "rank 0");
    EXPECT_EQ(all.gpus[1].title, "rank 1");
    EXPECT_EQ(all.gpus[0].idle, one.idle);
    EXPECT_EQ(all.gpus[1].idle, other.idle);
    EXPECT_EQ(all.idle, one.idle + other.idle);
    EXPECT_EQ(2 * all.perGpuStep(all.idle), one.perGpuStep(one.idle) + other.perGpuStep(other.idle));
    EXPECT_EQ(2 * all.perProcessStep(all.lead.work),
              one.perProcessStep(one.lead.work) + other.perProcessStep(other.lead.work));
}

TEST_F(WaitingTables, AdviceNamesTheLine)
{
    const AdviceTable table = advice(*reader_, RunId{1});
    EXPECT_TRUE(table.hasHostStacks);
    const auto found = [&](analysis::AdviceRule rule) {
        const auto row = std::ranges::find(table.rows, rule, &Advice::rule);
        return row == table.rows.end() ? std::string() : row->sentence;
    };
    EXPECT_THAT(found(analysis::AdviceRule::LaunchBound), HasSubstr("Most at train.py:15 in train_step: "));
    EXPECT_THAT(found(analysis::AdviceRule::LaunchBound),
                HasSubstr("are below LlamaForCausalLM, forward of "
                          "transformers/models/llama/modeling_llama.py:26: compile that module."));
    EXPECT_THAT(found(analysis::AdviceRule::Synchronization),
                HasSubstr("Most at train.py:19 in train_step: "));
    EXPECT_THAT(found(analysis::AdviceRule::HostOptimizer), HasSubstr("Most at train.py:17 in train_step: "));
    EXPECT_THAT(found(analysis::AdviceRule::Logging), HasSubstr("Most at train.py:26 in main: "));
    EXPECT_FALSE(advice(*reader_, RunId{3}).hasHostStacks);
}

TEST_F(WaitingTables, AdviceKnowsTheTimeOfALineAsWellAsTheTable)
{
    using enum analysis::HostCause;
    const WaitingRecords all = records();
    const std::vector<WaitingLine> lines = WaitingAdvice(all).linesOf(
        {Python, Native, Backward, Optimizer, DataLoading, Compilation, Logging, Import, GarbageCollection,
         InterpreterLock, Allocator, CudaCalls, Synchronization, OtherRanks, OffCore, OtherProcesses,
         Launching, Queued, Unexplained});
    std::size_t ofSeveralCauses = 0;
    for (const WaitingRow& row : waitingTable(all, WaitingGroup::Line).rows) {
        if (!row.line || !row.interval)
            continue;
        const auto place =
            row.line->file + ":" + std::to_string(row.line->line) + " in " + row.line->function;
        const auto line = std::ranges::find(lines, place, &WaitingLine::place);
        ASSERT_NE(line, lines.end()) << place;
        ASSERT_TRUE(line->interval) << place;
        EXPECT_GE(line->interval->low, row.interval->low) << place;
        EXPECT_LE(line->interval->high, row.interval->high) << place;
        if (row.causes.size() > 1)
            ++ofSeveralCauses;
    }
    EXPECT_GT(ofSeveralCauses, 0U);
}

/// The sentence of a finding about a file with a trace, whose kernels one thread launches, and its samples.
std::string sentenceOf(analysis::AdviceRule rule, const std::filesystem::path& file,
                       testing::FakeTrace& trace, HostSamples samples)
{
    TraceBatch batch = trace.batch();
    for (DeviceEvent& event : batch.deviceEvents)
        event.launchThread = ThreadId{1};
    store::RunWriter writer(file, trace.strings());
    writer.beginRun({.name = "python train.py",
                     .workload = "trace",
                     .specJson = R"-({"workload":"trace","format":"recording","file":"train"})-",
                     .specHash = "hash",
                     .program = "Tilescope test"});
    writer.writeEnvironment(std::vector<EnvironmentEntry>{
        {"record.host_samples", "10000 samples a second, 0.1 % of the wake-ups late", ""}});
    writer.write(batch);
    writer.writeHostSamples({&samples, 1});
    RunResult result;
    result.device = "cuda:0";
    writer.endRun(result);
    const AdviceTable table = advice(store::RunReader(file), {});
    const auto row = std::ranges::find(table.rows, rule, &Advice::rule);
    return row == table.rows.end() ? std::string() : row->sentence;
}

/// The sentence of the finding about synchronization of two steps of 10 ms, in each of which one call waits.
/// \param from    when the call begins; the GPU works until 1 ms after the step's start
/// \param until   when it ends, and the next kernel is launched
/// \param loading  from when until the call's end the thread is in a range that loads data
std::string synchronizationAt(const std::filesystem::path& file, std::int64_t from, std::int64_t until,
                              std::optional<std::int64_t> loading = {})
{
    constexpr std::int64_t kStep = 10'000'000;
    testing::FakeTrace trace;
    HostSamples samples{.stacks = {{kNoStack, "train.py(3): step", 7}}, .threads = {{ThreadId{1}, {}}}};
    std::vector<HostSample>& taken = samples.threads[0].samples;
    for (int i = 0; i < 2; ++i) {
        const std::int64_t start = kStep * (i + 1);
        trace.step(i, start, start + kStep);
        taken.push_back({timestampAt(start), 0, SampleState::kLaunch});
        trace.kernel("a", start + 5'000, start + 1'000'000).launchedAt(start);
        trace.call("cudaStreamSynchronize", ApiKind::Synchronize, start + from, start + until);
        if (loading)
            trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + *loading,
                        start + until);
        for (std::int64_t at = from + 50'000; at < until; at += 100'000)
            taken.push_back({timestampAt(start + at), 0, SampleState::kInCall});
        taken.push_back({timestampAt(start + until + 1'000), 0, SampleState::kLaunch});
        trace.kernel("b", start + until + 6'000, start + kStep).launchedAt(start + until + 1'000);
    }
    return sentenceOf(analysis::AdviceRule::Synchronization, file, trace, std::move(samples));
}

TEST_F(WaitingTables, AdviceNamesNoLineThatTakesMoreThanIsAtStake)
{
    const std::string all = synchronizationAt(folder_ / "all.tscope", 0, 1'200'000);
    EXPECT_THAT(all, HasSubstr("Most at train.py:7 in step: ")) << "the wait is what is at stake";
    // Of 5 ms of idle time in the call, most counts as loading of data.
    const std::string little = synchronizationAt(folder_ / "little.tscope", 800'000, 6'000'000, 1'200'000);
    EXPECT_THAT(little, HasSubstr("The GPU is idle for 201 µs"));
    EXPECT_THAT(little, Not(HasSubstr("Most at")));
}

/// The sentence about launches of four steps, in each of which five pairs of kernels follow each other. Before the second kernel of
/// the first pair the host does something for 5 ms.
std::string launchingAt(const std::filesystem::path& file, std::uint32_t does)
{
    constexpr std::int64_t kStep = 10'000'000;
    testing::FakeTrace trace;
    HostSamples samples{.stacks = {{kNoStack, "train.py(3): step", 7}, {kNoStack, "train.py(3): step", 9}},
                        .threads = {{ThreadId{1}, {}}}};
    std::vector<HostSample>& taken = samples.threads[0].samples;
    for (int i = 0; i < 4; ++i) {
        std::int64_t at = kStep * (i + 1);
        trace.step(i, at, at + 5'220'000);
        const auto launch = [&](std::uint32_t stack) {
            taken.push_back({timestampAt(at), stack, SampleState::kLaunch});
            trace.kernel("a", at + 4'000, at + 8'000).launchedAt(at);
        };
        for (int pair = 0; pair < 5; ++pair) {
            launch(0);
            const std::int64_t next = at + (pair == 0 ? 5'000'000 : 30'000);
            for (std::int64_t sample = at + 50'000; sample < next; sample += 100'000)
                taken.push_back({timestampAt(sample), 1, does});
            at = next;
            launch(1);
            at += 20'000;
        }
    }
    return sentenceOf(analysis::AdviceRule::LaunchBound, file, trace, std::move(samples));
}

TEST_F(WaitingTables, AdviceTellsOfPlacesWhereFewWaitsAreLong)
{
    EXPECT_THAT(launchingAt(folder_ / "long.tscope", SampleState::kRan),
                HasSubstr("Between train.py:7 and train.py:9, 4 of 20 waits take 90 % of "));
    EXPECT_THAT(launchingAt(folder_ / "collects.tscope", SampleState::kRan | SampleState::kCollects),
                Not(HasSubstr("Between")))
        << "another finding tells of it";
}

TEST_F(WaitingTables, AdviceNamesTheLineOfAWaitAfterTheLastLaunchOfAStep)
{
    constexpr std::int64_t kStep = 10'000'000;
    testing::FakeTrace trace;
    HostSamples samples{.stacks = {{kNoStack, "train.py(3): step", 7}, {kNoStack, "train.py(3): step", 9}},
                        .threads = {{ThreadId{1}, {}}}};
    std::vector<HostSample>& taken = samples.threads[0].samples;
    for (int i = 0; i < 4; ++i) {
        const std::int64_t start = kStep * (i + 1);
        trace.step(i, start, start + kStep);
        for (const std::int64_t launch : {std::int64_t{0}, std::int64_t{1'500'000}}) {
            taken.push_back({timestampAt(start + launch), 0, SampleState::kLaunch});
            trace.kernel("a", start + launch + 5'000, start + launch + 1'000'000).launchedAt(start + launch);
        }
        for (std::int64_t at = 2'600'000; at < kStep; at += 100'000)
            taken.push_back({timestampAt(start + at), 1, SampleState::kRan});
    }
    const std::string sentence =
        sentenceOf(analysis::AdviceRule::LaunchBound, folder_ / "end.tscope", trace, std::move(samples));
    EXPECT_THAT(sentence, HasSubstr("Most at train.py:9 in step: "));
}

TEST_F(WaitingTables, SourceIsOfTheFileThatRan)
{
    const SourceFolders folders = sourceFolders(*reader_, RunId{1});
    const SourceText source = sourceOf(folders, "train.py(14): train_step", "here");
    ASSERT_GE(source.lines.size(), 15U) << source.why;
    EXPECT_EQ(source.lines[14], "    loss = model(tokens, labels=tokens).loss");
    EXPECT_FALSE(
        sourceOf(folders, "transformers/models/llama/modeling_llama.py(11): forward", "here").lines.empty());
    EXPECT_THAT(sourceOf(folders, "train.py(15): train_step", "here").why,
                HasSubstr("it is not the file that ran"));
    EXPECT_THAT(sourceOf(folders, "other.py(1): f", "here").why, HasSubstr("recorded on node"));
    EXPECT_THAT(sourceOf(folders, "other.py(1): f", "node").why, HasSubstr("is not where it was recorded"));
    EXPECT_THAT(sourceOf(folders, "<string>(1): <module>", "node").why, HasSubstr("has no source file"));
    std::filesystem::last_write_time(folder_ / "program" / "train.py",
                                     std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
    EXPECT_THAT(sourceOf(folders, "train.py(14): train_step", "here").why,
                HasSubstr("changed after the run began"));
}

} // namespace
} // namespace tilescope::query
