// Lanes of metrics: their order, the holes between their samples, and what ran beneath a sample.

#include "core/model/metric.h"
#include "core/query/timeline/timeline.h"
#include "core/query/timeline/work_beneath.h"
#include "tests/support/fake_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

CounterTrack track(std::string_view name, std::int64_t start, std::int64_t end, std::int64_t value)
{
    return {.name = std::string(name),
            .unit = "%",
            .device = DeviceIndex{0},
            .end = timestampAt(end),
            .points = {{timestampAt(start), value * 1000}}};
}

Timeline timelineWith(const std::vector<CounterTrack>& tracks)
{
    testing::FakeTrace trace;
    trace.step(0, 0, 1000).kernel("gemm", 0, 300).kernel("relu", 300, 350).kernel("gemm", 350, 500);
    trace.kernel("copy", 310, 330).on(9);
    TimelineBuilder builder([&](StringId id) { return trace.strings().text(id); },
                            [](std::string_view name, DeviceEventKind) {
                                return TimelineBuilder::DeviceName{.label = std::string(name)};
                            },
                            timestampAt(0));
    builder.addRanges(trace.batch().ranges);
    builder.addDevice(trace.batch().deviceEvents);
    for (const CounterTrack& each : tracks)
        builder.addCounter(each);
    return std::move(builder).build();
}

std::vector<const Lane*> countersOf(const Timeline& timeline)
{
    std::vector<const Lane*> lanes;
    for (const Lane& lane : timeline.lanes)
        if (lane.kind == Lane::Kind::Counter)
            lanes.push_back(&lane);
    return lanes;
}

} // namespace

TEST(MetricLanes, ComeBeforeCountersAndHaveHoles)
{
    const Timeline timeline = timelineWith({track("Power cap", 0, 900, 0), track(kSmActive, 0, 200, 50),
                                            track(kDramRead, 0, 900, 5), track(kSmActive, 400, 500, 70),
                                            track(kSmActive, 500, 900, 80)});
    const std::vector<const Lane*> lanes = countersOf(timeline);
    ASSERT_EQ(lanes.size(), 3U);
    const Lane& active = *lanes[0];
    EXPECT_EQ(active.title, "SM active");
    EXPECT_EQ(active.detail, "GPU 0, mean 70.0 %") << "over the time in which it is known";
    EXPECT_TRUE(active.isMetric());
    EXPECT_THAT(active.holes, ElementsAre(Pair(200, 400)));
    EXPECT_EQ(active.valuesEnd, 900);
    EXPECT_EQ(active.holeAt(200), std::pair(std::int64_t{200}, std::int64_t{400}));
    EXPECT_FALSE(active.holeAt(199));
    EXPECT_FALSE(active.holeAt(400));
    EXPECT_EQ(active.values.at(450), 70'000);
    EXPECT_EQ(active.values.stepAt(450, active.valuesEnd), std::pair(std::int64_t{400}, std::int64_t{500}));
    EXPECT_EQ(active.values.stepAt(700, active.valuesEnd), std::pair(std::int64_t{500}, std::int64_t{900}));
    EXPECT_EQ(lanes[1]->title, "DRAM read");
    EXPECT_EQ(lanes[2]->title, "Power cap");
    EXPECT_FALSE(lanes[2]->isMetric());
    EXPECT_EQ(lanes[2]->detail, "GPU 0");
}

TEST(MetricLanes, TellWhatRanBeneathASample)
{
    const Timeline timeline = timelineWith({});
    const std::vector<WorkBeneath> works = workBeneath(timeline, DeviceIndex{0}, 280, 400);
    ASSERT_EQ(works.size(), 3U);
    EXPECT_EQ(works[0].time, 70) << "20 and 50 of two products";
    EXPECT_EQ(works[1].time, 50);
    EXPECT_EQ(works[2].time, 20) << "on the other stream";
    EXPECT_TRUE(workBeneath(timeline, DeviceIndex{0}, 600, 900).empty());
    EXPECT_TRUE(workBeneath(timeline, DeviceIndex{1}, 0, 900).empty());
}

} // namespace tilescope::query
