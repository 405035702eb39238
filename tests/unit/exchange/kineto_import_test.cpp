// Traces of PyTorch's profiler, of 2021 to 2026, become runs; what is not stored is counted.

#include "core/exchange/import/kineto/kineto_importer.h"
#include "tests/unit/exchange/kineto_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace {

const std::string kHeader = R"("schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9,
    "computeMinor": 0, "numSms": 132}, {"id": 1, "name": "NVIDIA H200"}],
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "nccl_version": "2.28.9"},
"cuda_driver_version": 13000, "cuda_runtime_version": 12080)";

std::filesystem::path recording(const std::string& name)
{
    return std::string(TILESCOPE_SOURCE_DIR) + "/tests/data/kineto/" + name;
}

std::int64_t kernelNs(const ImportedRun& run)
{
    std::int64_t sum = 0;
    for (const DeviceEvent& event : run.activities)
        sum += event.kind == DeviceEventKind::Kernel ? (event.end - event.start).count() : 0;
    return sum;
}

std::int64_t kernelCount(const ImportedRun& run)
{
    return std::ranges::count(run.activities, DeviceEventKind::Kernel, &DeviceEvent::kind);
}

} // namespace

TEST(KinetoFormat, IsRecognisedByContent)
{
    const KinetoImporter importer;
    const auto matches = [&](const std::string& text) { return importer.matches(text, "x.bin"); };
    EXPECT_TRUE(matches(trace({kernel(1, "1", "1")})));
    EXPECT_TRUE(matches("\xef\xbb\xbf \n{\"schemaVersion\": 1,"));
    EXPECT_TRUE(matches(" [ {\"name\": \"x\", \"ph\": \"X\"}]"));
    EXPECT_TRUE(matches(gzipped(trace({kernel(1, "1", "1")}))));
    EXPECT_FALSE(matches("{\"a\": 1}"));
    EXPECT_FALSE(matches("[1, 2]"));
    EXPECT_FALSE(matches(gzipped("plain text")));
    EXPECT_FALSE(matches("\x1f\x8b\x08 damaged"));
    EXPECT_FALSE(matches(""));
}

