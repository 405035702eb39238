#include "core/query/timeline/timeline.h"

#include "core/model/strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::query {
namespace {

// Records with names in a StringTable, and the resulting timeline.
class TimelineOf : public ::testing::Test {
protected:
    StringTable strings;
    TimelineBuilder builder{
        [this](StringId id) { return strings.text(id); },
        [](std::string_view name, DeviceEventKind) {
            return TimelineBuilder::DeviceName{std::string(name.substr(0, 4)), Hue::Matmul};
        },
        timestampAt(1000)};

    Range range(const char* path, std::int64_t start, std::int64_t end, int step = 0)
    {
        Range made;
        made.path = strings.intern(path);
        made.thread = ThreadId{1};
        made.step = step;
        made.start = timestampAt(1000 + start);
        made.end = timestampAt(1000 + end);
        return made;
    }
    DeviceEvent kernel(const char* name, std::int64_t launched, std::int64_t start, std::int64_t end,
                       unsigned stream = 7)
    {
        DeviceEvent made;
        made.name = strings.intern(name);
        made.device = DeviceIndex{0};
        made.stream = StreamId{stream};
        made.launched = timestampAt(1000 + launched);
        made.start = timestampAt(1000 + start);
        made.end = timestampAt(1000 + end);
        return made;
    }
    Timeline build() { return std::move(builder).build(); }
};

TEST_F(TimelineOf, RangesNestAndStepsAreKnown)
{
    builder.addRanges(std::vector{range("step", 0, 100), range("step/forward", 10, 50),
                                  range("step/forward/layers.0", 12, 30), range("step/backward", 50, 90)});
    const Timeline timeline = build();
    ASSERT_EQ(timeline.lanes.size(), 1U);
    const Lane& lane = timeline.lanes[0];
    ASSERT_EQ(lane.rows.size(), 3U);
    EXPECT_EQ(lane.rows[1].size(), 2U);
    EXPECT_EQ(timeline.names[lane.rows[2].name(0)].label, "layers.0");
    ASSERT_EQ(timeline.steps.size(), 1U);
    EXPECT_EQ(timeline.steps[0].end, 100);
    EXPECT_EQ(timeline.length, 100);
}

// The host has left all three steps when the device begins the second one.
TEST_F(TimelineOf, AStepLastsUntilTheDeviceHasDoneWhatItLaunched)
{
    for (int step = 0; step < 3; ++step) {
        builder.addRanges(std::vector{range("step", 10 * step, 10 * step + 10, step)});
        DeviceEvent replayed = kernel("gemm", 10 * step + 2, 20 + 100 * step, 120 + 100 * step);
        replayed.step = step;
        builder.addDevice(std::vector{replayed});
    }
    builder.addRanges(std::vector{range("step", 500, 510, 3)});
    const Timeline timeline = builder.snapshot();
    ASSERT_EQ(timeline.steps.size(), 4U);
    const std::pair<std::int64_t, std::int64_t> walls[] = {{0, 120}, {120, 220}, {220, 320}, {500, 510}};
    for (int step = 0; step < 4; ++step) {
        const TimelineStep& made = timeline.steps[std::size_t(step)];
        EXPECT_EQ(std::pair(made.start, made.end), walls[step]) << step;
        EXPECT_EQ(made.hostStart, step < 3 ? 10 * step : 500);
        EXPECT_EQ(made.hostEnd, made.hostStart + 10);
    }
    EXPECT_EQ(timeline.interesting(), (std::pair<std::int64_t, std::int64_t>{0, 510}));
    const Timeline complete = build();
    EXPECT_EQ(complete.steps[1].end, 220) << "like the snapshot";
}

TEST_F(TimelineOf, BusyCountsStreamsOnceAndNamesTheGap)
{
    builder.addDevice(std::vector{kernel("gemm", 0, 10, 30), kernel("gemm", 1, 20, 40, 8),
                                  kernel("gemm", 45, 60, 70), kernel("gemm", 50, 80, 90)});
    const Timeline timeline = build();
    ASSERT_EQ(timeline.lanes.size(), 3U); // stream 7, stream 8, busy
    const Track& busy = timeline.lanes[2].rows[0];
    ASSERT_EQ(busy.size(), 5U);
    EXPECT_EQ(busy.hue(0), Hue::Busy);
    EXPECT_EQ(busy.length(0), 30);
    EXPECT_EQ(busy.hue(1), Hue::GapLaunching);   // launched at 45, idle since 40
    EXPECT_EQ(busy.hue(3), Hue::GapUnexplained); // launched at 50, while the device worked
    EXPECT_EQ(busy.covered(10, 90), 80);
}

TEST_F(TimelineOf, CudaCallsAreInsideTheirOp)
{
    Op op;
    op.name = strings.intern("aten::mm");
    op.thread = ThreadId{412};
    op.start = timestampAt(1000);
    op.end = timestampAt(1050);
    ApiCall call;
    call.name = strings.intern("cudaLaunchKernel");
    call.thread = ThreadId{412};
    call.start = timestampAt(1010);
    call.end = timestampAt(1020);
    builder.nameThread({.thread = ThreadId{412}}, "main");
    builder.addHost(std::vector{op}, std::vector{call});
    const Timeline timeline = build();
    ASSERT_EQ(timeline.lanes.size(), 1U);
    EXPECT_EQ(timeline.lanes[0].title, "main 412");
    ASSERT_EQ(timeline.lanes[0].rows.size(), 2U);
    EXPECT_EQ(timeline.lanes[0].rows[0].hue(0), Hue::Matmul);
    EXPECT_EQ(timeline.names[timeline.lanes[0].rows[0].name(0)].label, "mm");
    EXPECT_EQ(timeline.lanes[0].rows[1].hue(0), Hue::Api);
}

// Each nanosecond of a gap belongs to the tracer if an overhead covers it, otherwise to the waiting host,
// otherwise to the gap's own reason.
TEST_F(TimelineOf, EveryNanosecondOfAGapHasTheFirstMatchingReason)
{
    std::mt19937 random(11);
    const auto upTo = [&random](std::uint32_t most) { return std::int64_t(random() % most); };
    for (int round = 0; round < 40; ++round) {
        TimelineBuilder own{[this](StringId id) { return strings.text(id); },
                            [](std::string_view, DeviceEventKind) {
                                return TimelineBuilder::DeviceName{"k", Hue::Matmul};
                            },
                            timestampAt(1000)};
        std::vector<DeviceEvent> kernels;
        std::int64_t now = 0;
        for (int i = 0; i < 20; ++i) {
            const std::int64_t start = now + upTo(30);
            now = start + 1 + upTo(15);
            kernels.push_back(kernel("k", std::max<std::int64_t>(0, start - upTo(20)), start, now));
        }
        std::vector<ApiCall> calls;
        for (int i = 0; i < 12; ++i) {
            ApiCall call;
            call.name = strings.intern("call");
            call.thread = ThreadId{std::uint32_t(i % 2)};
            call.kind = i % 3 == 0 ? ApiKind::Overhead : i % 3 == 1 ? ApiKind::Synchronize : ApiKind::Launch;
            call.start = timestampAt(1000 + upTo(400));
            call.end = call.start + Nanoseconds(upTo(40));
            calls.push_back(call);
        }
        std::sort(calls.begin(), calls.end(),
                  [](const ApiCall& a, const ApiCall& b) { return a.start < b.start; });
        own.addHost({}, calls);
        own.addDevice(kernels);
        const Timeline timeline = std::move(own).build();
        const auto lane = std::find_if(timeline.lanes.begin(), timeline.lanes.end(),
                                       [](const Lane& one) { return one.kind == Lane::Kind::Busy; });
        ASSERT_NE(lane, timeline.lanes.end());
        const Track& busy = lane->rows[0];
        const auto within = [](std::int64_t t, const auto& event) {
            return t >= nanosecondsOf(event.start) - 1000 && t < nanosecondsOf(event.end) - 1000;
        };
        for (std::int64_t t = nanosecondsOf(kernels.front().start) - 1000; t < now; ++t) {
            const auto [first, last] = busy.overlapping(t, t + 1);
            ASSERT_EQ(last - first, 1U) << "every moment has one box";
            const auto in = [&](ApiKind kind) {
                return std::any_of(calls.begin(), calls.end(),
                                   [&](const ApiCall& call) { return call.kind == kind && within(t, call); });
            };
            const bool works = std::any_of(kernels.begin(), kernels.end(),
                                           [&](const DeviceEvent& event) { return within(t, event); });
            if (works)
                ASSERT_EQ(busy.hue(first), Hue::Busy) << "round " << round << " at " << t;
            else if (in(ApiKind::Overhead))
                ASSERT_EQ(busy.hue(first), Hue::GapTracing) << "round " << round << " at " << t;
            else if (in(ApiKind::Synchronize))
                ASSERT_EQ(busy.hue(first), Hue::GapSynchronizing) << "round " << round << " at " << t;
            else
                ASSERT_TRUE(busy.hue(first) == Hue::GapLaunching || busy.hue(first) == Hue::GapUnexplained);
        }
    }
}

TEST_F(TimelineOf, CountersLieBelowTheLanesOfTheirDevice)
{
    builder.addDevice(std::vector{kernel("gemm", 0, 10, 30)});
    const auto at = [](std::int64_t time) { return timestampAt(1000 + time); };
    builder.addCounter({.name = "CPU use", .unit = "%", .end = at(30), .points = {{at(0), 5}}});
    builder.addCounter({.name = "Power",
                        .unit = "W",
                        .device = DeviceIndex{0},
                        .end = at(28),
                        .points = {{at(-4), 300'000}, {at(12), 300'000}, {at(20), 410'000}}});
    builder.addCounter({.name = "Before", .end = at(-1), .points = {{at(-4), 1}}});
    const Timeline timeline = build();
    ASSERT_EQ(timeline.lanes.size(), 4U) << "stream, busy and two counters";
    const Lane& power = timeline.lanes[2];
    EXPECT_EQ(power.kind, Lane::Kind::Counter);
    EXPECT_EQ(power.title, "Power");
    EXPECT_EQ(power.detail, "GPU 0");
    EXPECT_EQ(power.unit, "W");
    EXPECT_EQ(power.values.at(5), 300'000);
    EXPECT_EQ(power.values.at(25), 410'000);
    EXPECT_EQ(power.valuesEnd, 28);
    EXPECT_EQ(timeline.lanes[3].title, "CPU use");
    EXPECT_EQ(timeline.length, 30) << "counters do not make it longer";
}

TEST_F(TimelineOf, AHitFindsTheNearestBoxWithinItsTolerance)
{
    builder.addDevice(std::vector{kernel("gemm", 0, 10, 30), kernel("gemm", 0, 40, 50)});
    const Timeline timeline = build();
    const Track& row = timeline.lanes[0].rows[0];
    EXPECT_EQ(timeline.hit(row, 29, 0), 0U);
    EXPECT_EQ(timeline.hit(row, 33, 2), std::nullopt);
    EXPECT_EQ(timeline.hit(row, 33, 4), 0U);
    EXPECT_EQ(timeline.hit(row, 38, 4), 1U);
}

} // namespace
} // namespace tilescope::query
