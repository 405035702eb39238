// Fabricated records in, exact events out.

#include "core/trace/assembly/assembler.h"

#include "core/trace/host/path_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::trace {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kFirstRange = 100;
constexpr std::uint32_t kFirstOp = 1000;
constexpr std::uint32_t kThread = 42;

class AssemblerTest : public ::testing::Test {
protected:
    static std::uint32_t path(std::initializer_list<const char*> components)
    {
        PathTree& tree = PathTree::instance();
        const PathNode* node = tree.root();
        for (const char* component : components)
            node = tree.child(node, component);
        return node->id;
    }
    static std::uint32_t name(std::string_view text)
    {
        return PathTree::instance().child(PathTree::instance().names(), text)->id;
    }
    static HostRecord at(HostRecord::Kind kind, std::uint32_t where, std::uint32_t range, std::uint32_t op,
                         std::int32_t step)
    {
        HostRecord record;
        record.kind = kind;
        record.context = {.path = where, .range = range, .op = op};
        record.step = step;
        return record;
    }
    void launch(std::uint32_t correlation, std::int64_t time, std::int32_t step = 0, std::uint32_t op = kNone,
                std::uint32_t ordinal = 0)
    {
        HostRecord record =
            at(HostRecord::Kind::Launch, path({"step", "forward"}), kFirstRange + 1, op, step);
        record.launch = {.correlation = correlation, .ordinal = ordinal, .time = time};
        assembler.addHost(kThread, record);
    }
    void op(std::uint32_t id, std::string_view what, std::uint32_t ordinal, std::string_view shapes = {})
    {
        HostRecord record = at(HostRecord::Kind::Op, path({"step", "forward"}), kFirstRange, kNone, 0);
        record.op = {.id = id,
                     .name = name(what),
                     .ordinal = ordinal,
                     .shapes = shapes.empty() ? kNone : name(shapes),
                     .sequence = -1,
                     .start = 10,
                     .end = 20};
        assembler.addHost(kThread, record);
    }
    static DeviceEvent kernel(std::uint32_t correlation, std::int64_t start, std::int64_t end)
    {
        DeviceEvent event;
        event.correlation = CorrelationId{correlation};
        event.start = timestampAt(start);
        event.end = timestampAt(end);
        return event;
    }
    std::string text(StringId id) const { return std::string(strings.text(id)); }

    StringTable strings;
    Assembler assembler{strings, kFirstRange, kFirstOp};
};

TEST_F(AssemblerTest, ACaptureReportsItsAllocationsAndTheirOps)
{
    assembler.begin(Recording::Capture);
    const std::uint32_t head = path({"step", "forward", "lm_head"});
    for (const std::uint32_t id : {kFirstOp + 1, kFirstOp + 2}) {
        HostRecord record = at(HostRecord::Kind::Op, head, kFirstRange, kNone, kNoStep);
        record.op = {.id = id,
                     .name = name("aten::mm"),
                     .ordinal = 0,
                     .shapes = kNone,
                     .sequence = -1,
                     .start = 10,
                     .end = 20};
        assembler.addHost(kThread, record);
    }
    DeviceAllocRecord late{.time = 18, .address = 2, .bytes = 8, .pool = 7};
    late.context.path = head;
    late.action = AllocAction::Alloc;
    DeviceAllocRecord early = late;
    early.time = 15;
    early.context.op = kFirstOp + 2;
    assembler.addAllocation(late, DeviceIndex{0}, StreamId{});
    assembler.addAllocation(early, DeviceIndex{0}, StreamId{});
    const CapturedStep captured = assembler.captured();
    ASSERT_THAT(captured.events, SizeIs(2));
    EXPECT_EQ(captured.events[0].time, timestampAt(15));
    EXPECT_EQ(captured.events[0].op, OpId{2});
    EXPECT_EQ(captured.events[0].pool, 7U);
    EXPECT_EQ(strings.text(captured.events[1].path), "step/forward/lm_head");
    ASSERT_THAT(captured.ops, SizeIs(1)) << "of those that allocated";
    EXPECT_EQ(captured.ops[0].id, OpId{2});
    EXPECT_EQ(strings.text(captured.ops[0].name), "aten::mm");
    assembler.begin(Recording::Events);
    const TraceBatch batch = assembler.take();
    EXPECT_THAT(batch.allocEvents, IsEmpty()) << "a capture is not part of the recording";
    EXPECT_THAT(batch.ops, IsEmpty());
    EXPECT_EQ(assembler.recordsChecked(), 0);
}

