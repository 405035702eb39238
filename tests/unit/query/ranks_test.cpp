// Runs of several processes: timeline, stacks of Python, kernels and memory by rank.

#include "core/base/error.h"
#include "core/model/process_address.h"
#include "core/query/file_session.h"
#include "core/query/kernels/kernel_stats.h"
#include "core/query/memory/memory_tables.h"
#include "core/query/runs/host_memory.h"
#include "core/query/runs/process_filter.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/query/timeline/timeline_search.h"
#include "core/store/run_writer.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/two_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;

constexpr RunId kRun{1};

/// Two ranks that do the same, the second one 50 ns later: a step with a call in a stack, a kernel that it
/// launches, and memory, of which rank 1 has more.
class Ranks : public ::testing::TestWithParam<int> {
protected:
    Ranks()
    {
        store::RunWriter writer(file_, strings_);
        writer.beginRun({"ranks", "trace", "{}", "hash", "test"});
        writer.writeTopology(testing::twoRanks(0));
        for (int rank = 1; rank >= 0; --rank)
            writer.write(batchOf(rank));
        writer.endRun({});
    }

    Timestamp at(std::int64_t time) const { return origin_ + Nanoseconds(time); }

    TraceBatch batchOf(int rank)
    {
        const ThreadId thread{static_cast<std::uint32_t>(10 + rank)};
        const std::int64_t shift = 50 * rank;
        TraceBatch batch;
        batch.threads = {{thread, strings_.intern("main"), ProcessIndex{rank}, 1000 + rank}};
        for (int step = 0; step < 2; ++step) {
            const std::int64_t from = 1000 * step + shift;
            batch.ranges.push_back({.id = RangeId{static_cast<std::uint32_t>(2 * rank + step)},
                                    .path = strings_.intern("step"),
                                    .name = strings_.intern("step"),
                                    .thread = thread,
                                    .step = step,
                                    .start = at(from),
                                    .end = at(from + 900)});
            batch.frames.push_back(
                {strings_.intern("train.py(9): train"), thread, step, at(from), at(from + 890)});
            batch.frames.push_back({strings_.intern("torch/nn/modules/module.py(1): _call_impl"), thread,
                                    step, at(from + 10), at(from + 500)});
            DeviceEvent kernel;
            kernel.name = strings_.intern("gemm");
            kernel.device = DeviceIndex{static_cast<std::int16_t>(rank)};
            kernel.stream = StreamId{static_cast<std::uint32_t>(rank)};
            kernel.launchThread = thread;
            kernel.step = step;
            kernel.launched = at(from + 20);
            kernel.start = at(from + 100);
            kernel.end = at(from + 150 + 100 * rank);
            batch.deviceEvents.push_back(kernel);
            const std::int64_t bytes = 1000 * (rank + 1);
            for (const AllocAction action : {AllocAction::Alloc, AllocAction::FreeCompleted}) {
                AllocEvent event;
                event.time = at(from + (action == AllocAction::Alloc ? 30 : 400));
                event.action = action;
                event.device = kernel.device;
                event.address = 4096;
                event.bytes = bytes;
                event.allocated = action == AllocAction::Alloc ? bytes : 0;
                event.reserved = bytes;
                batch.allocEvents.push_back(event);
            }
        }
        // So many events that the file has prepared tracks.
        for (int i = 0; i < GetParam(); ++i) {
            Op op;
            op.id = OpId{static_cast<std::uint32_t>(rank * GetParam() + i)};
            op.name = strings_.intern("aten::mm");
            op.thread = thread;
            op.start = op.end = at(2000 + i);
            batch.ops.push_back(op);
        }
        return batch;
    }

    Timeline timeline() const
    {
        const store::RunReader reader(file_);
        return withFrames(reader, kRun, readTimeline(reader, kRun, testing::kNotCancelled).value(),
                          testing::kNotCancelled)
            .value();
    }

