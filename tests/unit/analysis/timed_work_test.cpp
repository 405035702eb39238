#include "core/analysis/work/timed_work.h"

#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;
using tilescope::testing::FakeTrace;

/// One step: addmm within linear launches two kernels, a softmax one, an op without a rule one.
FakeTrace stepOnGpu()
{
    FakeTrace trace;
    trace.step(0, 0, 1000).range("step/forward", 0, 1000);
    trace.op("aten::linear", 0, 90).at("step/forward/ffn").shaped("[2, 3] [5, 3] [5]");
    const OpId linear = trace.lastOp();
    trace.op("aten::addmm", 10, 80, linear).at("step/forward/ffn").shaped("[5] [2, 3] [3, 5]");
    trace.kernel("nvjet gemm", 100, 150).at("step/forward/ffn").by(trace.lastOp());
    trace.kernel("splitKreduce", 150, 160).at("step/forward/ffn").by(trace.lastOp());
    trace.op("aten::_softmax", 90, 95).at("step/forward/attention").shaped("[4, 8]");
    trace.kernel("softmax", 200, 240).at("step/forward/attention").by(trace.lastOp());
    trace.op("aten::mystery", 96, 99).at("step/forward/attention");
    trace.kernel("mystery", 300, 330).at("step/forward/attention").by(trace.lastOp());
    trace.kernel("orphan", 400, 407);
    trace.betweenSteps().kernel("nvjet gemm", 2000, 2100);
    return trace;
}

KernelFamily familyOf(const FakeTrace& trace, const DeviceEvent& event)
{
    const auto name = trace.textOf()(event.name);
    return name == "softmax"        ? KernelFamily::Softmax
           : name == "splitKreduce" ? KernelFamily::Reduction
           : name == "nvjet gemm"   ? KernelFamily::Matmul
                                    : KernelFamily::Other;
}

std::vector<TimedWork> itemsOf(const FakeTrace& trace)
{
    return timedWorkOfOps(trace.batch().ops, trace.batch().deviceEvents, trace.textOf(),
                          [&](const DeviceEvent& event) { return familyOf(trace, event); }, {});
}

std::vector<KernelWork> workPerKernel(const FakeTrace& trace)
{
    return workOfKernels(trace.batch().ops, trace.batch().deviceEvents, trace.textOf(),
                         [&](const DeviceEvent& event) { return familyOf(trace, event); }, {});
}

const WorkTotal& totalOf(const std::vector<WorkTotal>& totals, std::string_view key)
{
    const auto found =
        std::find_if(totals.begin(), totals.end(), [&](const WorkTotal& t) { return t.key == key; });
    EXPECT_NE(found, totals.end()) << key;
    return *found;
}

} // namespace

TEST(TimedWork, TheOutermostOpWithARuleOwnsTheKernelsWithinIt)
{
    const FakeTrace trace = stepOnGpu();
    const auto totals =
        workTotals(itemsOf(trace), [](const TimedWork& item, const auto& group) { group(item.op); });
    ASSERT_EQ(totals.size(), 4u);
    EXPECT_EQ(totals[0].key, "aten::linear");
    EXPECT_EQ(totals[0].time, 60_ns); // both kernels
    EXPECT_EQ(totals[0].countedTime, 60_ns);
    EXPECT_EQ(totals[0].work, (Work{{60}, {4 * 36}}));
    EXPECT_EQ(totalOf(totals, "aten::_softmax").work, (Work{{160}, {256}}));
    EXPECT_EQ(totalOf(totals, "aten::mystery").countedTime, 0_ns);
    EXPECT_EQ(totalOf(totals, "aten::mystery").time, 30_ns);
    EXPECT_EQ(totalOf(totals, "").time, 7_ns); // launched by no recorded op
}

TEST(TimedWork, GoesToTheFamilyThatTookMostOfTheTime)
{
    const FakeTrace trace = stepOnGpu();
    const auto totals = workTotals(
        itemsOf(trace), [](const TimedWork& item, const auto& group) { group(wordOf(item.family)); });
    EXPECT_EQ(totalOf(totals, "matmul").time, 60_ns);
    EXPECT_EQ(totalOf(totals, "other").time, 37_ns);
    Nanoseconds sum{0};
    for (const WorkTotal& total : totals)
        sum += total.time;
    EXPECT_EQ(sum, 137_ns); // all GPU time of the step, none of what ran after it
}