TEST_F(Kineto, IsRecognisedBehindMembersOfOtherTools)
{
    const std::string metadata = "\"metadata\": {\"notes\": \"" + std::string(100'000, 'x') + "\"}";
    EXPECT_EQ(kernelCount(imported(trace({kernel(1, "1", "1")}, metadata))), 1);
    EXPECT_THAT(refusalOf("{" + metadata + "}"), HasSubstr("is JSON without a list of traceEvents"));
}

TEST_F(Kineto, KeepsAKernelWithItsLaunchAndGeometry)
{
    const ImportedRun run = imported(trace(
        {launch(5, "100.001"),
         kernel(
             5, "110.500", "3.125",
             R"(, "registers per thread": 96, "shared memory": 1024, "grid": [24, 2, 1], "block": [544, 1, 1])")}));
    ASSERT_THAT(run.activities, SizeIs(1));
    const DeviceEvent& event = run.activities.front();
    EXPECT_EQ(run.text(event.name), "gemm<float>(float*)");
    EXPECT_EQ((event.end - event.start).count(), 3125);
    EXPECT_EQ((event.start - event.launched).count(), 10499);
    EXPECT_EQ(event.launch.grid, (std::array<std::uint32_t, 3>{24, 2, 1}));
    EXPECT_EQ(event.launch.block, (std::array<std::uint32_t, 3>{544, 1, 1}));
    EXPECT_EQ(event.launch.registersPerThread, 96U);
    EXPECT_EQ(event.launch.dynamicShared, 1024U);
    ASSERT_THAT(run.calls, SizeIs(1));
    EXPECT_EQ(run.calls.front().correlation, event.correlation);
    EXPECT_THAT(run.losses, IsEmpty());
    EXPECT_THAT(run.summary, HasSubstr("trace.json: "));
}

TEST_F(Kineto, FindsTheBaseOfTheClockWhereverItStands)
{
    const std::string base = R"("baseTimeNanoseconds": 1790857026000000000)";
    const std::vector<std::string> events{launch(5, "100"), kernel(5, "110", "1")};
    const ImportedRun first = imported(trace(events, base));
    const ImportedRun last = imported(trace(events, "", base));
    ASSERT_THAT(first.topology.clocks, SizeIs(1));
    EXPECT_EQ(first.topology.clocks.front().offset, last.topology.clocks.front().offset);
    EXPECT_EQ(first.activities.front().start, last.activities.front().start);
    EXPECT_NE(first.topology.clocks.front().offset.count(), 0);
}

TEST_F(Kineto, ReadsWhoTookPart)
{
    const std::string name =
        R"({"ph": "M", "name": "process_name", "ts": 0, "pid": 1084, "tid": 0, "args": {"name": "python"}})";
    const std::string thread =
        R"x({"ph": "M", "name": "thread_name", "ts": 0, "pid": 1084, "tid": 1084,
             "args": {"name": "thread 1084 (trainer)"}})x";
    const std::string stream =
        R"({"ph": "M", "name": "thread_name", "ts": 0, "pid": 0, "tid": 7, "args": {"name": "stream 7 "}})";
    const ImportedRun run =
        imported(trace({launch(5, "100"), kernel(5, "110", "1"), name, thread, stream}, kHeader));
    ASSERT_THAT(run.topology.processes, SizeIs(1));
    const TracedProcess& process = run.topology.processes.front();
    EXPECT_EQ(process.pid, 1084);
    EXPECT_EQ(process.name, "python");
    EXPECT_EQ(process.rank, 1);
    EXPECT_EQ(process.worldSize, 2);
    ASSERT_THAT(run.topology.devices, SizeIs(1)) << "devices without events take no part";
    const TracedDevice& device = run.topology.devices.front();
    EXPECT_EQ(device.name, "NVIDIA H200");
    EXPECT_EQ(device.memory, Bytes{150109880320});
    EXPECT_EQ(device.multiprocessors, 132);
    EXPECT_EQ(device.capability, "9.0");
    EXPECT_EQ(run.environment.at("driver.cuda"), "13.0");
    EXPECT_EQ(run.environment.at("cuda_runtime"), "12.8");
    EXPECT_EQ(run.environment.at("nccl"), "2.28.9");
    ASSERT_THAT(run.threads, SizeIs(1));
    EXPECT_EQ(run.text(run.threads.front().name), "trainer");
    EXPECT_EQ(run.threads.front().native, 1084);
    EXPECT_THAT(run.summary, HasSubstr("rank 1 of 2"));
}

TEST_F(Kineto, KeepsOpsWithShapesAndConnectsBackward)
{
    const ImportedRun run = imported(trace(
        {interval(
             "cpu_op", "aten::mm", kHost, "100", "10",
             R"("External id": 3, "Sequence number": 7, "Fwd thread id": 0, "Input Dims": [[4, 8], [8, 2]], )"
             R"("Input type": ["c10::BFloat16", "c10::BFloat16"])"),
         interval("cpu_op", "autograd::engine::evaluate_function: MmBackward0", R"("pid": 1084, "tid": 1107)",
                  "120", "9", R"("Sequence number": 7, "Fwd thread id": 1)"),
         kernel(9, "130", "1", R"(, "External id": 3)")}));
    const Op* forward = run.op("aten::mm");
    ASSERT_NE(forward, nullptr);
    EXPECT_EQ(run.text(forward->shapes), "bf16[4, 8] bf16[8, 2]");
    EXPECT_EQ(forward->sequence, 7);
    EXPECT_EQ(forward->scope, OpScope::Function);
    const Op* backward = run.op("autograd::engine::evaluate_function: MmBackward0");
    ASSERT_NE(backward, nullptr);
    EXPECT_EQ(backward->scope, OpScope::Backward);
    EXPECT_EQ(backward->sequence, 7);
    EXPECT_EQ(run.activities.front().op, forward->id) << "connected by External id, as its launch is missing";
    EXPECT_EQ(run.loss("unlaunched_activity"), 1);
}

