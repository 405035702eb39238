#include "core/query/timeline.h"

#include "core/model/strings.h"

#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

// Records with the names of a StringTable, and the timeline they make.
class TimelineOf : public testing::Test {
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

TEST_F(TimelineOf, CallsOfTheHostSitInsideTheirOp)
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
    builder.nameThread(ThreadId{412}, "main");
    builder.addHost(std::vector{op}, std::vector{call});
    const Timeline timeline = build();
    ASSERT_EQ(timeline.lanes.size(), 1U);
    EXPECT_EQ(timeline.lanes[0].title, "main 412");
    ASSERT_EQ(timeline.lanes[0].rows.size(), 2U);
    EXPECT_EQ(timeline.lanes[0].rows[0].hue(0), Hue::Matmul);
    EXPECT_EQ(timeline.names[timeline.lanes[0].rows[0].name(0)].label, "mm");
    EXPECT_EQ(timeline.lanes[0].rows[1].hue(0), Hue::Api);
}

TEST_F(TimelineOf, AHitTakesTheNearestBoxWithinReach)
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
