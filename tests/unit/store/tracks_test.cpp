// What a viewer draws: packed boxes, in lanes and rows, against the events that they were made from.

#include "core/base/error.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/tracks/packed_track.h"
#include "store_fixture.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

namespace tilescope::store {

using namespace testing;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kTrackSeed = 20'261'121;

std::vector<Box> randomBoxes(std::mt19937_64& random, std::size_t count)
{
    std::vector<Box> boxes;
    std::int64_t time = -5'000;
    for (std::size_t i = 0; i < count; ++i) {
        time += static_cast<std::int64_t>(random() % (i % 100 == 0 ? 10'000'000'000 : 900));
        const auto length = static_cast<std::int64_t>(random() % (i % 333 == 0 ? 5'000'000'000 : 3'000));
        boxes.push_back({time, length, BoxCode::of(random() % 300, random() % 4)});
        time += length;
    }
    return boxes;
}

} // namespace

TEST(PackedTrack, GivesBackWhatWasPacked)
{
    std::mt19937_64 random(kTrackSeed);
    for (const std::size_t count : {0, 1, 2, 4096}) {
        const std::vector<Box> boxes = randomBoxes(random, count);
        std::vector<Box> found;
        unpackBoxes(packBoxes(boxes), found);
        EXPECT_EQ(found, boxes) << count;
        std::vector<MemoryPoint> points;
        for (const Box& box : boxes)
            points.push_back(
                {box.start, static_cast<std::int64_t>(random() >> 20) - (1LL << 42), box.length});
        std::vector<MemoryPoint> pointsFound;
        unpackPoints(packPoints(points), pointsFound);
        EXPECT_EQ(pointsFound, points) << count;
    }
}

TEST(PackedTrack, APieceNamesItsCodesAndUnpacksWithoutCopies)
{
    std::mt19937_64 random(kTrackSeed);
    const std::vector<Box> boxes = randomBoxes(random, 1'000);
    const PackedBoxes packed(packBoxes(boxes));
    ASSERT_EQ(packed.size(), boxes.size());
    EXPECT_EQ(packed.codes().front(), boxes.front().code);
    EXPECT_EQ(std::set(packed.codes().begin(), packed.codes().end()).size(), packed.codes().size());
    std::vector<Box> found;
    packed.each([&](std::int64_t start, std::int64_t length, std::size_t place) {
        found.push_back({start, length, packed.codes().at(place)});
    });
    EXPECT_EQ(found, boxes);
}

TEST(PackedTrack, TakesFewBytes)
{
    std::mt19937_64 random(kTrackSeed);
    std::vector<Box> boxes;
    for (std::int64_t i = 0; i < 4096; ++i)
        boxes.push_back({i * 3'000 + static_cast<std::int64_t>(random() % 500), 1'000, random() % 100});
    EXPECT_LT(packBoxes(boxes).size(), 6 * boxes.size());
}

TEST(PackedTrack, NoticesDamage)
{
    std::mt19937_64 random(kTrackSeed);
    const std::string packed = packBoxes(randomBoxes(random, 300));
    std::vector<Box> found;
    for (int i = 0; i < 500; ++i) {
        std::string damaged = packed;
        if (i % 5 == 0)
            damaged.resize(random() % packed.size());
        else
            damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
        EXPECT_THROW(unpackBoxes(damaged, found), Error) << i;
    }
}

class Tracks : public ::testing::Test {
protected:
    using Key = std::tuple<LaneKind, std::int64_t, std::int64_t>;
    using Boxes = std::vector<std::tuple<std::int64_t, std::int64_t, std::string, unsigned>>;

    static std::int64_t number(auto id) { return id ? static_cast<std::int64_t>(id.value) : -1; }

    /// Ops nested on two threads with calls among them, kernels that overlap on one of three streams, some of
    /// which come late, and a device's memory.
    TraceBatch batch(std::uint32_t number)
    {
        TraceBatch batch;
        for (std::uint32_t i = 0; i < 1'000; ++i) {
            const std::uint32_t id = number * 1'000 + i;
            const std::int64_t t = 1'000 * static_cast<std::int64_t>(id);
            if (i % 500 == 0) {
                Range range = make.range(nextRange_++, "step", t, t + 450'000);
                range.step = static_cast<std::int32_t>(id / 500);
                batch.ranges.push_back(range);
            }
            batch.ranges.push_back(make.range(nextRange_++, "step/m" + std::to_string(id % 7), t, t + 900));
            for (const int depth : {0, 1}) {
                Op op = make.op(nextOp_++, "aten::op" + std::to_string(random_() % 9), t + 10 * depth,
                                t + 800 - 50 * depth);
                op.thread = ThreadId{101 + id % 2};
                batch.ops.push_back(op);
            }
            ApiCall call;
            call.name = make.text("cudaLaunchKernel");
            call.kind = static_cast<ApiKind>(id % 6); // all there are
            call.thread = ThreadId{101};
            call.start = make.at(t + 100);
            call.end = make.at(t + 150);
            batch.apiCalls.push_back(call);
            DeviceEvent kernel = make.kernel("kernel_" + std::to_string(random_() % 40), t + 500, t + 1'000);
            kernel.stream = StreamId{7 + id % 3};
            kernel.end += Nanoseconds(random_() % 4'000); // overlaps the stream's next one now and then
            kernel.launched = kernel.start - Nanoseconds(random_() % 2'000);
            if (id % 11 == 0) {
                kernel.kind = id % 2 ? DeviceEventKind::Memset : DeviceEventKind::Memcpy;
                kernel.name = make.text("memory");
            }
            // Some come a batch late.
            (random_() % 50 == 0 ? late_ : batch.deviceEvents).push_back(kernel);
            AllocEvent event = make.allocation(AllocAction::Alloc, id, 512, t + 3);
            event.device = DeviceIndex{0};
            event.allocated = static_cast<std::int64_t>(random_() % 1'000'000);
            event.reserved = 1 << 20;
            batch.allocEvents.push_back(event);
        }
        if (number % 2 == 1)
            batch.deviceEvents.insert(batch.deviceEvents.end(), late_.begin(), late_.end());
        if (number % 2 == 1)
            late_.clear();
        std::ranges::stable_sort(batch.deviceEvents, {}, &DeviceEvent::start);
        return batch;
    }

    void writeRun(std::uint32_t batches)
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        for (std::uint32_t i = 0; i < batches; ++i)
            writer.write(batch(i));
        writer.endRun({});
    }

    /// The same events in start order: those of the host, then those of the device.
    std::vector<TraceBatch> orderedBatches(std::uint32_t count)
    {
        std::vector<TraceBatch> batches;
        TraceBatch device;
        for (std::uint32_t i = 0; i < count; ++i) {
            TraceBatch host = batch(i);
            device.deviceEvents.insert(device.deviceEvents.end(), host.deviceEvents.begin(),
                                       host.deviceEvents.end());
            host.deviceEvents.clear();
            batches.push_back(std::move(host));
        }
        std::ranges::stable_sort(device.deviceEvents, {}, &DeviceEvent::start);
        batches.push_back(std::move(device));
        return batches;
    }

    /// \return  tracks and totals of the run in the file, as text
    std::vector<std::string> writeInOrder(const std::vector<TraceBatch>& batches, bool isInOrder)
    {
        fs::remove(file);
        {
            RunWriter writer(file, strings);
            RunHeader ours = header();
            ours.workload = kTraceWorkload.name;
            ours.clockOrigin = make.at(0);
            ours.isInOrder = isInOrder;
            writer.beginRun(ours);
            for (const TraceBatch& some : batches)
                writer.write(some);
            writer.endRun({});
        }
        std::vector<std::string> found;
        for (const char* query :
             {"select t.kind, t.device, t.stream, t.thread, t.row, t.start, t.end, t.events, d.first, "
              "d.events, d.start, d.end, "
              "hex(d.data) from track_data d join track t on t.id = d.track order by 1, 2, 3, 4, 5, 9",
              "select kind, name, path, instances, total, shortest, longest, squares from kernel_total order "
              "by 1, 2, 3",
              "select path, instances, wall, gpu from range_total order by 1",
              "select step, start, end, gpu_busy, launching, synchronizing, tracing, unexplained from "
              "step_total order by 1",
              "select number, caller, name, shapes, path, process, traced, first, calls, launching, total, "
              "self from "
              "op_total order by 1",
              "select kind, name, path, process, op, traced, launched, replayed, instances, total, shortest, "
              "longest, squares, first_step, hex(steps) from activity_total order by id",
              "select path, category, process, op, traced, gpu, blocks, bytes from allocation_total order by "
              "id"})
            found.push_back(rowsOf(query));
        return found;
    }

    static std::map<Key, Boxes> boxesFromEvents(const RunReader& reader)
    {
        const EventWindow all{.run = RunId{1}};
        const Timestamp origin = reader.run(RunId{1})->clockOrigin;
        std::map<Key, Boxes> lanes;
        const auto put = [&](LaneKind kind, std::int64_t owner, std::int64_t stream, const auto& event,
                             StringId text, unsigned detail) {
            lanes[{kind, owner, stream}].emplace_back(
                (event.start - origin).count(), (event.end - event.start).count(), reader.text(text), detail);
        };
        for (const Range& range : reader.ranges(all))
            put(LaneKind::Range, number(range.thread), -1, range, range.path, 0);
        for (const Op& op : reader.ops(all))
            put(LaneKind::Thread, number(op.thread), -1, op, op.name, 0);
        for (const ApiCall& call : reader.apiCalls(all))
            put(LaneKind::Thread, number(call.thread), -1, call, call.name,
                call.kind == ApiKind::Overhead                                    ? 3
                : call.kind == ApiKind::Synchronize || call.kind == ApiKind::Wait ? 2
                                                                                  : 1);
        for (const DeviceEvent& event : reader.deviceEvents(all))
            put(LaneKind::Stream, number(event.device), number(event.stream), event, event.name,
                static_cast<unsigned>(event.kind));
        for (auto& [key, boxes] : lanes)
            std::ranges::sort(boxes);
        return lanes;
    }

    /// Checks on the way that no two boxes of a row overlap.
    static std::map<Key, Boxes> boxesFromTracks(const RunReader& reader)
    {
        std::map<Key, Boxes> lanes;
        for (const TrackInfo& track : reader.tracks(RunId{1})) {
            if (track.kind != LaneKind::Range && track.kind != LaneKind::Thread &&
                track.kind != LaneKind::Stream)
                continue;
            const bool onThread = track.kind != LaneKind::Stream;
            Boxes& boxes = lanes[{track.kind, onThread ? number(track.thread) : number(track.device),
                                  number(track.stream)}];
            std::int64_t last = std::numeric_limits<std::int64_t>::min();
            reader.eachBoxes(RunId{1}, track, [&](std::span<const Box> some) {
                for (const Box& box : some) {
                    EXPECT_GE(box.start, last);
                    last = box.start + box.length;
                    boxes.emplace_back(box.start, box.length, reader.text(BoxCode::text(box.code)),
                                       BoxCode::detail(box.code));
                }
                return true;
            });
        }
        for (auto& [key, boxes] : lanes)
            std::ranges::sort(boxes);
        return lanes;
    }

    std::int64_t sql(const std::string& query)
    {
        sqlite3* database = nullptr;
        EXPECT_EQ(sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
        sqlite3_stmt* row = nullptr;
        EXPECT_EQ(sqlite3_prepare_v2(database, query.c_str(), -1, &row, nullptr), SQLITE_OK)
            << sqlite3_errmsg(database);
        EXPECT_EQ(sqlite3_step(row), SQLITE_ROW);
        const std::int64_t value = sqlite3_column_int64(row, 0);
        sqlite3_finalize(row);
        sqlite3_close(database);
        return value;
    }

    /// One line each.
    std::string rowsOf(const std::string& query)
    {
        std::string text;
        sqlite3* database = nullptr;
        EXPECT_EQ(sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
        const auto append = [](void* to, int columns, char** values, char**) {
            for (int i = 0; i < columns; ++i)
                static_cast<std::string*>(to)
                    ->append(values[i] ? values[i] : "null")
                    .append(i + 1 < columns ? " " : "\n");
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(database, query.c_str(), append, &text, nullptr), SQLITE_OK)
            << sqlite3_errmsg(database);
        sqlite3_close(database);
        return text;
    }

    void expectSound(const fs::path& path)
    {
        const VerifyReport report = verify(path);
        EXPECT_TRUE(report.ok()) << report.problems.at(0);
    }

    TemporaryFolder folder;
    fs::path file = folder / "tracks.tscope";
    StringTable strings;
    Builder make{strings};
    std::mt19937 random_{kTrackSeed};
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextOp_ = 0;
    std::vector<DeviceEvent> late_;
};

TEST_F(Tracks, HoldEveryEventOfEachLane)
{
    writeRun(12);
    const RunReader reader(file);
    ASSERT_GE(reader.counts(RunId{1}).total(), 70'000);
    const auto expected = boxesFromEvents(reader);
    ASSERT_EQ(expected.size(), 6u) << "ranges, two threads, three streams";
    EXPECT_EQ(boxesFromTracks(reader), expected);
    expectSound(file);
}

TEST_F(Tracks, KnowStepsBusyTimeAndMemory)
{
    writeRun(12);
    const RunReader reader(file);
    std::int64_t busy = 0;
    std::vector<std::uint64_t> steps;
    std::vector<MemoryPoint> points;
    for (const TrackInfo& track : reader.tracks(RunId{1})) {
        if (track.kind == LaneKind::Memory)
            reader.eachPoints(RunId{1}, track, [&](std::span<const MemoryPoint> some) {
                points.insert(points.end(), some.begin(), some.end());
                return true;
            });
        else
            reader.eachBoxes(RunId{1}, track, [&](std::span<const Box> some) {
                for (const Box& box : some) {
                    if (track.kind == LaneKind::Step)
                        steps.push_back(box.code);
                    if (track.kind == LaneKind::Busy && box.code == 0)
                        busy += box.length;
                }
                return true;
            });
    }
    EXPECT_EQ(steps.size(), 24u);
    EXPECT_EQ(steps.back(), 23u);
    std::int64_t expectedBusy = 0;
    Timestamp covered = Timestamp::min();
    for (const DeviceEvent& event : reader.deviceEvents({.run = RunId{1}})) {
        if (event.end > covered)
            expectedBusy += (event.end - std::max(event.start, covered)).count();
        covered = std::max(covered, event.end);
    }
    EXPECT_EQ(busy, expectedBusy);
    const auto events = reader.allocEvents({.run = RunId{1}});
    ASSERT_EQ(points.size(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i)
        ASSERT_EQ(points[i].allocated, events[i].allocated);
}

TEST_F(Tracks, AreTheSameIfMadeWhileTheEventsAreWritten)
{
    for (const std::uint32_t count : {1, 9, 12}) {
        const std::vector<TraceBatch> batches = orderedBatches(count);
        const auto expected = writeInOrder(batches, false);
        EXPECT_EQ(writeInOrder(batches, true), expected) << count;
        EXPECT_EQ(std::ranges::count(expected, std::string()), count == 1 ? 7 : 0) << count;
        expectSound(file);
    }
}

TEST_F(Tracks, OfARunThatIsNotEndedAreThoseOfItsEvents)
{
    {
        RunWriter writer(file, strings);
        RunHeader ours = header();
        ours.isInOrder = true;
        writer.beginRun(ours);
        for (const TraceBatch& some : orderedBatches(12))
            writer.write(some);
    }
    const RunReader reader(file);
    EXPECT_EQ(reader.run(RunId{1})->result.status, RunStatus::Interrupted);
    EXPECT_EQ(boxesFromTracks(reader), boxesFromEvents(reader));
    expectSound(file);
}

TEST_F(Tracks, AreLeftOutOfASmallRun)
{
    writeRun(2);
    EXPECT_TRUE(RunReader(file).tracks(RunId{1}).empty());
}

TEST_F(Tracks, AreLeftOutOfARunWithHardlyAnEventInEach)
{
    constexpr std::uint32_t kOps = 60'000;
    TraceBatch batch;
    for (std::uint32_t i = 0; i < kOps; ++i) {
        batch.ops.push_back(make.op(i, "aten::mm", 10 * i, 10 * i + 5));
        batch.ops.back().thread = ThreadId{i / 3};
    }
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        writer.write(batch);
        writer.endRun({});
    }
    const RunReader reader(file);
    EXPECT_TRUE(reader.tracks(RunId{1}).empty());
    EXPECT_EQ(reader.ops({.run = RunId{1}}).size(), kOps);
    expectSound(file);
}

TEST_F(Tracks, AreDeletedWithTheirRunAndRebuiltInOtherFiles)
{
    writeRun(12);
    const auto expected = boxesFromTracks(RunReader(file));
    const fs::path merged = folder / "merged.tscope";
    {
        // Other strings come first there.
        StringTable others;
        RunWriter writer(merged, others);
        writer.beginRun(header("first"));
        TraceBatch events;
        Builder maker(others);
        for (std::uint32_t i = 0; i < 50; ++i)
            events.ops.push_back(maker.op(i, "other" + std::to_string(i), i, i + 1));
        writer.write(events);
        writer.endRun({});
    }
    const fs::path sources[] = {file};
    merge(sources, merged);
    deleteRuns(merged, std::array{RunId{1}});
    compact(merged);
    expectSound(merged);
    EXPECT_FALSE(RunReader(merged).tracks(RunId{2}).empty());
    deleteRuns(file, std::array{RunId{1}});
    expectSound(file);
    for (const char* table : {"track", "track_data"})
        EXPECT_EQ(sql(std::string("select count(*) from ") + table), 0) << table;
    deleteRuns(merged, std::array{RunId{2}});
    expectSound(merged);
    EXPECT_FALSE(expected.empty());
}

TEST_F(Tracks, ReportWhatIsMissing)
{
    writeRun(12);
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(
        sqlite3_exec(database,
                     "update track_data set data = zeroblob(100) where id = (select max(id) from track_data)",
                     nullptr, nullptr, nullptr),
        SQLITE_OK);
    sqlite3_close(database);
    const RunReader reader(file);
    EXPECT_THROW(
        {
            for (const TrackInfo& track : reader.tracks(RunId{1}))
                if (track.kind == LaneKind::Memory)
                    reader.eachPoints(RunId{1}, track, [](auto) { return true; });
                else
                    reader.eachBoxes(RunId{1}, track, [](auto) { return true; });
        },
        Error);
    EXPECT_FALSE(verify(file).ok());
}

} // namespace tilescope::store