TEST_F(Kineto, KeepsStepsRangesModulesAndFrames)
{
    const ImportedRun run =
        imported(trace({interval("user_annotation", "ProfilerStep#3", kHost, "100", "50"),
                        interval("user_annotation", "forward", kHost, "101", "20"),
                        interval("python_function", "nn.Module: Linear_3", kHost, "102", "10"),
                        interval("python_function", "train.py(96): step", kHost, "100.5", "40"),
                        interval("gpu_user_annotation", "forward", kStream, "103", "9"), launch(5, "105"),
                        kernel(5, "106", "1")}));
    ASSERT_NE(run.range("forward"), nullptr);
    EXPECT_EQ((run.range("forward")->end - run.range("forward")->start).count(), 20000);
    ASSERT_NE(run.range("Linear_3"), nullptr);
    EXPECT_EQ(run.range("Linear_3")->parent, run.range("forward")->id);
    ASSERT_THAT(run.frames, SizeIs(1));
    EXPECT_EQ(run.text(run.frames.front().name), "train.py(96): step");
    EXPECT_NE(run.activities.front().step, kNoStep);
    EXPECT_THAT(run.text(run.activities.front().range ? run.ranges.at(run.activities.front().range.value).name
                                                      : StringId{}),
                "Linear_3");
    EXPECT_EQ(run.loss("source_not_stored"), 1) << run.details.at("source_not_stored");
    EXPECT_THAT(run.details.at("source_not_stored"), HasSubstr("gpu_user_annotation"));
}

TEST_F(Kineto, KeepsCopiesAndMemsets)
{
    const ImportedRun run =
        imported(trace({interval("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", kStream, "100", "2",
                                 R"("device": 0, "stream": 7, "correlation": 1, "bytes": 4096)"),
                        interval("gpu_memcpy", "Memcpy PtoP (Device -> Device)", kStream, "110", "2",
                                 R"("device": 0, "stream": 7, "correlation": 2, "bytes": 8)"),
                        interval("gpu_memset", "Memset (Device)", kStream, "120", "1",
                                 R"("device": 0, "stream": 7, "correlation": 3, "bytes": 32)")}));
    ASSERT_THAT(run.activities, SizeIs(3));
    EXPECT_EQ(run.activities[0].copy, CopyKind::HostToDevice);
    EXPECT_EQ(run.activities[0].bytes, 4096);
    EXPECT_EQ(run.activities[1].copy, CopyKind::PeerToPeer);
    EXPECT_EQ(run.activities[2].kind, DeviceEventKind::Memset);
    EXPECT_EQ(run.activities[2].bytes, 32);
}

TEST_F(Kineto, KeepsTheMemoryCurve)
{
    const auto memory = [](const std::string& time, const std::string& bytes, const std::string& total,
                           int device) {
        return R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", )" + kHost +
               R"(, "ts": )" + time + R"(, "args": {"Total Reserved": 4096, "Total Allocated": )" + total +
               R"(, "Bytes": )" + bytes + R"(, "Device Id": )" + (device == 0 ? "-1" : "0") +
               R"(, "Device Type": )" + std::to_string(device) + R"(, "Addr": 1024}})";
    };
    const ImportedRun run =
        imported(trace({launch(5, "99"), kernel(5, "100", "1"), memory("101", "512", "512", 1),
                        memory("102", "-512", "0", 1), memory("103", "-64", "0", 0)}));
    ASSERT_THAT(run.allocations, SizeIs(3));
    EXPECT_EQ(run.allocations[0].action, AllocAction::Alloc);
    EXPECT_EQ(run.allocations[0].bytes, 512);
    EXPECT_EQ(run.allocations[0].allocated, 512);
    EXPECT_EQ(run.allocations[0].reserved, 4096);
    EXPECT_EQ(run.allocations[0].address, 1024U);
    EXPECT_EQ(run.allocations[1].action, AllocAction::FreeRequested);
    EXPECT_EQ(run.allocations[1].bytes, 512);
    EXPECT_EQ(run.allocations[2].action, AllocAction::FreeCompleted);
    EXPECT_FALSE(run.allocations[2].device);
}

