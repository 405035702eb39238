#include "core/exchange/import/clock_alignment.h"

#include <gtest/gtest.h>

namespace tilescope::exchange {

namespace {

constexpr std::int64_t kSkew = 3'000'000; // ns by which the second host's wall clock runs ahead

/// Two hosts with a process each. The second process starts the collectives of odd number late, the first the others.
void addTwoHosts(ForeignTrace& trace, const std::string& kernel, int collectives = 8)
{
    for (std::int32_t i = 0; i < 2; ++i) {
        const std::string host = i == 0 ? "node0" : "node1";
        trace.topology.clocks.push_back({.id = ClockIndex{i},
                                         .name = host,
                                         .offset = Nanoseconds(i == 0 ? 0 : 500),
                                         .method = "wall clock"});
        trace.topology.processes.push_back({.id = ProcessIndex{i}, .host = host, .clock = ClockIndex{i}});
        trace.devices.push_back({.process = ProcessIndex{i}});
        trace.streams.push_back({.process = ProcessIndex{i}, .device = static_cast<std::uint32_t>(i)});
    }
    const std::uint32_t name = trace.strings.intern(kernel).value;
    for (std::int64_t i = 0; i < collectives; ++i) {
        const std::int64_t end = (i + 1) * 1'000'000;
        const std::int64_t early = end - 400'000;
        const std::int64_t late = end - 20'000;
        trace.activities.push_back({.start = i % 2 ? early : late, .end = end, .name = name, .stream = 0});
        // The clock's offset of 500 ns is part of the skew.
        trace.activities.push_back({.start = (i % 2 ? late : early) + kSkew - 500,
                                    .end = end + 1000 + kSkew - 500,
                                    .name = name,
                                    .stream = 1});
    }
}

TEST(AlignHosts, FindsTheDifferenceByTheEndsOfCollectives)
{
    ForeignTrace trace;
    addTwoHosts(trace, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    alignHosts(trace);
    const ClockDomain& second = trace.topology.clocks[1];
    EXPECT_EQ(second.method, "ends of collectives");
    EXPECT_EQ(second.offset.count(), 500 - kSkew - 1000);
    ASSERT_TRUE(second.uncertainty.has_value());
    // One of the two starts 20 us before the end, the other ends 1 us later.
    EXPECT_LE(second.uncertainty->count(), 21'000);
    EXPECT_EQ(trace.topology.clocks[0].method, "wall clock");
}

TEST(AlignHosts, CorrectsASmallDifferenceAfterWhichCollectivesWouldNotMeet)
{
    // The second host is always last, and its collectives take 20 µs. A clock that is ahead by 25 to 28 µs is within the uncertainty, but
    // they would have begun after those of the first host had ended.
    for (const std::int64_t skew : {15'000, 25'000}) {
        ForeignTrace trace;
        addTwoHosts(trace, "ncclDevKernel_AllReduce");
        for (std::size_t i = 0; i < trace.activities.size(); i += 2) {
            const std::int64_t end = trace.activities[i].end;
            trace.activities[i].start = end - 400'000;
            trace.activities[i + 1].start = end - 20'000 + skew - 500 + (i % 4 ? 3'000 : 0);
            trace.activities[i + 1].end = end + skew - 500 + (i % 4 ? 3'000 : 0);
        }
        alignHosts(trace);
        const bool isCorrected = trace.topology.clocks[1].method == "ends of collectives";
        EXPECT_EQ(isCorrected, skew > 20'000) << skew;
    }
}

TEST(AlignHosts, LeavesClocksAloneWithoutCommonCollectives)
{
    for (const char* kernel : {"gemm", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}) {
        ForeignTrace trace;
        addTwoHosts(trace, kernel);
        alignHosts(trace);
        EXPECT_EQ(trace.topology.clocks[1].method, "wall clock") << kernel;
    }
    ForeignTrace few;
    addTwoHosts(few, "ncclDevKernel_AllReduce", 2);
    alignHosts(few);
    EXPECT_EQ(few.topology.clocks[1].method, "wall clock");
}

TEST(AlignHosts, LeavesClocksAloneThatContradictEachOther)
{
    ForeignTrace trace;
    addTwoHosts(trace, "ncclDevKernel_AllReduce");
    // The last collective of the second host is another one, an hour later.
    trace.activities.back().start += 3'600'000'000'000;
    trace.activities.back().end += 3'600'000'000'000;
    alignHosts(trace);
    EXPECT_EQ(trace.topology.clocks[1].method, "wall clock");
    EXPECT_EQ(trace.topology.clocks[1].offset.count(), 500);
}

TEST(AlignHosts, ProcessesOfOneHostShareItsClock)
{
    ForeignTrace trace;
    addTwoHosts(trace, "ncclDevKernel_AllReduce");
    trace.topology.processes[1].host = "node0";
    alignHosts(trace);
    EXPECT_EQ(trace.topology.clocks[1].method, "wall clock");
}

} // namespace

} // namespace tilescope::exchange
