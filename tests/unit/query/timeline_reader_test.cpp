// The timeline of a sealed file, read from its prepared tracks, equals the one built from its events.

#include "core/query/timeline/timeline_reader.h"

#include "core/query/steps/step_tables.h"
#include "core/query/timeline/timeline_follower.h"
#include "core/query/timeline/timeline_search.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/store/child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::query {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kReaderSeed = 20'261'121;

class TimelineReader : public ::testing::Test {
protected:
    /// Steps of nested ranges and ops on two threads with CUDA calls, kernels and copies on three streams
    /// that sometimes overlap, and a device's memory.
    void write(std::uint32_t modules)
    {
        store::RunWriter writer(file, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        const Timestamp origin = TraceClock::now();
        for (std::uint32_t first = 0; first < modules; first += 1'000) {
            TraceBatch batch;
            if (first == 0)
                batch.threads = {{ThreadId{11}, strings.intern("main")}};
            for (std::uint32_t i = first; i < std::min(first + 1'000, modules); ++i)
                addModule(batch, i, origin + Nanoseconds(2'000'000 + 20'000LL * i));
            std::ranges::stable_sort(batch.deviceEvents, {}, &DeviceEvent::start);
            writer.write(batch);
        }
        writer.endRun({});
    }

    void addModule(TraceBatch& batch, std::uint32_t number, Timestamp start)
    {
        const auto at = [start](std::int64_t offset) { return start + Nanoseconds(offset); };
        const auto step = static_cast<std::int32_t>(number / 100);
        Range range;
        range.thread = ThreadId{11};
        range.step = step;
        if (number % 100 == 0) {
            range.id = RangeId{nextRange_++};
            range.path = strings.intern("step");
            range.start = at(0);
            range.end = at(100 * 20'000 - 5'000);
            batch.ranges.push_back(range);
        }
        range.id = RangeId{nextRange_++};
        range.path = strings.intern("step/forward/layers." + std::to_string(number % 12));
        range.start = at(10);
        range.end = at(19'000);
        batch.ranges.push_back(range);
        for (int depth = 0; depth < 2; ++depth) {
            Op op;
            op.id = OpId{nextOp_++};
            op.thread = ThreadId{11 + number % 2};
            op.name = strings.intern("aten::op" + std::to_string(random_() % 20));
            op.step = step;
            op.start = at(100 + 50 * depth);
            op.end = at(9'000 - 50 * depth);
            batch.ops.push_back(op);
        }
        ApiCall call;
        call.name = strings.intern("cudaDeviceSynchronize");
        call.thread = ThreadId{11 + number % 2};
        call.start = at(1'000);
        call.end = at(1'500);
        batch.apiCalls.push_back(call);
        DeviceEvent event;
        event.kind = number % 9 == 0 ? DeviceEventKind::Memset : DeviceEventKind::Kernel;
        event.name = strings.intern("void kernel_" + std::to_string(random_() % 60) + "<float>(int)");
        event.device = DeviceIndex{0};
        event.stream = StreamId{7 + number % 3};
        event.step = step;
        event.launched = at(1'100);
        event.start = at(2'000 + random_() % 20'000);
        event.end = event.start + Nanoseconds(random_() % 70'000);
        batch.deviceEvents.push_back(event);
        AllocEvent allocation;
        allocation.device = DeviceIndex{0};
        allocation.time = at(200);
        allocation.allocated = random_() % 100'000;
        allocation.reserved = 1 << 20;
        batch.allocEvents.push_back(allocation);
    }

    static void expectSame(const Timeline& a, const Timeline& b)
    {
        EXPECT_EQ(a.origin, b.origin);
        EXPECT_EQ(a.length, b.length);
        ASSERT_EQ(a.steps.size(), b.steps.size());
        for (std::size_t i = 0; i < a.steps.size(); ++i) {
            EXPECT_EQ(a.steps[i].step, b.steps[i].step);
            EXPECT_EQ(a.steps[i].start, b.steps[i].start) << i;
            EXPECT_EQ(a.steps[i].end, b.steps[i].end) << i;
            EXPECT_EQ(a.steps[i].hostStart, b.steps[i].hostStart) << i;
            EXPECT_EQ(a.steps[i].hostEnd, b.steps[i].hostEnd) << i;
        }
        ASSERT_EQ(a.lanes.size(), b.lanes.size());
        for (std::size_t l = 0; l < a.lanes.size(); ++l) {
            SCOPED_TRACE("lane " + a.lanes[l].title);
            EXPECT_EQ(a.lanes[l].title, b.lanes[l].title);
            EXPECT_EQ(a.lanes[l].detail, b.lanes[l].detail);
            ASSERT_EQ(a.lanes[l].rows.size(), b.lanes[l].rows.size());
            for (std::size_t r = 0; r < a.lanes[l].rows.size(); ++r)
                expectSameRow(a, a.lanes[l].rows[r], b, b.lanes[l].rows[r]);
            ASSERT_EQ(a.lanes[l].allocated.size(), b.lanes[l].allocated.size());
            for (std::size_t i = 0; i < a.lanes[l].allocated.size(); ++i) {
                ASSERT_EQ(a.lanes[l].allocated.time(i), b.lanes[l].allocated.time(i));
                ASSERT_EQ(a.lanes[l].allocated.value(i), b.lanes[l].allocated.value(i));
            }
        }
    }

    static void expectSameRow(const Timeline& a, const Track& x, const Timeline& b, const Track& y)
    {
        ASSERT_EQ(x.size(), y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_EQ(x.start(i), y.start(i)) << i;
            ASSERT_EQ(x.length(i), y.length(i)) << i;
            ASSERT_EQ(x.hue(i), y.hue(i)) << i;
            ASSERT_EQ(a.names[x.name(i)].text, b.names[y.name(i)].text) << i;
            ASSERT_EQ(a.names[x.name(i)].label, b.names[y.name(i)].label) << i;
        }
    }

    tilescope::testing::TemporaryFolder folder;
    fs::path file = folder / "timeline.tscope";
    StringTable strings;
    std::mt19937 random_{kReaderSeed};
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextOp_ = 0;
};

TEST_F(TimelineReader, TracksMakeTheTimelineOfTheirEvents)
{
    write(12'000);
    const store::RunReader reader(file);
    ASSERT_FALSE(reader.tracks(RunId{1}).empty());
    const Timeline fromTracks = readTimeline(reader, RunId{1}, testing::kNotCancelled).value();
    EXPECT_EQ(fromTracks.steps.size(), 120u);
    EXPECT_EQ(fromTracks.lanes.size(), 8u) << "ranges, two threads, three streams, busy, memory";
    expectSame(fromTracks, timelineFromEvents(reader, RunId{1}, testing::kNotCancelled).value());
}

TEST_F(TimelineReader, ARowOfManyPiecesKeepsItsLongBoxes)
{
    constexpr std::uint32_t kKernels = 60'000;
    constexpr std::int64_t kLong = 6'000'000'000; // does not fit into 32 bits
    {
        store::RunWriter writer(file, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        Timestamp time = TraceClock::now();
        for (std::uint32_t made = 0; made < kKernels;) {
            TraceBatch batch;
            for (std::uint32_t i = 0; i < 5'000; ++i, ++made) {
                DeviceEvent event;
                event.name = strings.intern("kernel_" + std::to_string(random_() % 60));
                event.device = DeviceIndex{0};
                event.stream = StreamId{7};
                event.start = time;
                event.end = time += Nanoseconds(made % 977 == 0 ? kLong + made : random_() % 9'000);
                batch.deviceEvents.push_back(event);
            }
            writer.write(batch);
        }
        writer.endRun({});
    }
    const store::RunReader reader(file);
    ASSERT_FALSE(reader.tracks(RunId{1}).empty());
    const Timeline fromTracks = readTimeline(reader, RunId{1}, testing::kNotCancelled).value();
    EXPECT_EQ(fromTracks.lanes[0].rows[0].length(977), kLong + 977);
    expectSame(fromTracks, timelineFromEvents(reader, RunId{1}, testing::kNotCancelled).value());
}

TEST_F(TimelineReader, StepsAreAsLongAsInTheTableOfSteps)
{
    write(12'000);
    const store::RunReader reader(file);
    const Timeline timeline = readTimeline(reader, RunId{1}, testing::kNotCancelled).value();
    const StepsTable table = steps(reader, {.run = RunId{1}});
    ASSERT_EQ(table.rows.size(), timeline.steps.size());
    std::size_t delayed = 0;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const analysis::Interval& wall = table.rows[i].partition.wall;
        const TimelineStep& step = timeline.steps[i];
        EXPECT_EQ(step.start, (wall.start - timeline.origin).count()) << i;
        EXPECT_EQ(step.end, (wall.end - timeline.origin).count()) << i;
        delayed += step.end > step.hostEnd;
    }
    EXPECT_GT(delayed, 50U) << "kernels run longer than the step on the host";
}

TEST_F(TimelineReader, CoverageOfAWindowIsThatOfTheRows)
{
    write(12'000);
    const store::RunReader reader(file);
    const Timeline timeline = readTimeline(reader, RunId{1}, testing::kNotCancelled).value();
    std::mt19937_64 random(kReaderSeed);
    const Timestamp origin = timeline.origin;
    for (int i = 0; i < 40; ++i) {
        const auto length = static_cast<std::int64_t>(timeline.length >> (random() % 14));
        const std::int64_t from = static_cast<std::int64_t>(random() % (timeline.length - length + 1));
        std::int64_t expected = 0;
        reader.eachDeviceEvent(
            {.run = RunId{1}, .from = origin + Nanoseconds(from), .to = origin + Nanoseconds(from + length)},
            [&](const DeviceEvent& event) {
                expected += (std::min(event.end, origin + Nanoseconds(from + length)) -
                             std::max(event.start, origin + Nanoseconds(from)))
                                .count();
                return true;
            });
        double drawn = 0;
        std::vector<Column> columns(800);
        for (const Lane& lane : timeline.lanes)
            if (lane.kind == Lane::Kind::Stream)
                for (const Track& row : lane.rows) {
                    const double perColumn = static_cast<double>(length) / 800;
                    row.columns(static_cast<double>(from), perColumn, columns);
                    for (const Column& column : columns)
                        drawn += static_cast<double>(column.coverage) * perColumn;
                }
        EXPECT_NEAR(drawn, static_cast<double>(expected), 1e-5 * static_cast<double>(expected) + 1)
            << "from " << from << " over " << length;
    }
}

TEST_F(TimelineReader, SearchFindsEveryInstance)
{
    write(12'000);
    const store::RunReader reader(file);
    const Timeline timeline = readTimeline(reader, RunId{1}, testing::kNotCancelled).value();
    std::int64_t expected = 0;
    reader.eachDeviceEvent({.run = RunId{1}}, [&](const DeviceEvent& event) {
        expected += reader.text(event.name).find("kernel_7<") != std::string_view::npos;
        return true;
    });
    const SearchResult found = search(timeline, "KERNEL_7<", testing::kNotCancelled);
    EXPECT_GT(expected, 100);
    EXPECT_EQ(found.kernels, expected);
}

TEST_F(TimelineReader, StopsIfCancelled)
{
    write(12'000);
    const store::RunReader reader(file);
    EXPECT_FALSE(readTimeline(reader, RunId{1}, [] { return true; }));
    EXPECT_FALSE(timelineFromEvents(reader, RunId{1}, [] { return true; }));
}

/// The first process writes a run while another one reads: each step's range arrives one batch late, as for a
/// step that ends after the batch.
TEST_F(TimelineReader, ARunIsFollowedWhileAnotherProcessWritesIt)
{
    constexpr std::uint32_t kBatches = 12;
    store::testing::Child writing([&](int out) {
        store::RunWriter writer(file, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        const Timestamp origin = TraceClock::now();
        std::vector<Range> late;
        for (std::uint32_t number = 0; number < kBatches; ++number) {
            TraceBatch batch;
            for (std::uint32_t i = 0; i < 500; ++i)
                addModule(batch, 500 * number + i,
                          origin + Nanoseconds(2'000'000 + 20'000LL * (500 * number + i)));
            std::ranges::stable_sort(batch.deviceEvents, {}, &DeviceEvent::start);
            const auto isStep = [&](const Range& range) { return strings.text(range.path) == "step"; };
            const auto others = std::stable_partition(batch.ranges.begin(), batch.ranges.end(), isStep);
            const std::vector<Range> held(batch.ranges.begin(), others);
            batch.ranges.erase(batch.ranges.begin(), others);
            batch.ranges.insert(batch.ranges.begin(), late.begin(), late.end());
            late = held;
            writer.write(batch);
            writer.commit();
            store::testing::say(out, "committed");
        }
        TraceBatch rest;
        rest.ranges = late;
        rest.threads = {{ThreadId{11}, strings.intern("main")}};
        writer.write(rest);
        writer.commit();
        store::testing::say(out, "all");
        pause(); // until the process is killed: the run is testing::kNotCancelled sealed
    });
    ASSERT_EQ(writing.line(), "committed");
    const store::RunReader reader(file);
    TimelineFollower follower(reader, RunId{1});
    std::size_t seen = 0;
    const auto eventsOf = [](const Timeline& timeline) {
        std::size_t events = 0;
        for (const Lane& lane : timeline.lanes)
            if (lane.kind != Lane::Kind::Busy)
                events += lane.events();
        return events;
    };
    for (std::uint32_t number = 1; number <= kBatches; ++number) {
        const auto timeline = follower.follow(testing::kNotCancelled);
        const std::size_t events = eventsOf(*timeline);
        // At least the events committed before the read: 500 modules of six events, except the steps' ranges.
        EXPECT_GE(events, number * 500 * 6);
        EXPECT_GE(events, seen);
        seen = events;
        EXPECT_EQ(writing.line(), number < kBatches ? "committed" : "all");
    }
    const auto followed = follower.follow(testing::kNotCancelled);
    EXPECT_EQ(follower.follow(testing::kNotCancelled), followed) << "nothing is new";
    EXPECT_EQ(followed->steps.size(), 60u);
    Timeline expected = timelineFromEvents(reader, RunId{1}, testing::kNotCancelled).value();
    ASSERT_EQ(followed->lanes.size(), expected.lanes.size());
    const std::int64_t shift = (expected.origin - followed->origin).count();
    for (std::size_t l = 0; l < expected.lanes.size(); ++l) {
        SCOPED_TRACE("lane " + expected.lanes[l].title);
        EXPECT_EQ(followed->lanes[l].title, expected.lanes[l].title);
        ASSERT_EQ(followed->lanes[l].rows.size(), expected.lanes[l].rows.size());
        for (std::size_t r = 0; r < expected.lanes[l].rows.size(); ++r) {
            const Track& a = followed->lanes[l].rows[r];
            const Track& b = expected.lanes[l].rows[r];
            ASSERT_EQ(a.size(), b.size());
            for (std::size_t i = 0; i < a.size(); ++i) {
                ASSERT_EQ(a.start(i), b.start(i) + shift);
                ASSERT_EQ(a.length(i), b.length(i));
                ASSERT_EQ(followed->names[a.name(i)].text, expected.names[b.name(i)].text);
            }
        }
        EXPECT_EQ(followed->lanes[l].allocated.size(), expected.lanes[l].allocated.size());
    }
}

TEST(Rows, LateEventsGetTheSameRowsAsEventsInOrder)
{
    std::mt19937 random(kReaderSeed);
    struct Event {
        std::int64_t start, end;
    };
    std::vector<Event> events; // nested like ops
    const auto nest = [&](auto&& self, std::int64_t from, std::int64_t to, int depth) -> void {
        for (std::int64_t time = from + 1; time < to - 20;) {
            const Event event{time, std::min<std::int64_t>(to - 1, time + 5 + random() % 300)};
            events.push_back(event);
            if (depth < 4 && random() % 2)
                self(self, event.start, event.end, depth + 1);
            time = event.end + 1;
        }
    };
    nest(nest, 0, 50'000, 0);
    RowsBuilder inOrder;
    for (const Event& event : events)
        inOrder.add(event.start, event.end, 0, Hue::Other);
    // In the order in which they are recorded, at their end, with snapshots in between.
    std::ranges::sort(events, {}, &Event::end);
    RowsBuilder late;
    for (std::size_t i = 0; i < events.size(); ++i) {
        late.add(events[i].start, events[i].end, 0, Hue::Other);
        if (i % 100 == 0)
            late.settle();
    }
    const std::vector<Track> expected = std::move(inOrder).build();
    const std::vector<Track> found = std::move(late).build();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t r = 0; r < found.size(); ++r) {
        ASSERT_EQ(found[r].size(), expected[r].size());
        for (std::size_t i = 0; i < found[r].size(); ++i) {
            ASSERT_EQ(found[r].start(i), expected[r].start(i));
            ASSERT_EQ(found[r].end(i), expected[r].end(i));
        }
    }
}

} // namespace
} // namespace tilescope::query