TEST_F(Kineto, ReadsCollectivesFromKernelsAndFromCallsWithoutKernel)
{
    const std::string facts =
        R"("Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2, )"
        R"("dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 4)";
    const ImportedRun run = imported(trace(
        {interval("cpu_op", "record_param_comms", kHost, "100", "5", R"("External id": 3, )" + facts),
         launch(5, "101"), kernel(5, "110", "7", R"(, "External id": 3, )" + facts),
         interval(
             "cpu_op", "record_param_comms", kHost, "120", "5",
             R"("External id": 4, "Collective name": "_allgather_base", "In msg nelems": 8, "dtype": "Float")"),
         interval("cpu_op", "record_param_comms", kHost, "130", "5",
                  R"("External id": 5, "Collective name": "wait")")}));
    ASSERT_THAT(run.collectives, SizeIs(2));
    const Collective& reduce = run.collectives[0];
    EXPECT_EQ(run.text(reduce.op), "all_reduce");
    EXPECT_EQ(run.text(reduce.dtype), "bf16");
    EXPECT_EQ(run.text(reduce.group), "0");
    EXPECT_EQ(run.text(reduce.ranks), "0,1");
    EXPECT_EQ(reduce.sequence, 4);
    EXPECT_EQ(reduce.bytes, 2000);
    EXPECT_EQ(reduce.groupSize, 2);
    EXPECT_EQ((reduce.end - reduce.start).count(), 7000) << "that of its kernel";
    EXPECT_EQ(run.text(run.collectives[1].op), "all_gather");
    EXPECT_EQ(run.collectives[1].bytes, 32);
    EXPECT_FALSE(run.collectives[1].device);
}

TEST_F(Kineto, KeepsWaits)
{
    const ImportedRun run = imported(trace(
        {launch(5, "100"), kernel(5, "101", "1"),
         interval("cuda_sync", "Stream Wait Event", kStream, "110", "2",
                  R"("cuda_sync_kind": "Stream Wait Event", "stream": 7, "correlation": 8, "device": 0, )"
                  R"("wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 6)"),
         interval(
             "cuda_sync", "Context Sync", kStream, "120", "2",
             R"("cuda_sync_kind": "Context Sync", "stream": 4294967295, "correlation": 9, "device": 0)")}));
    ASSERT_THAT(run.waits, SizeIs(2));
    EXPECT_EQ(run.waits[0].kind, WaitKind::StreamWait);
    EXPECT_TRUE(run.waits[0].stream);
    EXPECT_TRUE(run.waits[0].waitedFor);
    EXPECT_NE(run.waits[0].stream, run.waits[0].waitedFor);
    EXPECT_TRUE(run.waits[0].recordCorrelation);
    EXPECT_EQ(run.waits[1].kind, WaitKind::Context);
    EXPECT_FALSE(run.waits[1].stream);
}

TEST_F(Kineto, ReadsTheFormOf2021)
{
    const ImportedRun run = imported(trace(
        {interval("Runtime", "cudaLaunchKernel", kHost, "100", "5", R"("correlation": 3, "external id": 1)"),
         interval("Kernel", "gemm", kStream, "110", "4",
                  R"("device": 0, "context": 1, "stream": 7, "correlation": 3, "external id": 1)"),
         interval("Kernel", "bare", R"("pid": 1, "tid": 20)", "120", "4")}));
    ASSERT_THAT(run.activities, SizeIs(2));
    EXPECT_EQ(run.topology.devices.size(), 2U)
        << "a kernel without args takes device and stream from pid and tid";
    EXPECT_EQ(run.calls.size(), 1U);
    EXPECT_EQ(run.loss("unlaunched_activity"), 1);
}

TEST_F(Kineto, ReadsABareListAndSortedMembers)
{
    const std::string sorted =
        R"({"args": {"correlation": 5, "device": 0, "stream": 7}, "cat": "kernel", "dur": 2.5, "name": "k", "ph": "X", )"
        R"("pid": 0, "tid": 7, "ts": 50.25})";
    const ImportedRun run = imported("[" + launch(5, "10") + "," + sorted + "]");
    ASSERT_THAT(run.activities, SizeIs(1));
    EXPECT_EQ((run.activities.front().end - run.activities.front().start).count(), 2500);
}

TEST_F(Kineto, AssignsKernelsOfAJoinedFileByCorrelation)
{
    const std::string other = R"("pid": 2000, "tid": 2000)";
    const ImportedRun run = imported(
        trace({launch(5, "100"),
               interval("cuda_runtime", "cudaLaunchKernel", other, "101", "1", R"("correlation": 6)"),
               kernel(5, "110", "1"), kernel(6, "120", "1")}));
    EXPECT_THAT(run.topology.processes, SizeIs(2));
    EXPECT_EQ(run.loss("unlaunched_activity"), 0);
}