TEST(TimedWork, TheWorkOfAnOpIsThatOfTheKernelThatTookMostOfItsTime)
{
    const FakeTrace trace = stepOnGpu();
    const auto work = workPerKernel(trace);
    ASSERT_EQ(work.size(), 2u) << "linear and softmax; the work of the others is unknown";
    EXPECT_EQ(trace.textOf()(work[0].kernel), "nvjet gemm") << "not the split-K reduction";
    EXPECT_EQ(work[0].time, 50_ns);
    EXPECT_EQ(work[0].instances, 1);
    EXPECT_EQ(work[0].work, (Work{{60}, {4 * 36}}));
    EXPECT_EQ(trace.textOf()(work[1].kernel), "softmax");
    EXPECT_EQ(trace.textOf()(work[1].path), "step/forward/attention");
}

TEST(TimedWork, ShapesOfAnUntracedStepDetermineTheWorkOfTracedSteps)
{
    FakeTrace trace;
    trace.op("aten::linear", 0, 90).at("step/forward/ffn").shaped("[2, 3] [5, 3] [5]");
    const OpId linear = trace.lastOp();
    trace.step(0, 1000, 2000).kernel("nvjet gemm", 1100, 1150).at("step/forward/ffn").by(linear);
    trace.step(1, 2000, 3000).kernel("nvjet gemm", 2100, 2160).at("step/forward/ffn").by(linear);
    const auto work = workPerKernel(trace);
    ASSERT_EQ(work.size(), 2u);
    EXPECT_EQ(work[0].step, 0);
    EXPECT_EQ(work[1].step, 1);
    EXPECT_EQ(work[1].time, 60_ns);
    EXPECT_EQ(work[0].work, work[1].work);

    const auto totals =
        workTotals(itemsOf(trace), [](const TimedWork& item, const auto& group) { group(item.op); });
    ASSERT_EQ(totals.size(), 1u);
    EXPECT_EQ(totals[0].instances, 2); // once in each step
    EXPECT_EQ(totals[0].countedTime, 110_ns);
    EXPECT_EQ(totals[0].work, (Work{{2 * 60}, {2 * 4 * 36}}));
}

TEST(TimedWork, ConversionsByAutocastAreNotWorkOfTheMatmul)
{
    FakeTrace trace;
    trace.step(0, 0, 1000);
    trace.op("aten::mm", 0, 90).shaped("f32[2, 3] f32[3, 5]");
    const OpId wrapper = trace.lastOp();
    trace.op("aten::copy_", 5, 30, wrapper).shaped("bf16[2, 3] f32[2, 3]");
    trace.kernel("cast", 100, 190).by(trace.lastOp());
    trace.op("aten::mm", 40, 80, wrapper).shaped("bf16[2, 3] bf16[3, 5]");
    trace.kernel("nvjet gemm", 200, 250).by(trace.lastOp());
    const auto totals =
        workTotals(itemsOf(trace), [](const TimedWork& item, const auto& group) { group(item.op); });
    ASSERT_EQ(totals.size(), 2u);
    EXPECT_EQ(totalOf(totals, "aten::mm").time, 50_ns);
    EXPECT_EQ(totalOf(totals, "aten::mm").work, (Work{{60}, {2 * (6 + 15 + 10)}})); // shapes that it reads
    EXPECT_EQ(totalOf(totals, "aten::copy_").time, 90_ns);
    EXPECT_EQ(totalOf(totals, "aten::copy_").work, (Work{{0}, {6 * (4 + 2)}}));
}

TEST(TimedWork, ACastThatTookLongerThanItsMatmulDidNotDoItsWork)
{
    FakeTrace trace;
    trace.step(0, 0, 1000);
    trace.op("aten::linear", 0, 90).shaped("[2, 3] [5, 3] [5]");
    trace.kernel("cast", 100, 190).by(trace.lastOp()).kernel("nvjet gemm", 200, 250).by(trace.lastOp());
    const auto work = workPerKernel(trace);
    ASSERT_EQ(work.size(), 1u);
    EXPECT_EQ(trace.textOf()(work[0].kernel), "nvjet gemm");
    EXPECT_EQ(work[0].time, 50_ns);
}

