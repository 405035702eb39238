#include "core/engine/ranks/collective_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::engine {

namespace {

Timestamp at(std::int64_t ns)
{
    return Timestamp(Nanoseconds(ns));
}

class Sink final : public TraceSink {
public:
    void consume(TraceBatch&& batch) override { batches.push_back(std::move(batch)); }
    std::vector<TraceBatch> batches;
};

DeviceEvent kernel(StringId name, std::uint32_t thread, std::int64_t launched, std::int64_t start,
                   std::int64_t end)
{
    return {.name = name,
            .device = DeviceIndex{1},
            .stream = StreamId{13},
            .correlation = CorrelationId{static_cast<std::uint32_t>(launched)},
            .launchThread = ThreadId{thread},
            .launched = at(launched),
            .start = at(start),
            .end = at(end)};
}

CollectiveRecord record(std::uint32_t thread, std::int64_t sequence, std::int64_t start, std::int64_t end)
{
    return {.op = "all_reduce",
            .group = "all ranks",
            .ranks = "0,1",
            .groupSize = 2,
            .dtype = "f32",
            .sequence = sequence,
            .bytes = 4096,
            .thread = thread,
            .path = "step/backward/all_reduce",
            .step = 2,
            .start = at(start),
            .end = at(end)};
}

} // namespace

TEST(CollectiveKernels, GiveACollectiveItsTimeOnTheDevice)
{
    StringTable strings;
    Sink sink;
    CollectiveKernels kernels(sink, strings);
    TraceBatch batch;
    const StringId nccl =
        strings.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    batch.deviceEvents = {kernel(nccl, 5, 110, 200, 300), kernel(nccl, 5, 120, 300, 350),
                          kernel(strings.intern("gemm"), 5, 130, 350, 900), kernel(nccl, 6, 115, 400, 500),
                          kernel(nccl, 5, 170, 600, 700)};
    kernels.consume(std::move(batch));
    ASSERT_EQ(sink.batches.size(), 1) << "batches are passed on";
    EXPECT_EQ(sink.batches[0].deviceEvents.size(), 5);

    const TraceBatch events =
        kernels.eventsOf({record(5, 1, 100, 150), record(5, 2, 160, 180), record(5, 3, 190, 195)}, true);
    ASSERT_EQ(events.collectives.size(), 2);
    const Collective& first = events.collectives[0];
    EXPECT_EQ(first.start, at(200)) << "of its first kernel";
    EXPECT_EQ(first.end, at(350)) << "of its last kernel";
    EXPECT_EQ(first.correlation.value, 110);
    EXPECT_EQ(first.device.value, 1);
    EXPECT_EQ(first.stream.value, 13);
    EXPECT_EQ(strings.text(first.group), "all ranks");
    EXPECT_EQ(events.collectives[1].start, at(600));
    ASSERT_EQ(events.losses.size(), 1) << "the third has no kernel";
    EXPECT_EQ(events.losses[0].count, 1);
}

TEST(CollectiveKernels, FindThoseThatSurroundCopies)
{
    StringTable strings;
    Sink sink;
    CollectiveKernels kernels(sink, strings);
    TraceBatch batch;
    const StringId barrier = strings.intern("tilescope::kernels::ranks::(anonymous namespace)::meetKernel");
    DeviceEvent copy = kernel(strings.intern("Memcpy PtoP"), 5, 120, 210, 290);
    copy.kind = DeviceEventKind::Memcpy;
    batch.deviceEvents = {kernel(barrier, 5, 110, 200, 205), copy, kernel(barrier, 5, 130, 295, 300)};
    kernels.consume(std::move(batch));
    const TraceBatch events = kernels.eventsOf({record(5, 1, 100, 150)}, true);
    ASSERT_EQ(events.collectives.size(), 1);
    EXPECT_EQ(events.collectives[0].start, at(200)) << "when the rank is ready";
    EXPECT_EQ(events.collectives[0].end, at(300)) << "when all are";
}

TEST(CollectiveKernels, KeepTimesOfTheHostOnACpu)
{
    StringTable strings;
    Sink sink;
    CollectiveKernels kernels(sink, strings);
    const TraceBatch events = kernels.eventsOf({record(5, 1, 100, 150)}, false);
    ASSERT_EQ(events.collectives.size(), 1);
    EXPECT_EQ(events.collectives[0].start, at(100));
    EXPECT_EQ(events.collectives[0].end, at(150));
    EXPECT_FALSE(events.collectives[0].device);
    EXPECT_TRUE(events.losses.empty());
}

} // namespace tilescope::engine