    static const Lane& laneOf(const Timeline& timeline, const std::string& title)
    {
        const auto found = std::ranges::find(timeline.lanes, title, &Lane::title);
        EXPECT_NE(found, timeline.lanes.end()) << title;
        return *found;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "ranks.tscope";
    StringTable strings_;
    Timestamp origin_ = TraceClock::now();
};

INSTANTIATE_TEST_SUITE_P(FromEventsAndFromTracks, Ranks, ::testing::Values(0, 30'000));

TEST_P(Ranks, TheStacksOfAThreadLieBelowItsRanges)
{
    const Timeline timeline = this->timeline();
    std::vector<std::string> titles;
    for (const Lane& lane : timeline.lanes)
        if (lane.kind == Lane::Kind::Ranges || lane.kind == Lane::Kind::Frames)
            titles.push_back(lane.title);
    EXPECT_THAT(titles, ElementsAre("rank 0 ranges", "rank 0 Python", "rank 1 ranges", "rank 1 Python"));
    const Lane& stacks = laneOf(timeline, "rank 1 Python");
    ASSERT_EQ(stacks.rows.size(), 2U);
    EXPECT_EQ(stacks.rows[0].size(), 2U);
    EXPECT_EQ(stacks.rows[0].hue(0), Hue::Frame);
    EXPECT_EQ(stacks.rows[1].hue(0), Hue::LibraryFrame);
    EXPECT_EQ(timeline.names[stacks.rows[0].name(0)].label, "train");
    EXPECT_EQ(stacks.detail, "rank 1 main 1001");
}

TEST_P(Ranks, CallsAreFoundByFileAndFunction)
{
    const SearchResult found = search(timeline(), "TRAIN.py", testing::kNotCancelled);
    EXPECT_EQ(found.frames, 4);
    EXPECT_EQ(found.total(), 4);
}

TEST_P(Ranks, AKernelKnowsTheStackThatLaunchedIt)
{
    const Timeline timeline = this->timeline();
    const FileSession session(file_);
    const auto lane = static_cast<std::size_t>(&laneOf(timeline, "rank 1 stream 7") - timeline.lanes.data());
    const TimelineItem kernel{lane, 0, 1};
    EXPECT_THAT(session.details(kRun, timeline, kernel).stack,
                ElementsAre("torch/nn/modules/module.py(1): _call_impl", "train.py(9): train"));
    const ItemLinks links = session.links(kRun, timeline, kernel, testing::kNotCancelled);
    ASSERT_TRUE(links.frame);
    EXPECT_EQ(&timeline.lanes[links.frame->lane], &laneOf(timeline, "rank 1 Python"));
    EXPECT_EQ(links.frame->row, 1U);
    EXPECT_EQ(links.frame->index, 1U);
}

TEST_P(Ranks, EachRankHasStepsOfItsOwn)
{
    const Timeline timeline = this->timeline();
    ASSERT_EQ(timeline.steps.size(), 4U);
    const std::vector<TimelineStep> first = timeline.firstSteps();
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[1].start, 1000);
    EXPECT_EQ(timeline.titleOf(first[1]), "rank 0 step 1");
    const std::vector<TimelineStep> second = timeline.stepsOf(laneOf(timeline, "rank 1 busy").process);
    ASSERT_EQ(second.size(), 2U);
    EXPECT_EQ(second[1].start, 1050);
    EXPECT_EQ(timeline.titleOf(second[1]), "rank 1 step 1");
}

TEST_P(Ranks, KernelsOfOneRankAreCountedAlone)
{
    const Timeline timeline = this->timeline();
    const auto ofRank1 = [&](const Lane& lane) {
        return lane.process == ProcessIndex{1} ? std::optional(Stretch{0, 1000}) : std::nullopt;
    };
    const auto all = [](std::uint32_t, Hue) { return true; };
    EXPECT_THAT(lengthsOf(timeline, all, ofRank1, testing::kNotCancelled), ElementsAre(150));
    EXPECT_EQ(lengthsOf(timeline, all, everywhere(), testing::kNotCancelled).size(), 4U);
}

TEST_P(Ranks, BusyTimeAndKernelsAreOfTheSameDevices)
{
    const Timeline timeline = this->timeline();
    const Stretch stretch{0, 1000};
    const auto kernelTime = [&](ProcessIndex process) {
        std::int64_t total = 0;
        for (const KernelStat& stat : kernelsWithin(timeline, stretch, testing::kNotCancelled, process))
            total += stat.total;
        return total;
    };
    const BusyShare all = busyShare(timeline, stretch).value();
    EXPECT_EQ(all.devices, 2);
    EXPECT_EQ(all.length, 2000);
    EXPECT_EQ(all.time[std::size_t(Hue::Busy)], 50 + 150);
    EXPECT_EQ(kernelTime({}), 50 + 150);
    EXPECT_DOUBLE_EQ(all.busy(), 0.1);
    const BusyShare second = busyShare(timeline, stretch, ProcessIndex{1}).value();
    EXPECT_EQ(second.devices, 1);
    EXPECT_DOUBLE_EQ(second.busy(), 0.15);
    EXPECT_EQ(kernelTime(ProcessIndex{1}), 150);
    EXPECT_EQ(memoryAcross(timeline, {500, 1100}, ProcessIndex{0}),
              std::pair(std::int64_t{0}, std::int64_t{1000}));
    EXPECT_EQ(memoryAcross(timeline, {500, 1100}), std::pair(std::int64_t{0}, std::int64_t{2000}));
}

TEST_P(Ranks, ProcessesAreTheChoicesWhereEachHasOneDevice)
{
    const store::RunReader reader(file_);
    std::vector<std::string> titles;
    for (const ProcessChoice& choice : topologyChoices({reader.topology(kRun), {}}))
        titles.push_back(choice.title);
    EXPECT_THAT(titles, ElementsAre("rank 0", "rank 1"));
    EXPECT_EQ(deviceTitle({reader.topology(kRun), {}}, DeviceIndex{1}), "rank 1 GPU 1");
}

TEST(ProcessWords, CountRanksWithoutTheirLauncher)
{
    const std::vector<ProcessChoice> ranks{{.title = "rank 0", .query = {.rank = 0}},
                                           {.title = "rank 1", .query = {.rank = 1}}};
    EXPECT_EQ(processWords(ranks, {}), "mean of 2 ranks");
    std::vector<ProcessChoice> all = ranks;
    all.push_back({.title = "torchrun 9", .query = {.pid = 9}});
    EXPECT_EQ(processWords(all, {}), "mean of 2 ranks");
    EXPECT_EQ(sumWords(all, {}), "all 2 ranks");
    EXPECT_EQ(processWords(all, {.pid = 9}), "torchrun 9");
    const std::vector<ProcessChoice> workers{{.title = "python 1", .query = {.pid = 1}},
                                             {.title = "python 2", .query = {.pid = 2}}};
    EXPECT_EQ(processWords(workers, {}), "mean of 2 processes");
}

TEST_P(Ranks, MemoryIsThatOfTheHighestPeakOrOfTheRankAskedFor)
{
    const store::RunReader reader(file_);
    const auto highest = memoryHistory(reader, kRun);
    EXPECT_EQ(highest->device, DeviceIndex{1});
    EXPECT_THAT(highest->gpus, ElementsAre(DeviceIndex{0}, DeviceIndex{1}));
    const auto peakOf = [&](const ProcessQuery& topology) {
        return memoryGroupsTable(reader, {.run = kRun, .topology = topology}).allocated;
    };
    EXPECT_EQ(peakOf({}), Bytes{2000});
    EXPECT_EQ(peakOf({.rank = 0}), Bytes{1000});
    EXPECT_EQ(peakOf({.pid = 101}), Bytes{2000});
    EXPECT_EQ(peakOf({.device = 0}), Bytes{1000});
    EXPECT_THROW(peakOf({.device = 2}), Error);
    EXPECT_EQ(liveMemory(reader, {.run = kRun, .topology = {.rank = 0}}, {}).allocated, Bytes{1000});
    EXPECT_EQ(memoryEvents(reader, {.run = kRun, .topology = {.rank = 0}}).events.size(), 4U);
    if (const auto outline = memoryOutline(reader, kRun, {.device = 0})) {
        EXPECT_EQ(outline->allocated.value(outline->allocated.peak()), 1000);
    }
}

TEST_P(Ranks, StepsOfMemoryAreThoseOfTheProcessThatUsedTheDevice)
{
    const store::RunReader reader(file_);
    const Timestamp origin = reader.span(kRun)->first;
    EXPECT_EQ(tracedSteps(reader, kRun, origin).size(), 4U);
    const std::vector<TimelineStep> own = tracedSteps(reader, kRun, origin, DeviceIndex{1});
    ASSERT_EQ(own.size(), 2U);
    EXPECT_EQ(own[0].start, 50);
}

namespace {

/// Two processes, of which rank 1 has ops, so many that the file has prepared tracks, or few. Host memory is that of
/// rank 1, and of another process if they are several.
class HostMemory : public ::testing::TestWithParam<int> {
protected:
    Timeline timelineOf(bool areSeveral)
    {
        const std::filesystem::path file = folder_ / (areSeveral ? "several.tscope" : "one.tscope");
        StringTable strings;
        {
            store::RunWriter writer(file, strings);
            writer.beginRun({"ranks", "trace", "{}", "hash", "test"});
            RunTopology topology;
            TraceBatch batch;
            for (int rank = 0; rank < 2; ++rank) {
                topology.processes.push_back({.id = ProcessIndex{rank}, .pid = 100 + rank, .rank = rank});
                batch.threads.push_back({ThreadId{static_cast<std::uint32_t>(10 + rank)},
                                         strings.intern("main"), ProcessIndex{rank}, 1000 + rank});
            }
            writer.writeTopology(topology);
            for (int i = 0; i < GetParam(); ++i) {
                Op op;
                op.id = OpId{static_cast<std::uint32_t>(i)};
                op.name = strings.intern("aten::mm");
                op.thread = ThreadId{11};
                op.start = origin_ + Nanoseconds(10 * i);
                op.end = op.start + Nanoseconds(8);
                batch.ops.push_back(op);
            }
            for (int i = 0; i < 4; ++i) {
                AllocEvent event;
                event.time = origin_ + Nanoseconds(10 * i + 4);
                event.address =
                    i == 3 && areSeveral ? std::uint64_t{1} << kProcessAddressBits : 64U * (i + 1);
                event.bytes = 64;
                event.allocated = event.reserved = 64 * (i + 1);
                event.op = i == 0 ? OpId{} : OpId{static_cast<std::uint32_t>(i)};
                batch.allocEvents.push_back(event);
            }
            writer.write(batch);
            writer.endRun({});
        }
        const store::RunReader reader(file);
        EXPECT_EQ(hostMemoryProcess(reader, kRun), areSeveral ? ProcessIndex{} : ProcessIndex{1});
        EXPECT_EQ(ProcessFilter(reader, kRun, {.rank = 1}).hasDevice({}), !areSeveral);
        EXPECT_FALSE(ProcessFilter(reader, kRun, {.rank = 0}).hasDevice({}));
        return readTimeline(reader, kRun, testing::kNotCancelled).value();
    }

    testing::TemporaryFolder folder_;
    Timestamp origin_ = TraceClock::now();
};

INSTANTIATE_TEST_SUITE_P(FromEventsAndFromTracks, HostMemory, ::testing::Values(4, 30'000));

} // namespace

TEST_P(HostMemory, IsThatOfTheRankWhoseOpsAllocatedIt)
{
    const Timeline timeline = timelineOf(false);
    EXPECT_EQ(timeline.lanes.back().title, "rank 1 memory");
    EXPECT_EQ(timeline.lanes.back().detail, "");
}

TEST_P(HostMemory, OfSeveralProcessesIsOfTheWholeRun)
{
    const Timeline timeline = timelineOf(true);
    EXPECT_EQ(timeline.lanes.back().title, "Memory");
    EXPECT_EQ(timeline.lanes.back().detail, "host, whole run");
}

TEST(HueOfFrame, TellsTheProgramFromLibraries)
{
    EXPECT_EQ(hueOfFrame("train.py(96): step"), Hue::Frame);
    EXPECT_EQ(hueOfFrame("nn.Module: Linear_3"), Hue::Frame);
    EXPECT_EQ(hueOfFrame("/home/x/model.py(3): forward (old)"), Hue::Frame);
    for (const char* library :
         {"<built-in method mm of type object at 0x7f>", "torch/optim/adamw.py(1): step",
          "/usr/lib/python3.11/threading.py(1): run",
          "/opt/venv/lib/python3.11/site-packages/numpy/core.py(2): dot",
          "<frozen importlib._bootstrap>(241): _call_with_frames_removed", "<eval_with_key>.3(7): forward"})
        EXPECT_EQ(hueOfFrame(library), Hue::LibraryFrame) << library;
}

} // namespace
} // namespace tilescope::query