TEST(TimedWork, WithoutAGpuAnOpHasItsOwnTime)
{
    FakeTrace trace;
    trace.step(0, 0, 1000);
    trace.op("aten::linear", 0, 90).shaped("[2, 3] [5, 3] [5]");
    trace.op("aten::addmm", 10, 80, trace.lastOp()).shaped("[5] [2, 3] [3, 5]");
    trace.op("aten::expand", 12, 15, trace.lastOp());
    const auto totals =
        workTotals(itemsOf(trace), [](const TimedWork& item, const auto& group) { group(item.op); });
    EXPECT_EQ(totalOf(totals, "aten::linear").countedTime, 90_ns); // including the ops it called
    EXPECT_EQ(totals.size(), 1u);
}

TEST(TimedWork, ZerosThatAnOpWritesIntoCountWithIt)
{
    FakeTrace trace;
    trace.step(0, 0, 1000);
    trace.op("aten::nll_loss_backward", 0, 90).shaped("f32[] f32[4, 100] i64[4]");
    trace.op("aten::zero_", 10, 80, trace.lastOp()).shaped("f32[4, 100]");
    trace.op("aten::fill_", 20, 70, trace.lastOp()).shaped("f32[4, 100] f32[]");
    const auto items = itemsOf(trace);
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].time, 90_ns);
    EXPECT_EQ(items[0].work, (Work{{0}, {4 * (8 + 4) + 4 * 100 * 4}}));
}

TEST(TimedWork, WithoutShapesTheSpecDeterminesMatmulsAndAttention)
{
    const FakeTrace trace = stepOnGpu();
    const std::vector<SpecWork> spec{{.path = "step/forward/ffn", .what = "down", .work = {{60}, {144}}}};
    const auto items = timedWorkOfSpec(
        spec, 1, trace.batch().ops, trace.batch().deviceEvents, trace.textOf(),
        [&](const DeviceEvent& event) { return familyOf(trace, event); }, WorkScope::TracedSteps);
    const auto totals = workTotals(items, [](const TimedWork& item, const auto& group) { group(item.path); });
    EXPECT_EQ(totalOf(totals, "step/forward/ffn").time, 60_ns);
    EXPECT_EQ(totalOf(totals, "step/forward/ffn").countedTime, 50_ns); // only the gemm
    EXPECT_EQ(totalOf(totals, "step/forward/ffn").work, (Work{{60}, {144}}));
    EXPECT_EQ(totalOf(totals, "step/forward/attention").countedTime, 0_ns);
}

TEST(TimedWork, OfARecordingIncludesWhatIsInNoStep)
{
    FakeTrace trace;
    trace.range("inference", 0, 100).kernel("gemm", 10, 40).at("inference");
    const auto timeIn = [&trace](WorkScope scope) {
        Nanoseconds time{0};
        for (const TimedWork& item : timedWorkOfSpec(
                 {}, 0, trace.batch().ops, trace.batch().deviceEvents, trace.textOf(),
                 [](const DeviceEvent&) { return KernelFamily::Matmul; }, scope))
            time += item.time;
        return time;
    };
    EXPECT_EQ(timeIn(WorkScope::Recording), 30_ns);
    EXPECT_EQ(timeIn(WorkScope::TracedSteps), 0_ns);
}

TEST(TimedWork, KernelsWithoutALaunchCountForTheOpOfTheirLike)
{
    FakeTrace trace;
    trace.step(0, 0, 1000).op("aten::mm", 0, 90).shaped("[2, 3] [3, 5]");
    trace.kernel("nvjet gemm", 100, 150).by(trace.lastOp()).launchedAt(5);
    trace.kernel("splitKreduce", 150, 160).by(trace.lastOp()).launchedAt(6);
    trace.kernel("nvjet gemm", 200, 260).kernel("splitKreduce", 260, 265).kernel("mystery", 300, 310);
    const auto totals = workTotals(itemsOf(trace), [](const TimedWork& item, const auto& group) {
        group(item.op.empty() ? std::string_view("unknown") : item.op);
    });
    const WorkTotal& product = totalOf(totals, "aten::mm");
    EXPECT_EQ(product.instances, 2);
    EXPECT_EQ(product.countedTime, 125_ns);
    EXPECT_EQ(product.inferredTime, 65_ns);
    EXPECT_EQ(product.work.flops.count, 2 * 60);
    EXPECT_EQ(totalOf(totals, "unknown").time, 10_ns);
    EXPECT_EQ(totalOf(totals, "unknown").countedTime, 0_ns);
}

