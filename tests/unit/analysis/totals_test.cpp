#include "core/analysis/time/range_totals.h"
#include "core/analysis/work/op_totals.h"
#include "tests/support/fake_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using tilescope::testing::FakeTrace;

std::vector<OpTotal> totalsByName(std::span<const Op> ops)
{
    OpTotals totals;
    for (const Op& op : ops)
        totals.add(op, op.name.value);
    return totals.finish();
}

/// The brute force: what each op adds follows from all of its ancestors.
std::map<std::uint32_t, OpTotal> totalsByAncestors(std::span<const Op> ops, auto groupOf)
{
    std::unordered_map<OpId, const Op*> byId;
    for (const Op& op : ops)
        byId.emplace(op.id, &op);
    const auto parentOf = [&byId](const Op& op) {
        const auto found = byId.find(op.parent);
        return found == byId.end() ? nullptr : found->second;
    };
    const std::vector<Nanoseconds> self = selfTimes(ops);
    std::map<std::uint32_t, OpTotal> totals;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const auto group = groupOf(ops[i]);
        if (!group)
            continue;
        bool nested = false;
        for (const Op* above = parentOf(ops[i]); above != nullptr; above = parentOf(*above))
            nested = nested || groupOf(*above) == group;
        OpTotal& total = totals[*group];
        ++total.instances;
        total.self += self[i];
        total.total += nested ? 0_ns : ops[i].end - ops[i].start;
    }
    return totals;
}

const OpTotal& named(const std::vector<OpTotal>& totals, FakeTrace& trace, const char* name)
{
    for (const OpTotal& total : totals)
        if (total.group == trace.strings().intern(name).value)
            return total;
    throw std::runtime_error(name);
}

const RangeTotal& at(const std::vector<RangeTotal>& totals, const std::string& path)
{
    for (const RangeTotal& total : totals)
        if (total.path == path)
            return total;
    throw std::runtime_error(path);
}

} // namespace

TEST(OpTotals, SelfTimeExcludesInnerOps)
{
    FakeTrace trace;
    trace.op("outer", 0, 100);
    const OpId outer = trace.lastOp();
    trace.op("inner", 10, 40, outer);
    trace.op("leaf", 20, 30, trace.lastOp());
    trace.op("inner", 50, 60, outer);
    EXPECT_THAT(selfTimes(trace.batch().ops), ElementsAre(60_ns, 20_ns, 10_ns, 10_ns));
    const auto totals = totalsByName(trace.batch().ops);
    EXPECT_EQ(named(totals, trace, "inner").total, 40_ns);
    EXPECT_EQ(named(totals, trace, "inner").self, 30_ns);
    EXPECT_EQ(named(totals, trace, "inner").instances, 2);
    EXPECT_EQ(named(totals, trace, "outer").self, 60_ns);
}

TEST(OpTotals, AnOpInsideOneOfItsNameAddsNothingToTheTotal)
{
    FakeTrace trace;
    trace.op("copy", 0, 100);
    trace.op("to", 10, 90, trace.lastOp());
    trace.op("copy", 20, 80, trace.lastOp());
    const auto totals = totalsByName(trace.batch().ops);
    EXPECT_EQ(named(totals, trace, "copy").total, 100_ns);
    EXPECT_EQ(named(totals, trace, "copy").instances, 2);
    EXPECT_EQ(named(totals, trace, "copy").self, 80_ns);
}

TEST(OpTotals, SurviveParentsThatAreMissingOrCircular)
{
    FakeTrace trace;
    trace.op("a", 0, 10, OpId{1}).op("b", 0, 10, OpId{0}).op("c", 0, 10, OpId{77});
    const auto totals = totalsByName(trace.batch().ops);
    EXPECT_EQ(totals.size(), 3u);
    EXPECT_EQ(named(totals, trace, "c").self, 10_ns);
}

