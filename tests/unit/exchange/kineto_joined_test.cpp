// Files that join the traces of several ranks, and what else a Kineto trace says about processes and devices.

#include "tests/unit/exchange/kineto_fixture.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <map>
#include <optional>

namespace tilescope::exchange {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {

/// The events of one rank: ops with launches and their kernels, `from` the first time.
struct Rank {
    std::string pid;
    std::string devicePid;
    int device = 0;
    int from = 100;
    int kernelNs = 1000;
    int firstExternal = 1;
};

std::vector<std::string> eventsOf(const Rank& rank, int count)
{
    std::vector<std::string> events;
    const std::string host = R"("pid": )" + rank.pid + R"(, "tid": 1)";
    const std::string stream = R"("pid": )" + rank.devicePid + R"(, "tid": 7)";
    for (int i = 0; i < count; ++i) {
        const int start = rank.from + 100 * i;
        const std::string ids = R"("correlation": )" + std::to_string(i + 1) + R"(, "External id": )" +
                                std::to_string(rank.firstExternal + i);
        events.push_back(interval("cpu_op", "aten::mm", host, std::to_string(start), "60",
                                  R"("External id": )" + std::to_string(rank.firstExternal + i)));
        events.push_back(
            interval("cuda_runtime", "cudaLaunchKernel", host, std::to_string(start + 10), "5", ids));
        events.push_back(interval(
            "kernel", "gemm", stream, std::to_string(start + 50), std::to_string(rank.kernelNs / 1000),
            R"("device": )" + std::to_string(rank.device) + R"(, "stream": 7, )" + ids));
    }
    return events;
}

std::string joined(const std::vector<Rank>& ranks, int count, const std::string& header = {})
{
    std::vector<std::string> events;
    for (const Rank& rank : ranks)
        std::ranges::move(eventsOf(rank, count), std::back_inserter(events));
    return trace(events, header);
}

/// The first column of what a query of other programs selects.
std::vector<std::string> firstColumn(const ImportedRun& run, const std::string& sql)
{
    std::vector<std::string> values;
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open_v2(run.reader->file().c_str(), &database, SQLITE_OPEN_READONLY, nullptr),
              SQLITE_OK);
    sqlite3_stmt* rows = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &rows, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    while (sqlite3_step(rows) == SQLITE_ROW)
        values.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(rows, 0)));
    sqlite3_finalize(rows);
    sqlite3_close(database);
    return values;
}

/// Kernels and their nanoseconds by the pid of their process.
std::map<std::int64_t, std::pair<int, std::int64_t>> kernelsByPid(const ImportedRun& run)
{
    std::map<std::int64_t, std::pair<int, std::int64_t>> sums;
    for (const DeviceEvent& event : run.activities)
        for (const TracedStream& stream : run.topology.streams)
            if (stream.device == event.device && stream.id == event.stream) {
                auto& [count, ns] =
                    sums[run.topology.processes[static_cast<std::size_t>(stream.process.value)].pid];
                ++count;
                ns += (event.end - event.start).count();
            }
    return sums;
}

std::map<std::int64_t, std::optional<std::int32_t>> ranksByPid(const ImportedRun& run)
{
    std::map<std::int64_t, std::optional<std::int32_t>> ranks;
    for (const TracedProcess& process : run.topology.processes)
        ranks[process.pid] = process.rank;
    return ranks;
}

using Sum = std::pair<int, std::int64_t>;

} // namespace

TEST_F(Kineto, KernelsOfJoinedRanksFindTheirLaunchByTheDevice)
{
    // The second rank begins later: its kernels have two callers each, and some of the first rank have only one.
    const ImportedRun run =
        imported(joined({{.pid = "500", .devicePid = "0", .from = 100, .kernelNs = 1000},
                         {.pid = "501", .devicePid = "1", .device = 1, .from = 320, .kernelNs = 2000}},
                        8, R"("distributedInfo": {"rank": 0, "world_size": 2})"));
    EXPECT_EQ(kernelsByPid(run)[500], Sum(8, 8000));
    EXPECT_EQ(kernelsByPid(run)[501], Sum(8, 16000));
    EXPECT_EQ(run.loss("caller_ambiguous"), 0);
    EXPECT_EQ(run.loss("unlaunched_activity"), 0);
    EXPECT_EQ(ranksByPid(run)[500], 0);
    EXPECT_EQ(ranksByPid(run)[501], 1);
    EXPECT_THAT(run.summary, HasSubstr("2 ranks"));
}