TEST(TimedWork, KernelsWithoutALaunchAreUnknownWhereTheirLikeDiffer)
{
    FakeTrace trace;
    trace.step(0, 0, 1000).op("aten::mm", 0, 90).shaped("[2, 3] [3, 5]");
    trace.kernel("nvjet gemm", 100, 150).by(trace.lastOp()).launchedAt(5);
    trace.op("aten::mm", 90, 95).shaped("[2, 7] [7, 5]");
    trace.kernel("nvjet gemm", 150, 200).by(trace.lastOp()).launchedAt(91);
    trace.kernel("nvjet gemm", 200, 260);
    Nanoseconds unknown{0};
    for (const TimedWork& item : itemsOf(trace))
        unknown += item.op.empty() ? item.time : 0_ns;
    EXPECT_EQ(unknown, 60_ns);
}

TEST(TimedWork, KernelsWhoseConfigurationGoesWithTheirLaunchAreKnownByTheirNames)
{
    FakeTrace trace;
    trace.step(0, 0, 1000).op("aten::mm", 0, 90).shaped("[2, 3] [3, 5]");
    trace.kernel("Cijk", 100, 150).by(trace.lastOp()).launchedAt(5);
    trace.kernel("Cijk", 200, 260);
    std::vector<DeviceEvent> device = trace.batch().deviceEvents;
    device.front().launch.grid = {12, 1, 1};
    Nanoseconds inferred{0};
    for (const TimedWork& item :
         timedWorkOfOps(trace.batch().ops, device, trace.textOf(),
                        [&](const DeviceEvent& event) { return familyOf(trace, event); }, {}))
        inferred += item.inferred ? item.time : 0_ns;
    EXPECT_EQ(inferred, 60_ns);
}

TEST(TimedWork, KernelsWithoutALaunchAreKnownByThoseBeforeThem)
{
    FakeTrace trace;
    trace.step(0, 0, 1000);
    std::int64_t time = 100;
    const auto product = [&](const char* before, const char* shapes) {
        trace.kernel(before, time, time + 10).launchedAt(4);
        if (shapes) {
            trace.op("aten::mm", time, time + 1).shaped(shapes);
            trace.kernel("nvjet gemm", time + 10, time + 20).by(trace.lastOp()).launchedAt(5);
        } else {
            trace.kernel("nvjet gemm", time + 10, time + 20);
        }
        time += 20;
    };
    for (int i = 0; i < 2; ++i) {
        product("norm", "[2, 3] [3, 5]");
        product("silu", "[2, 7] [7, 5]");
    }
    product("once", "[2, 9] [9, 5]");
    product("norm", nullptr);
    product("silu", nullptr);
    product("once", nullptr);
    std::map<std::string, Nanoseconds> inferred;
    for (const TimedWork& item : itemsOf(trace))
        if (item.inferred)
            inferred[std::string(item.shapes)] += item.time;
    EXPECT_EQ(inferred,
              (std::map<std::string, Nanoseconds>{{"[2, 3] [3, 5]", 10_ns}, {"[2, 7] [7, 5]", 10_ns}}))
        << "one sequence may be a coincidence";
}