TEST(OpTotals, OneByOneTheyAreThoseOfTheWholeList)
{
    constexpr std::uint32_t kSeed = 20'261'121;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    std::mt19937 random(kSeed);
    std::vector<Op> ops;
    // Randomly nested on three threads; sometimes with a missing parent.
    const auto nest = [&](auto&& self, ThreadId thread, OpId parent, std::int64_t from, std::int64_t to,
                          int depth) -> void {
        for (std::int64_t time = from; time < to - 20;) {
            Op op;
            op.id = OpId{static_cast<std::uint32_t>(ops.size())};
            op.parent = random() % 50 == 0 ? OpId{1'000'000} : parent;
            op.name = StringId{static_cast<std::uint32_t>(random() % 5)};
            op.thread = thread;
            op.start = timestampAt(time + random() % 10);
            op.end = std::min(timestampAt(to), op.start + Nanoseconds(10 + random() % 400));
            ops.push_back(op);
            if (depth < 5 && random() % 2)
                self(self, thread, op.id, nanosecondsOf(op.start), nanosecondsOf(op.end), depth + 1);
            time = nanosecondsOf(op.end);
        }
    };
    for (const std::uint32_t thread : {1, 2, 3})
        nest(nest, ThreadId{thread}, OpId::none(), 0, 40'000, 0);
    std::ranges::stable_sort(ops, {}, &Op::start);
    const auto group = [](const Op& op) {
        return op.name.value == 4 ? std::nullopt : std::optional(op.name.value);
    };
    OpTotals oneByOne;
    for (const Op& op : ops)
        oneByOne.add(op, group(op));
    const auto expected = totalsByAncestors(ops, group);
    const auto found = oneByOne.finish();
    ASSERT_EQ(expected.size(), 4u);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_TRUE(std::ranges::is_sorted(found, std::ranges::greater(), &OpTotal::self));
    for (const OpTotal& total : found) {
        EXPECT_EQ(total.instances, expected.at(total.group).instances);
        EXPECT_EQ(total.self, expected.at(total.group).self);
        EXPECT_EQ(total.total, expected.at(total.group).total);
    }
}

TEST(RangeTotals, TakeWallTimeFromRangesAndGpuTimeFromTheirLaunches)
{
    FakeTrace trace;
    for (int step = 0; step < 2; ++step) {
        const int t = 1000 * step;
        trace.step(step, t, t + 900).range("step/forward", t, t + 300);
        trace.range("step/forward/layers.0", t + 10, t + 290).range("step/backward", t + 300, t + 900);
        // Kernels run after their ranges have closed, on two streams at once.
        trace.kernel("k", t + 100, t + 200).at("step/forward/layers.0");
        trace.kernel("k", t + 150, t + 250).at("step/forward/layers.0").on(8);
        trace.kernel("k", t + 400, t + 450).at("step/backward/layers.0");
        trace.kernel("k", t + 500, t + 510).at("step/backward");
    }
    const auto& batch = trace.batch();
    const auto totals = rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf());
    EXPECT_THAT(totals,
                ElementsAre(Field(&RangeTotal::path, "step"), Field(&RangeTotal::path, "step/forward"),
                            Field(&RangeTotal::path, "step/forward/layers.0"),
                            Field(&RangeTotal::path, "step/backward"),
                            Field(&RangeTotal::path, "step/backward/layers.0")));
    EXPECT_EQ(at(totals, "step").wall, 1800_ns);
    EXPECT_EQ(at(totals, "step").gpu, 420_ns);
    EXPECT_EQ(at(totals, "step").percent, 100);
    EXPECT_EQ(at(totals, "step/forward/layers.0").wall, 560_ns);
    EXPECT_EQ(at(totals, "step/forward/layers.0").gpu, 300_ns);
    EXPECT_EQ(at(totals, "step/backward").gpu, 120_ns);
    EXPECT_EQ(at(totals, "step/backward/layers.0").gpu, 100_ns);
    EXPECT_EQ(at(totals, "step/backward/layers.0").wall, std::nullopt);
    EXPECT_EQ(at(totals, "step/backward/layers.0").instances, 2);
}