TEST_F(Kineto, CountsWhatItDoesNotStore)
{
    const ImportedRun run = imported(trace(
        {launch(5, "100"), kernel(5, "110", "1"), interval("ac2g", "x", kHost, "1", "1"),
         interval("ac2g", "y", kHost, "2", "1"), interval("cpu_op", "late", kHost, "--5", "1"),
         interval("cpu_op", "long", kHost, "1", "99999999999999999999"),
         R"({"ph": "X", "cat": "cpu_op", "name": "no time", "pid": 1084, "tid": 1084})",
         R"({"ph": "C", "name": "counter", "pid": 0, "ts": 1, "args": {"word": "x"}})",
         kernel(7, "130", "1", R"(, "graph node id": 99999999999999999999999)"),
         R"({"ph": "s", "id": 5, "pid": 1084, "tid": 1084, "ts": 100, "cat": "ac2g", "name": "ac2g"})"}));
    EXPECT_EQ(run.loss("source_not_stored"), 3)
        << "two of a kind that is not known, one counter without a number";
    EXPECT_THAT(run.details.at("source_not_stored"), HasSubstr("ac2g"));
    EXPECT_EQ(run.loss("source_unreadable"), 3);
    EXPECT_EQ(run.loss("source_value"), 1);
    EXPECT_THAT(run.activities, SizeIs(2));
}