TEST_F(Kineto, KernelsOfJoinedRanksFindTheirLaunchByTheExternalId)
{
    // The same times and one device: only the ids of the ops tell them apart.
    const ImportedRun run = imported(
        joined({{.pid = "500", .devicePid = "0", .kernelNs = 1000},
                {.pid = "501", .devicePid = "0", .from = 103, .kernelNs = 2000, .firstExternal = 1000}},
               5));
    EXPECT_EQ(kernelsByPid(run)[500], Sum(5, 5000));
    EXPECT_EQ(kernelsByPid(run)[501], Sum(5, 10000));
    EXPECT_EQ(run.loss("caller_ambiguous"), 0);
}

TEST_F(Kineto, KernelsOfJoinedRanksFindTheirLaunchByArrows)
{
    std::vector<std::string> events;
    int id = 100;
    for (const Rank& rank : {Rank{.pid = "500", .devicePid = "0", .kernelNs = 1000},
                             Rank{.pid = "501", .devicePid = "0", .from = 103, .kernelNs = 2000}}) {
        std::ranges::move(eventsOf(rank, 4), std::back_inserter(events));
        for (int i = 0; i < 4; ++i, ++id) {
            const auto arrow = [&](const std::string& phase, const std::string& place, int time) {
                events.push_back(R"({"ph": ")" + phase + R"(", "id": )" + std::to_string(id) + ", " + place +
                                 R"(, "ts": )" + std::to_string(time) +
                                 R"(, "cat": "ac2g", "name": "ac2g"})");
            };
            arrow("s", R"("pid": )" + rank.pid + R"(, "tid": 1)", rank.from + 100 * i + 10);
            arrow("f", R"("pid": 0, "tid": 7)", rank.from + 100 * i + 50);
        }
    }
    const ImportedRun run = imported(trace(events));
    EXPECT_EQ(kernelsByPid(run)[500], Sum(4, 4000));
    EXPECT_EQ(kernelsByPid(run)[501], Sum(4, 8000));
    EXPECT_EQ(run.loss("caller_ambiguous"), 0);
}

TEST_F(Kineto, WhatStaysAmbiguousIsCountedWithAdvice)
{
    const ImportedRun run = imported(
        joined({{.pid = "500", .devicePid = "0"}, {.pid = "501", .devicePid = "1", .device = 1}}, 5));
    EXPECT_EQ(run.loss("caller_ambiguous"), 10);
    EXPECT_THAT(run.details.at("caller_ambiguous"), HasSubstr("import the files of the ranks"));
    EXPECT_EQ(kernelsByPid(run)[500].first, 5) << "a device for each process";
    EXPECT_EQ(kernelsByPid(run)[501].first, 5);
}

TEST_F(Kineto, TextProcessIdsAreProcessesWithTheRankOfTheirLabel)
{
    const ImportedRun run =
        imported(joined({{.pid = R"("[TP00] 5000")", .devicePid = R"("[TP00] 0")", .kernelNs = 1000},
                         {.pid = R"("[TP01] 5000")", .devicePid = R"("[TP01] 0")", .kernelNs = 2000},
                         {.pid = R"("[TP02] 5002")", .devicePid = R"("[TP02] 0")", .kernelNs = 3000}},
                        4, R"("distributedInfo": {"rank": 0, "world_size": 3})"));
    ASSERT_THAT(run.topology.processes, SizeIs(3)) << "two of them have the same number on different hosts";
    std::map<std::int32_t, std::int64_t> ns;
    for (const DeviceEvent& event : run.activities)
        for (const TracedStream& stream : run.topology.streams)
            if (stream.device == event.device && stream.id == event.stream)
                ns[run.topology.processes[static_cast<std::size_t>(stream.process.value)].rank.value_or(
                    -1)] += (event.end - event.start).count();
    EXPECT_THAT(ns, ElementsAre(std::pair(0, 4000), std::pair(1, 8000), std::pair(2, 12000)));
    EXPECT_EQ(run.loss("caller_ambiguous"), 0);
}