TEST(RangeTotals, CountTheCallsOfAModuleInBackwardAsInForward)
{
    FakeTrace trace;
    trace.step(0, 0, 900);
    for (int call = 0; call < 3; ++call) {
        const int t = 300 * call;
        trace.range("step/forward/layers.0", t, t + 100).range("step/backward", t + 100, t + 200);
        trace.op("MmBackward0", t + 110, t + 150).at("step/backward/layers.0");
    }
    trace.op("MmBackward0", 850, 860).at("step/backward/other");
    const auto& batch = trace.batch();
    const auto totals = rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf());
    EXPECT_EQ(at(totals, "step/backward/layers.0").instances, 3);
    EXPECT_EQ(at(totals, "step/backward/other").instances, 1) << "of a step";
}

TEST(RangeTotals, AddUpTheTimesOfSeveralGpus)
{
    FakeTrace trace;
    trace.step(0, 0, 1000).range("step/forward", 0, 300);
    trace.kernel("k", 100, 200).at("step/forward");
    trace.kernel("k", 150, 250).at("step/forward");
    TraceBatch batch = trace.batch();
    batch.deviceEvents[1].device = DeviceIndex{1};
    const auto totals = rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf());
    EXPECT_EQ(at(totals, "step/forward").gpu, 200_ns) << "of one GPU it would be 150";
}

TEST(RangeTotals, OnACpuBackwardsModulesTakeTheTimeOfTheirOps)
{
    FakeTrace trace;
    trace.step(0, 0, 200).range("step/backward", 100, 200);
    trace.op("MmBackward0", 110, 150).at("step/backward/layers.0/mlp");
    trace.op("aten::mm", 115, 140, trace.lastOp()).at("step/backward/layers.0/mlp");
    trace.op("MulBackward0", 160, 170).at("step/backward/layers.0");
    const auto& batch = trace.batch();
    const auto totals = rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf());
    EXPECT_EQ(at(totals, "step/backward/layers.0/mlp").wall, 40_ns);
    EXPECT_EQ(at(totals, "step/backward/layers.0").wall, 50_ns);
    EXPECT_EQ(at(totals, "step/backward").wall, 100_ns);
    EXPECT_EQ(at(totals, "step").gpu, std::nullopt);
    EXPECT_EQ(at(totals, "step/backward").percent, 50);
}

TEST(RangeTotals, IgnoreRecordsOutsideTheSteps)
{
    FakeTrace trace;
    trace.range("warmup", 0, 50);
    trace.step(0, 100, 200).range("trace/step/forward", 100, 150);
    trace.betweenSteps().range("trace", 50, 300).kernel("k", 210, 220).at("step/forward");
    const auto& batch = trace.batch();
    const auto totals = rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf());
    EXPECT_THAT(totals,
                ElementsAre(Field(&RangeTotal::path, "step"), Field(&RangeTotal::path, "step/forward")));
    EXPECT_EQ(at(totals, "step").gpu, 0_ns);
}

TEST(RangeTotals, OfARecordingWithoutStepsCoverAllOfIt)
{
    FakeTrace trace;
    trace.betweenSteps()
        .range("prefill", 0, 50)
        .range("decode", 100, 180)
        .range("decode/attention", 110, 150);
    trace.range("decode", 200, 300);
    trace.kernel("k", 20, 40).at("prefill");
    trace.kernel("k", 120, 160).at("decode/attention");
    trace.kernel("k", 210, 230).at("decode");
    trace.kernel("k", 310, 330);
    const auto& batch = trace.batch();
    const auto totals =
        rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf(), RangeScope::Recording);
    EXPECT_THAT(totals, ElementsAre(Field(&RangeTotal::path, "prefill"), Field(&RangeTotal::path, "decode"),
                                    Field(&RangeTotal::path, "decode/attention")));
    EXPECT_EQ(at(totals, "decode").instances, 2);
    EXPECT_EQ(at(totals, "decode").wall, 180_ns);
    EXPECT_EQ(at(totals, "decode").gpu, 60_ns);
    EXPECT_EQ(at(totals, "decode/attention").gpu, 40_ns);
    EXPECT_EQ(at(totals, "prefill").percent, 25) << "of the GPU time below all outermost paths";
    EXPECT_EQ(at(totals, "decode").percent, 75);
    EXPECT_THAT(rangeTotals(batch.ranges, batch.ops, batch.deviceEvents, trace.textOf()), IsEmpty());
}

} // namespace tilescope::analysis