TEST_F(Kineto, KeepsCountersWithTheirDeviceAndUnit)
{
    const ImportedRun run = imported(trace(
        {launch(5, "100"), kernel(5, "110", "10"),
         R"({"ph": "C", "name": "Power", "pid": 0, "tid": 0, "ts": 115, "args": {"W": 412.5}})",
         R"({"ph": "C", "name": "Power", "pid": 0, "tid": 0, "ts": 105, "args": {"W": 300}})",
         R"({"ph": "C", "name": "Queue", "pid": 1084, "ts": 90, "args": {"word": "x", "length": 3, "more": 4}})",
         R"({"ph": "C", "name": "Queue", "pid": 1084, "ts": 112, "args": {"length": 1e300}})"}));
    EXPECT_EQ(run.loss("source_not_stored"), 0);
    const std::vector<CounterTrack> tracks = run.reader->counterTracks(RunId{1});
    ASSERT_THAT(tracks, SizeIs(2));
    EXPECT_EQ(tracks[0].name, "Power");
    EXPECT_EQ(tracks[0].unit, "W");
    EXPECT_EQ(tracks[0].device, DeviceIndex{0});
    ASSERT_THAT(tracks[0].points, SizeIs(2));
    EXPECT_EQ(tracks[0].points[0].value, 300'000) << "in the order of their times";
    EXPECT_EQ(tracks[0].points[1].value, 412'500);
    EXPECT_EQ(tracks[0].end, run.activities[0].end) << "the last value holds until the end";
    EXPECT_EQ(tracks[1].name, "Queue length");
    EXPECT_FALSE(tracks[1].device);
    EXPECT_EQ(tracks[1].points[0], (CounterPoint{run.calls[0].start, 3'000})) << "cut to the trace";
}

TEST_F(Kineto, KeepsEventsBesideNamesWithUnescapedQuotationMarks)
{
    const auto printed = [](const std::string& name, int correlation) {
        return "{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" + name +
               "\", \"pid\": 0, \"tid\": 7,\n    \"ts\": " + std::to_string(correlation) +
               ", \"dur\": 1.000,\n    \"args\": {\n      \"device\": 0, \"stream\": 7, \"correlation\": " +
               std::to_string(correlation) + "\n    }\n  }";
    };
    const ImportedRun run = imported(trace({printed("a", 1), printed("f(\"b\")", 2), printed("c", 3),
                                            printed("odd \"one", 4), printed("d", 5)}));
    EXPECT_EQ(kernelCount(run), 3);
    EXPECT_EQ(run.loss("source_not_json"), 2);
    EXPECT_THAT(run.details.at("source_not_json"), HasSubstr("at byte"));
    EXPECT_THAT(run.summary, HasSubstr("2 events are not valid JSON, the first at byte"));
}

TEST_F(Kineto, ReplacesBytesThatAreNotUtf8)
{
    const ImportedRun run = imported(trace({launch(5, "100"), kernel(5, "110", "1"),
                                            interval("cpu_op", "caf\xe9 \xe2\x82\xac", kHost, "90", "1")}));
    EXPECT_NE(run.op("caf? \xe2\x82\xac"), nullptr);
    EXPECT_EQ(run.loss("source_text"), 1);
    EXPECT_THAT(run.activities, SizeIs(1));
}

TEST_F(Kineto, UnescapesNames)
{
    const ImportedRun run = imported(trace({interval("cpu_op", R"(a \"b\" \\ \u00e9)", kHost, "90", "1")}));
    EXPECT_NE(run.op("a \"b\" \\ \xc3\xa9"), nullptr);
}

TEST_F(Kineto, KeepsWhatACutFileHolds)
{
    std::vector<std::string> events;
    for (int i = 1; i <= 50; ++i)
        events.push_back(kernel(i, std::to_string(10 * i), "1"));
    const std::string whole = trace(events);
    const std::size_t within = whole.rfind("gemm");
    const ImportedRun run = imported(whole.substr(0, within));
    EXPECT_EQ(kernelCount(run), 49);
    EXPECT_EQ(run.loss("source_cut"), 1);
    EXPECT_EQ(run.loss("source_not_json"), 0) << "the event in which the text ends";
    std::vector<std::string> withInvalid = events;
    withInvalid[3] = R"({"ph": "X", "name": "a" "b"})";
    const std::string invalid = trace(withInvalid);
    const ImportedRun both = imported(invalid.substr(0, invalid.rfind("gemm")));
    EXPECT_EQ(kernelCount(both), 48);
    EXPECT_EQ(both.loss("source_not_json"), 1) << "another event";
    EXPECT_THAT(run.summary, HasSubstr("the file ends early"));
    const std::string packed = gzipped(whole);
    const ImportedRun cut = imported(packed.substr(0, packed.size() - 8));
    EXPECT_EQ(kernelCount(cut), 50);
    EXPECT_EQ(cut.loss("source_cut"), 1);
}

TEST_F(Kineto, AFileWhoseChecksumIsWrongKeepsItsEventsHoweverSmall)
{
    std::string packed = gzipped(trace({kernel(1, "10", "1"), kernel(2, "20", "1")}));
    packed[packed.size() - 8] ^= 1;
    const ImportedRun run = imported(packed);
    EXPECT_EQ(kernelCount(run), 2);
    EXPECT_EQ(run.loss("source_cut"), 1);
}

TEST_F(Kineto, GivesTheSameRunCompressedOrNot)
{
    const std::string text = trace({launch(5, "100"), kernel(5, "110", "1"), kernel(6, "120", "2")}, kHeader);
    const std::string half =
        gzipped(text.substr(0, 100)) + gzipped(text.substr(100)); // gzip files may be joined
    for (const std::string& each : {gzipped(text), half}) {
        const ImportedRun run = imported(each);
        EXPECT_EQ(kernelCount(run), 2);
        EXPECT_EQ(kernelNs(run), 3000);
        EXPECT_THAT(run.losses, ElementsAre(std::pair<std::string, std::int64_t>("unlaunched_activity", 1)));
    }
}

TEST_F(Kineto, EndsWhenItsWatchCancels)
{
    const std::vector<std::filesystem::path> files{written(trace({kernel(1, "1", "1")}))};
    const std::filesystem::path output = folder_ / "cancelled.tscope";
    try {
        importFiles(files, output, [](double done) {
            EXPECT_GE(done, 0);
            EXPECT_LE(done, 1);
            return false;
        });
        FAIL() << "imported";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("the import was cancelled"));
    }
    EXPECT_FALSE(std::filesystem::exists(output) && !store::RunReader(output).runs().empty());
}

// Figures by tests/exchange/kineto_figures.py, which computes them from the JSON.
TEST_F(Kineto, AddsUpRealRecordings)
{
    const ImportedRun rank = importedFiles({recording("ddp_rank0.json.gz")});
    EXPECT_EQ(kernelCount(rank), 400);
    EXPECT_EQ(rank.topology.processes.front().rank, 0);
    EXPECT_THAT(rank.topology.devices, SizeIs(1));
    const ImportedRun graphs = importedFiles({recording("compiled_graphs.json.gz")});
    EXPECT_EQ(kernelCount(graphs), 280);
    const ImportedRun both = importedFiles({recording("ddp_rank0.json.gz"), recording("ddp_rank1.json.gz")});
    EXPECT_EQ(kernelCount(both), 800);
    EXPECT_THAT(both.topology.processes, SizeIs(2));
    EXPECT_THAT(both.topology.devices, SizeIs(2));
}

} // namespace tilescope::exchange