TEST_F(Kineto, DevicesWithoutALabelBelongToAnyLabelledProcess)
{
    const std::vector<Rank> ranks{
        {.pid = R"("Rank 0 500")", .devicePid = "0", .kernelNs = 1000},
        {.pid = R"("Rank 1 501")", .devicePid = "1", .device = 1, .from = 320, .kernelNs = 2000}};
    std::vector<std::string> hostFirst;
    for (const Rank& rank : ranks)
        std::ranges::move(eventsOf(rank, 8), std::back_inserter(hostFirst));
    std::vector<std::string> devicesFirst = hostFirst;
    std::stable_partition(devicesFirst.begin(), devicesFirst.end(), [](const std::string& event) {
        return event.find("\"kernel\"") != std::string::npos;
    });
    for (const auto& events : {hostFirst, devicesFirst}) {
        const ImportedRun run = imported(trace(events));
        ASSERT_THAT(run.topology.processes, SizeIs(2)) << "none is left for the devices alone";
        EXPECT_THAT(run.topology.streams, SizeIs(2)) << "streams without activities are not stored";
        EXPECT_EQ(kernelsByPid(run)[500], Sum(8, 8000));
        EXPECT_EQ(kernelsByPid(run)[501], Sum(8, 16000));
        EXPECT_EQ(run.loss("caller_ambiguous"), 0);
    }
    // A word that is the only process has launched everything, though the trace has no calls.
    const ImportedRun alone =
        imported(trace({interval("cpu_op", "aten::mm", R"("pid": "trainer", "tid": 1)", "100", "60"),
                        interval("kernel", "gemm", R"("pid": 0, "tid": 7)", "110", "5", R"("device": 0)")}));
    EXPECT_THAT(alone.topology.processes, SizeIs(1));
    EXPECT_THAT(alone.activities, SizeIs(1));
}