TEST(TimedWork, SumsOfAlikeCallsGiveTheSame)
{
    FakeTrace trace;
    for (int step = 0; step < 3; ++step) {
        const std::int64_t at = 1000 * step;
        trace.step(step, at, at + 1000).op("aten::linear", at, at + 90).shaped("[2, 3] [5, 3] [5]");
        const OpId linear = trace.lastOp();
        trace.op("aten::zero_", at, at + 5, linear).shaped("[2, 5]");
        trace.kernel("fill", at + 95, at + 99).by(trace.lastOp()).launchedAt(at + 1);
        trace.op("aten::addmm", at + 10, at + 80, linear).shaped("[5] [2, 3] [3, 5]");
        trace.kernel("nvjet gemm", at + 100, at + 150 + step).by(trace.lastOp()).launchedAt(at + 20);
        trace.op("aten::mystery", at + 96, at + 99);
        trace.kernel("mystery", at + 300, at + 330).by(trace.lastOp()).launchedAt(at + 97);
    }
    const TraceBatch& batch = trace.batch();
    const std::size_t ops = 4;
    const std::size_t kernels = 3;
    std::vector<DeviceEvent> device(batch.deviceEvents.begin(), batch.deviceEvents.begin() + kernels);
    for (std::size_t i = kernels; i < batch.deviceEvents.size(); ++i)
        device[i % kernels].end += batch.deviceEvents[i].end - batch.deviceEvents[i].start;
    const std::vector<OpId> first{OpId{0}, OpId{1}, OpId{2}, OpId{3}};
    const std::vector<std::int64_t> three(ops, 3);
    const auto family = [&](const DeviceEvent& event) { return familyOf(trace, event); };
    const AlikeCalls alike{.first = first, .calls = three, .launching = three, .activities = three};
    const auto bySum = timedWorkOfSums(std::span(batch.ops).first(ops), device, alike, trace.textOf(), family,
                                       {}, WorkScope::TracedSteps);
    ASSERT_TRUE(bySum);
    const auto byOp = [](const TimedWork& item, const auto& group) { group(item.op); };
    const auto sums = workTotals(*bySum, byOp);
    const auto events = workTotals(itemsOf(trace), byOp);
    ASSERT_EQ(sums.size(), events.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
        EXPECT_EQ(sums[i].key, events[i].key);
        EXPECT_EQ(sums[i].instances, events[i].instances);
        EXPECT_EQ(sums[i].time, events[i].time);
        EXPECT_EQ(sums[i].countedTime, events[i].countedTime);
        EXPECT_EQ(sums[i].work, events[i].work);
        EXPECT_EQ(sums[i].firstOp, events[i].firstOp);
    }
    // A call that launched nothing may have filled memory, or not.
    const std::vector<std::int64_t> two(ops, 2);
    EXPECT_FALSE(timedWorkOfSums(std::span(batch.ops).first(ops), device,
                                 {.first = first, .calls = three, .launching = two, .activities = three},
                                 trace.textOf(), family, {}, WorkScope::TracedSteps));
}

TEST(TimedWork, ARecordingWithoutStepsCountsWhole)
{
    FakeTrace trace;
    trace.op("aten::mm", 0, 90).shaped("[2, 3] [3, 5]");
    trace.kernel("nvjet gemm", 100, 150).by(trace.lastOp()).launchedAt(5);
    const auto family = [&](const DeviceEvent& event) { return familyOf(trace, event); };
    const TraceBatch& batch = trace.batch();
    EXPECT_TRUE(timedWorkOfOps(batch.ops, batch.deviceEvents, trace.textOf(), family, {}).empty());
    const auto all =
        timedWorkOfOps(batch.ops, batch.deviceEvents, trace.textOf(), family, {}, WorkScope::Recording);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].work.flops.count, 60);
    EXPECT_EQ(all[0].shapes, "[2, 3] [3, 5]");
    EXPECT_EQ(all[0].firstOp, OpId{0});
}

TEST(TimedWork, UncountedKernelsOfOneLaunchAreOfAGraph)
{
    FakeTrace trace;
    trace.step(0, 0, 1000).op("CompiledFunction", 0, 90);
    const OpId op = trace.lastOp();
    trace.kernel("a", 100, 150).by(op).launchedAt(50);
    trace.kernel("b", 150, 160).by(op).launchedAt(50);
    trace.kernel("c", 200, 207).by(op).launchedAt(60);
    std::vector<DeviceEvent> device = trace.batch().deviceEvents;
    device[1].correlation = device[0].correlation;
    const auto items = timedWorkOfOps(trace.batch().ops, device, trace.textOf(),
                                      [&](const DeviceEvent& event) { return familyOf(trace, event); }, {});
    const auto totals = workTotals(items, [](const TimedWork& item, const auto& group) { group(item.op); });
    ASSERT_EQ(totals.size(), 1u);
    EXPECT_EQ(totals[0].time, 67_ns);
    EXPECT_EQ(totals[0].countedTime, 0_ns);
    EXPECT_EQ(totals[0].replayedTime, 60_ns);
}

} // namespace tilescope::analysis