TEST_F(AssemblerTest, NumbersRangesAndOpsFromZero)
{
    HostRecord record = at(HostRecord::Kind::Range, path({"step", "forward"}), kFirstRange + 3, kNone, 2);
    record.range = {
        .id = kFirstRange + 3, .parent = kFirstRange + 1, .name = name("forward"), .start = 5, .end = 9};
    assembler.addHost(kThread, record);
    record.range.parent = kFirstRange - 1; // of an earlier run
    assembler.addHost(kThread, record);
    const TraceBatch batch = assembler.take();
    ASSERT_THAT(batch.ranges, SizeIs(2));
    EXPECT_EQ(batch.ranges[0].id, RangeId{3});
    EXPECT_EQ(batch.ranges[0].parent, RangeId{1});
    EXPECT_EQ(text(batch.ranges[0].path), "step/forward");
    EXPECT_EQ(text(batch.ranges[0].name), "forward");
    EXPECT_EQ(batch.ranges[0].thread, ThreadId{kThread});
    EXPECT_EQ(batch.ranges[0].step, 2);
    EXPECT_FALSE(batch.ranges[1].parent);
}

TEST_F(AssemblerTest, JoinsAnActivityToItsLaunch)
{
    launch(7, 100, 3, kFirstOp + 9);
    assembler.addActivity(kernel(7, 150, 175));
    const TraceBatch batch = assembler.take();
    ASSERT_THAT(batch.deviceEvents, SizeIs(1));
    const DeviceEvent& event = batch.deviceEvents[0];
    EXPECT_EQ(text(event.path), "step/forward");
    EXPECT_EQ(event.range, RangeId{1});
    EXPECT_EQ(event.op, OpId{9});
    EXPECT_EQ(event.launchThread, ThreadId{kThread});
    EXPECT_EQ(event.step, 3);
    EXPECT_EQ(event.launched, timestampAt(100));
    EXPECT_EQ(event.start, timestampAt(150));
    EXPECT_THAT(assembler.losses().list(strings), IsEmpty());
    EXPECT_EQ(assembler.recordsChecked(), 2);
}

TEST_F(AssemblerTest, SortsEachListByStart)
{
    for (const std::int64_t start : {300, 100, 200}) {
        launch(static_cast<std::uint32_t>(start), start - 50);
        assembler.addActivity(kernel(static_cast<std::uint32_t>(start), start, start + 10));
    }
    const TraceBatch batch = assembler.take();
    EXPECT_EQ(batch.deviceEvents[0].start, timestampAt(100));
    EXPECT_EQ(batch.deviceEvents[2].start, timestampAt(300));
    EXPECT_EQ(assembler.pending(), 0U);
}

TEST_F(AssemblerTest, ARecordingForgetsLaunchesAndLossesOfTheOneBefore)
{
    launch(7, 100);
    assembler.addActivity(kernel(8, 150, 175));
    EXPECT_EQ(assembler.losses().count(RecordLoss::UnmatchedCorrelation), 1);
    assembler.begin();
    EXPECT_EQ(assembler.losses().count(RecordLoss::UnmatchedCorrelation), 0);
    assembler.addActivity(kernel(7, 150, 175));
    EXPECT_EQ(assembler.losses().count(RecordLoss::UnmatchedCorrelation), 1);
}

TEST_F(AssemblerTest, ShapesAreLearntByTheOrderOfOps)
{
    assembler.begin(Recording::ReferenceStep);
    op(kFirstOp, "aten::mm", 0, "[2, 3] [3, 4]");
    op(kFirstOp + 1, "aten::relu", 1, "[2, 4]");
    EXPECT_EQ(assembler.pending(), 0U);
    assembler.begin();
    op(kFirstOp + 2, "aten::mm", 0);
    op(kFirstOp + 3, "aten::gelu", 1); // ran a relu when shapes were taken
    op(kFirstOp + 4, "aten::mm", 2);   // ran nothing
    const TraceBatch batch = assembler.take();
    EXPECT_EQ(text(batch.ops[0].shapes), "[2, 3] [3, 4]");
    EXPECT_FALSE(batch.ops[1].shapes);
    EXPECT_FALSE(batch.ops[2].shapes);
    EXPECT_EQ(assembler.losses().count(RecordLoss::UnmatchedShapes), 2);
}