TEST_F(Kineto, ACallLaunchesOneKernelOfJoinedRanks)
{
    // One device and equal ids: when the second rank begins, the calls of the first have launched their kernels.
    const ImportedRun run =
        imported(joined({{.pid = "500", .devicePid = "0", .from = 100, .kernelNs = 1000},
                         {.pid = "501", .devicePid = "0", .from = 90'000, .kernelNs = 2000}},
                        5));
    EXPECT_EQ(kernelsByPid(run)[500], Sum(5, 5000));
    EXPECT_EQ(kernelsByPid(run)[501], Sum(5, 10000));
    EXPECT_EQ(run.loss("caller_ambiguous"), 0);
    EXPECT_EQ(run.loss("launch_without_activity"), 0);
}

TEST_F(Kineto, WordsAloneAreProcessesToo)
{
    const ImportedRun run = imported(joined({{.pid = R"("rank 3")", .devicePid = R"("rank 3")"},
                                             {.pid = R"("rank 4")", .devicePid = R"("rank 4")"}},
                                            2));
    ASSERT_THAT(run.topology.processes, SizeIs(2));
    EXPECT_EQ(run.topology.processes[0].rank, 3);
    EXPECT_EQ(run.topology.processes[1].rank, 4);
    EXPECT_EQ(run.loss("unlaunched_activity"), 0);
}

TEST_F(Kineto, ProcessesWithoutANumberDifferInNsightsViews)
{
    const ImportedRun run = imported(joined({{.pid = R"("rank 3")", .devicePid = R"("rank 3")"},
                                             {.pid = R"("rank 4")", .devicePid = R"("rank 4")"}},
                                            2));
    EXPECT_THAT(firstColumn(run, "select count(*) from CUPTI_ACTIVITY_KIND_KERNEL group by globalPid"),
                ElementsAre("2", "2"));
    // Launches join with their kernels as in Nsight Systems' queries.
    EXPECT_THAT(
        firstColumn(run,
                    "select count(*) from CUPTI_ACTIVITY_KIND_KERNEL k join CUPTI_ACTIVITY_KIND_RUNTIME r "
                    "on r.correlationId = k.correlationId and r.globalTid / 0x1000000 = k.globalPid / "
                    "0x1000000"),
        ElementsAre("4"));
    EXPECT_THAT(
        firstColumn(run, "select p.name from CUPTI_ACTIVITY_KIND_KERNEL k join PROCESSES p using (globalPid) "
                         "group by 1 order by 1"),
        ElementsAre("rank 3", "rank 4"));
}

TEST_F(Kineto, ReadsRanksThatAreTexts)
{
    const ImportedRun run = imported(trace({launch(5, "1"), kernel(5, "2", "1")},
                                           R"("distributedInfo": {"rank": "3", "world_size": "8"})"));
    EXPECT_EQ(run.topology.processes.front().rank, 3);
    EXPECT_EQ(run.topology.processes.front().worldSize, 8);
}

TEST_F(Kineto, MetadataCountsWhereverItStands)
{
    const std::string facts =
        R"("deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0,
        "numSms": 132}], "distributedInfo": {"rank": 1, "world_size": 2, "nccl_version": "2.28.9"},
        "cuda_runtime_version": 12080)";
    const std::vector<std::string> events{launch(5, "1"), kernel(5, "2", "1")};
    const ImportedRun first = imported(trace(events, facts));
    const ImportedRun last = imported(trace(events, "", facts));
    EXPECT_EQ(first.topology.devices.front().capability, "9.0");
    EXPECT_EQ(first.topology.devices, last.topology.devices);
    EXPECT_EQ(first.topology.processes.front().rank, last.topology.processes.front().rank);
    EXPECT_EQ(first.environment, last.environment);
}

TEST_F(Kineto, ReadsRuntimesAndDevicesOfOtherVendors)
{
    const ImportedRun run = imported(trace(
        {interval("xpu_runtime", "urEnqueueKernelLaunch", kHost, "1", "5", R"("correlation": 5)"),
         kernel(5, "10", "1"), interval("mtia_runtime", "launch", kHost, "20", "5", R"("correlation": 6)"),
         interval("mtia_ccp_events", "mm", kStream, "30", "5",
                  R"("device": 0, "stream": 1, "correlation": 6)"),
         interval("privateuse1_runtime", "launch", kHost, "40", "5", R"("correlation": 7)"),
         interval("privateuse1_driver", "launch", kHost, "41", "1", R"("correlation": 7)"),
         interval("mtia_insight", "counter", kStream, "50", "5")}));
    EXPECT_THAT(run.calls, SizeIs(4));
    EXPECT_THAT(run.activities, SizeIs(2));
    EXPECT_EQ(run.loss("unlaunched_activity"), 0);
    EXPECT_EQ(run.loss("device_not_read"), 1);
    EXPECT_THAT(run.details.at("device_not_read"), HasSubstr("mtia_insight"));
}

TEST_F(Kineto, NamesDevicesOfOtherProgramsThatItDoesNotRead)
{
    const auto named = [](int pid, const std::string& name) {
        return R"({"ph": "M", "name": "process_name", "pid": )" + std::to_string(pid) +
               R"(, "args": {"name": ")" + name + R"("}})";
    };
    const auto bare = [](int pid, const std::string& name) {
        return R"({"ph": "X", "name": ")" + name + R"(", "pid": )" + std::to_string(pid) +
               R"(, "tid": 2, "ts": 5, "dur": 2})";
    };
    for (const std::string device :
         {"/device:GPU:0", "/device:TPU:0", "Ascend Hardware", "6 GPU0", "1 COPY"}) {
        const ImportedRun run = imported(
            trace({named(1, device), bare(1, "gemm"), bare(701, "PjitFunction"), named(701, "/host:CPU")}));
        EXPECT_EQ(run.loss("device_not_read"), 1) << device;
        EXPECT_THAT(run.details.at("device_not_read"), HasSubstr(device));
        EXPECT_THAT(run.ranges, SizeIs(1)) << device;
        EXPECT_THAT(run.topology.processes, SizeIs(1)) << device;
    }
    const ImportedRun program = imported(trace({named(1, "train GPUs.py"), bare(1, "range")}));
    EXPECT_EQ(program.loss("device_not_read"), 0);
}

TEST_F(Kineto, CollectivesOfOldTracesFollowFromTheNamesOfKernels)
{
    const auto nccl = [](const std::string& name, int correlation, const std::string& start) {
        return interval("kernel", name, kStream, start, "5",
                        R"("device": 0, "stream": 7, "correlation": )" + std::to_string(correlation));
    };
    const ImportedRun run = imported(
        trace({launch(1, "1"), nccl("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 1, "10"),
               launch(2, "20"), nccl("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)", 2, "30"),
               launch(3, "40"), kernel(3, "50", "1")}));
    ASSERT_THAT(run.collectives, SizeIs(2));
    EXPECT_EQ(run.text(run.collectives[0].op), "all_reduce");
    EXPECT_EQ(run.text(run.collectives[1].op), "reduce_scatter");
    EXPECT_EQ((run.collectives[0].end - run.collectives[0].start).count(), 5000);
}

TEST_F(Kineto, ScopesWithinKernelsAreNoKernels)
{
    // Their category is the name of the kernel, which may be that of another category.
    const std::string scope = interval(
        "kernel", "load", "\"pid\": \"kernel Core0 CTA3\", \"tid\": \"warp 1 (line 0)\"", "1.5", "0.25");
    EXPECT_THAT(refusalOf(trace({scope})), HasSubstr("shows the inside of kernels"));
    const ImportedRun mixed = imported(trace({scope, launch(5, "1"), kernel(5, "2", "1")}));
    EXPECT_THAT(mixed.activities, SizeIs(1));
    EXPECT_EQ(mixed.loss("device_not_read"), 1);
}

TEST_F(Kineto, ATraceWithoutReadableTimesHasASentence)
{
    EXPECT_THAT(refusalOf(trace({interval("kernel", "gemm", kStream, "\"noon\"", "5")})),
                HasSubstr("no event of this trace has a start and a duration"));
}

TEST_F(Kineto, BeginAndEndEventsHaveASentence)
{
    const auto event = [](const std::string& phase, int time) {
        return R"({"ph": ")" + phase + R"(", "name": "forward", "pid": 1, "tid": 1, "ts": )" +
               std::to_string(time) + "}";
    };
    EXPECT_THAT(refusalOf(trace({event("B", 1), event("E", 5)})),
                HasSubstr("begin and end events (phases B and E) only"));
    const ImportedRun mixed =
        imported(trace({event("B", 1), event("E", 5), launch(5, "1"), kernel(5, "2", "1")}));
    EXPECT_EQ(mixed.loss("begin_end_events"), 2);
}

TEST_F(Kineto, KeepsNegativeTimes)
{
    const ImportedRun run =
        imported(trace({interval("user_annotation", "ProfilerStep#0", kHost, "-500.001", "1000"),
                        launch(5, "-380"), kernel(5, "-300.5", "40"), kernel(6, "10", "-5")}));
    ASSERT_THAT(run.activities, SizeIs(2));
    EXPECT_EQ((run.activities[0].end - run.activities[0].start).count(), 40000);
    EXPECT_EQ((run.activities[0].start - run.ranges[0].start).count(), 199501);
    EXPECT_EQ(run.loss("negative_duration"), 1);
    EXPECT_EQ(run.loss("source_unreadable"), 0);
}

} // namespace tilescope::exchange