TEST_F(AssemblerTest, LaunchesWithoutOpsGetThoseOfTheReferenceStep)
{
    assembler.begin(Recording::ReferenceStep, {.ops = false, .shapes = true});
    op(kFirstOp, "aten::mm", 0, "[2, 3] [3, 4]");
    launch(1, 100, 0, kFirstOp);
    EXPECT_EQ(assembler.pending(), 0U);

    assembler.begin(Recording::Events, {.ops = false, .shapes = true});
    for (std::int32_t step = 0; step < 2; ++step) {
        const auto correlation = static_cast<std::uint32_t>(5 + step);
        launch(correlation, 200, step);
        assembler.addActivity(kernel(correlation, 210, 220));
    }
    launch(7, 300, 2, kNone, 1); // a second launch, which the reference step did not make
    assembler.addActivity(kernel(7, 310, 320));
    const TraceBatch batch = assembler.take();
    ASSERT_THAT(batch.ops, SizeIs(1));
    EXPECT_EQ(text(batch.ops[0].shapes), "[2, 3] [3, 4]");
    EXPECT_EQ(batch.ops[0].step, kNoStep) << "it ran in no step that is recorded";
    EXPECT_EQ(batch.deviceEvents[0].op, batch.ops[0].id);
    EXPECT_EQ(batch.deviceEvents[1].op, batch.ops[0].id);
    EXPECT_FALSE(batch.deviceEvents[2].op);
    EXPECT_EQ(assembler.losses().count(RecordLoss::UnmatchedShapes), 1);
}

TEST_F(AssemblerTest, ACallActivityOfNoLaunchBelongsToTheStepOfItsTime)
{
    const auto step = [&](std::int32_t number, std::int64_t time) {
        HostRecord record;
        record.kind = HostRecord::Kind::Step;
        record.step = number;
        record.change = {.time = time};
        assembler.addHost(kThread, record);
    };
    step(0, 100);
    step(kNoStep, 200);
    step(1, 300);
    for (const std::int64_t time : {50, 100, 150, 250, 350})
        assembler.addCallActivity({.start = timestampAt(time), .end = timestampAt(time + 1)});
    std::vector<std::int32_t> steps;
    for (const ApiCall& call : assembler.take().apiCalls)
        steps.push_back(call.step);
    EXPECT_THAT(steps, ::testing::ElementsAre(kNoStep, 0, 0, kNoStep, 1));
}

TEST_F(AssemblerTest, KeepsTheLeastLaunchLatencyOfTheFirstAndLastStep)
{
    std::uint32_t correlation = 1;
    const auto latency = [&](std::int32_t step, std::int64_t value) {
        launch(correlation, 1000, step);
        assembler.addActivity(kernel(correlation++, 1000 + value, 1000 + value + 1));
    };
    latency(0, 9);
    latency(0, 5);
    latency(1, 1);
    latency(2, 8);
    latency(2, 7);
    EXPECT_EQ(assembler.firstLatency().least, 5);
    EXPECT_EQ(assembler.lastLatency().least, 7);
    EXPECT_EQ(assembler.lastLatency().step, 2);
}

TEST_F(AssemblerTest, DeviceAllocationsKeepEverythingNoted)
{
    assembler.addAllocation({.time = 5,
                             .address = 0x2000,
                             .bytes = 64,
                             .allocated = 640,
                             .reserved = 4096,
                             .context = {.path = path({"step", "backward"}), .op = kFirstOp + 2},
                             .step = 1,
                             .pool = 3,
                             .action = AllocAction::Alloc},
                            DeviceIndex{0}, StreamId{7});
    const TraceBatch batch = assembler.take();
    ASSERT_THAT(batch.allocEvents, SizeIs(1));
    const AllocEvent& event = batch.allocEvents[0];
    EXPECT_EQ(text(event.path), "step/backward");
    EXPECT_EQ(event.op, OpId{2});
    EXPECT_EQ(event.address, 0x2000U);
    EXPECT_EQ(event.bytes, 64);
    EXPECT_EQ(event.allocated, 640);
    EXPECT_EQ(event.reserved, 4096);
    EXPECT_EQ(event.stream, StreamId{7});
    EXPECT_EQ(event.pool, 3U);
    EXPECT_EQ(event.step, 1);
}

} // namespace
} // namespace tilescope::trace
