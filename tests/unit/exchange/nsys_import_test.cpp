// Exports of Nsight Systems in the forms of 2020 to 2026 become runs, and what cannot be kept is counted.

#include "core/exchange/import/collective_names.h"
#include "tests/unit/exchange/nsys_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(Nsys, ReadsAnExportWithoutMetadata)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 78, 5, 1000));
    file.run("insert into ThreadNames values (4, 20, " + globalTid(77, 78) + ")");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.activities, SizeIs(1));
    const DeviceEvent& kernel = run.activities.front();
    EXPECT_EQ(run.text(kernel.name), "void gemm<float>(float*)");
    EXPECT_EQ((kernel.end - kernel.start).count(), 50);
    EXPECT_EQ(kernel.launch.grid, (std::array<std::uint32_t, 3>{4, 5, 6}));
    EXPECT_EQ(kernel.launch.block, (std::array<std::uint32_t, 3>{128, 2, 1}));
    EXPECT_EQ(kernel.launch.registersPerThread, 40U);
    EXPECT_EQ(kernel.launch.staticShared, 1024U);
    EXPECT_EQ(kernel.launch.dynamicShared, 2048U);
    EXPECT_EQ(kernel.launch.localPerThread, 16U);
    ASSERT_THAT(run.calls, SizeIs(1));
    EXPECT_EQ(run.text(run.calls.front().name), "cudaLaunchKernel");
    EXPECT_EQ(run.calls.front().correlation, kernel.correlation);
    EXPECT_EQ(run.loss("unlaunched_activity"), 0);
    ASSERT_THAT(run.threads, SizeIs(1));
    EXPECT_EQ(run.text(run.threads.front().name), "main");
    EXPECT_THAT(run.summary, HasSubstr("report.sqlite: 1 kernel"));
}

TEST_F(Nsys, ConnectsLaunchAndKernelWithinAProcessOnly)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000)).run(launch(88, 88, 5, 2000, 1));
    // The launch of the third kernel lies outside the window, and another process has one of its number.
    file.run("insert into CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
             "correlationId, globalPid, demangledName) values (10, 20, 0, 1, 7, 6, " +
             globalPid(77) + ", 2)");
    file.run("insert into CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, "
             "nameId) values (1, 2, 0, " +
             globalTid(88, 88) + ", 6, 1)");
    const ImportedRun run = imported(file);
    EXPECT_THAT(run.activities, SizeIs(3));
    EXPECT_EQ(run.loss("unlaunched_activity"), 1);
    EXPECT_THAT(run.topology.processes, SizeIs(2));
    EXPECT_THAT(run.topology.devices, SizeIs(2));
}

TEST_F(Nsys, NamesCopiesAndMemsetsByTheFilesOwnEnumeration)
{
    auto& file = newFile();
    file.run(kOldTables);
    // This file numbers the kinds differently from the documented values.
    file.run("create table ENUM_CUDA_MEMCPY_OPER (id integer primary key, name text, label text);"
             "insert into ENUM_CUDA_MEMCPY_OPER values (21, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host')");
    const std::string copy =
        "insert into CUPTI_ACTIVITY_KIND_MEMCPY values (100, 200, 0, 1, 7, 1, " + globalPid(77) + ", ";
    file.run(copy + "4096, 21, 2, 1, null)").run(copy + "512, 1, 0, 2, null)").run(copy + "8, 99, 0, 2, 3)");
    file.run("insert into CUPTI_ACTIVITY_KIND_MEMSET values (300, 310, 0, 1, 7, 2, " + globalPid(77) +
             ", 0, 64, null, 2)");
    const ImportedRun run = imported(file);
    const DeviceEvent* back = run.activity("Memcpy DtoH (Device -> Pinned)");
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->copy, CopyKind::DeviceToHost);
    EXPECT_EQ(back->bytes, 4096);
    const DeviceEvent* forth = run.activity("Memcpy HtoD (Pageable -> Device)");
    ASSERT_NE(forth, nullptr);
    EXPECT_EQ(forth->copy, CopyKind::HostToDevice);
    const DeviceEvent* unknown = run.activity("Memcpy (Pageable -> Device)");
    ASSERT_NE(unknown, nullptr);
    EXPECT_EQ(unknown->copy, CopyKind::Other);
    EXPECT_EQ(unknown->graphNode, 3U);
    const DeviceEvent* memset = run.activity("Memset (Device)");
    ASSERT_NE(memset, nullptr);
    EXPECT_EQ(memset->kind, DeviceEventKind::Memset);
    EXPECT_EQ(memset->bytes, 64);
}

TEST_F(Nsys, ReadsRangesOfEveryKind)
{
    auto& file = newFile();
    file.run(kOldTables).run(kNvtxTable).run("insert into StringIds values (50, 'cublasGemm')");
    const auto event = [&](const std::string& values) {
        file.run(
            "insert into NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId) values (" +
            values + ")");
    };
    const std::string thread = globalTid(77, 77);
    event("0, null, 75, 'cuBLAS', " + thread + ", null, 1");
    event("100, 900, 59, 'Forward', " + thread + ", null, 0");
    event("200, 300, 59, null, " + thread + ", 50, 1");
    event("400, 500, 60, 'epoch', " + thread + ", null, 0");
    event("600, null, 60, 'open', " + thread + ", null, 0");
    event("700, null, 34, 'mark', " + thread + ", null, 0");
    event("800, 850, 59, 'aten::mm, seq = 12, op_id = 3, sizes = [[4, 8], [8, 2], []]', " + thread +
          ", null, 0");
    const ImportedRun run = imported(file);
    std::map<std::string, std::int64_t> durations;
    for (const Range& range : run.ranges)
        durations[run.text(range.name)] = (range.end - range.start).count();
    EXPECT_EQ(durations["Forward"], 800);
    EXPECT_EQ(durations["cuBLAS: cublasGemm"], 100);
    EXPECT_EQ(durations["epoch"], 100);
    EXPECT_EQ(durations["open"], 300) << "it ends with the last event";
    EXPECT_EQ(run.loss("open_range"), 1);
    EXPECT_EQ(run.loss("source_not_stored"), 1) << "the mark";
    ASSERT_THAT(run.ops, SizeIs(1));
    EXPECT_EQ(run.text(run.ops.front().name), "aten::mm");
    EXPECT_EQ(run.text(run.ops.front().shapes), "[4, 8] [8, 2]");
    EXPECT_EQ(run.ops.front().sequence, 12);
}

TEST(CollectiveName, FollowsFromTheKernelsName)
{
    struct Case {
        const char* name;
        const char* op;
        const char* dtype;
    };
    for (const Case& expected :
         {Case{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce",
               "f32"},
          Case{"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter", "bf16"},
          Case{"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*)", "all_gather", "i8"},
          Case{"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv", ""},
          Case{"ncclDevKernel_Generic_4", "", ""},
          Case{"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, int)", "all_reduce",
               ""},
          Case{"void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*)", "all_reduce", ""},
          Case{"void c10d::symmetric_memory::multimem_all_reduce_kernel<c10::BFloat16, 16>(char*)",
               "all_reduce", ""},
          Case{"two_shot_all_reduce_kernel", "all_reduce", ""},
          Case{"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<0>(int)",
               "all_reduce", ""},
          Case{"void deep_ep::internode_ll::dispatch<true, 3, 7168>(void*)", "all_to_all", ""},
          Case{"_ZN4vllm26cross_device_reduce_1stageI13__nv_bfloat16Li2EEEvPNS_8RankDataE", "all_reduce",
               ""}}) {
        ASSERT_TRUE(isCollectiveKernel(expected.name));
        EXPECT_EQ(collectiveOfKernel(expected.name).op, expected.op) << expected.name;
        EXPECT_EQ(collectiveOfKernel(expected.name).dtype, expected.dtype) << expected.name;
    }
    for (const char* other : {"void gemm<float>(float*)", "void at::native::reduce_kernel<512, 1>(int)",
                              "dispatch", "void fused<AllReduceTag>(int)", ""})
        EXPECT_FALSE(isCollectiveKernel(other)) << other;
    for (const char* waiting : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "two_shot_all_reduce_kernel"})
        EXPECT_TRUE(waitsForAllRanks(waiting)) << waiting;
    for (const char* other :
         {"ncclDevKernel_SendRecv(x)", "void deep_ep::internode_ll::dispatch<true>(void*)", "gemm"})
        EXPECT_FALSE(waitsForAllRanks(other)) << other;
    EXPECT_EQ(collectiveOfCall("ncclAllReduce"), "all_reduce");
    EXPECT_EQ(collectiveOfCall("ncclGroupStart"), "");
}

TEST_F(Nsys, FindsCommunicatorAndBytesOfACollectiveInItsPayload)
{
    auto& file = newFile();
    file.run(kOldTables).run(kNvtxTable);
    file.run(R"sql(
        create table NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId integer, schemaId integer, idx integer,
            type integer, name text, offset integer);
        insert into NVTX_PAYLOAD_SCHEMA_ENTRIES values (1, 9, 0, 18, 'NCCL communicator ID', null),
            (1, 9, 1, 22, 'Message size [bytes]', 8), (1, 8, 0, 18, 'NCCL communicator ID', null),
            (1, 8, 1, 5, 'No. of ranks', 8), (1, 8, 2, 5, 'Rank', 12);
        insert into StringIds values (60, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(Args)'))sql");
    const std::string thread = globalTid(77, 77);
    // Domain 1, schema 8, 16 bytes; communicator 0xabc, 4 ranks, rank 3. Then an all-reduce of 65,536 bytes.
    const std::string head = "01000000000000000800000000000000";
    const std::string size = "10000000000000002000000000000000";
    file.run("insert into NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, binaryData) values "
             "(10, 20, 59, 'ncclCommInitRank', " +
             thread + ", 1, x'" + head + size + "bc0a0000000000000400000003000000'), (1000, 1050, 59, " +
             "'ncclAllReduce', " + thread + ", 1, x'0100000000000000" + "0900000000000000" + size +
             "bc0a0000000000000000010000000000')");
    file.run("insert into CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, "
             "nameId) values (1010, 1020, 1, " +
             thread + ", 5, 1)");
    file.run("insert into CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
             "correlationId, globalPid, demangledName) values (1100, 1900, 0, 1, 7, 5, " +
             globalPid(77) + ", 60)");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.collectives, SizeIs(1));
    const Collective& collective = run.collectives.front();
    EXPECT_EQ(run.text(collective.op), "all_reduce");
    EXPECT_EQ(run.text(collective.dtype), "bf16");
    EXPECT_EQ(run.text(collective.group), "0x0000000000000abc");
    EXPECT_EQ(collective.bytes, 65'536);
    EXPECT_EQ(collective.groupSize, 4);
    EXPECT_EQ((collective.end - collective.start).count(), 800);
    ASSERT_THAT(run.topology.processes, SizeIs(1));
    EXPECT_EQ(run.topology.processes.front().rank, 3);
    EXPECT_EQ(run.topology.processes.front().worldSize, 4);
}

TEST_F(Nsys, ConnectsAWaitWithTheEventThatWasRecorded)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000)).run(R"sql(
        create table CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId integer, contextId integer, streamId integer,
            correlationId integer, globalPid integer, eventId integer);
        create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start integer, end integer, deviceId integer,
            contextId integer, streamId integer, correlationId integer, globalPid integer, syncType integer,
            eventId integer))sql");
    const std::string process = globalPid(77);
    file.run("insert into CUPTI_ACTIVITY_KIND_CUDA_EVENT values (0, 1, 7, 10, " + process +
             ", 1), (0, 1, 8, " + "20, " + process + ", 1), (0, 1, 9, 40, " + process + ", 1)");
    file.run("insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values (2000, 2010, 0, 1, 13, 30, " + process +
             ", 2, 1), (2100, 2200, 0, 1, 4294967295, 50, " + process +
             ", 1, 4294967295), (2300, 2400, 0, 1, " + "4294967295, 60, " + process +
             ", 2, 1), (2500, 2600, 0, 1, 7, 70, " + process + ", 0, 4294967295)");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.waits, SizeIs(4));
    const Wait& wait = run.waits.front();
    EXPECT_EQ(wait.kind, WaitKind::StreamWait);
    EXPECT_TRUE(wait.stream);
    EXPECT_TRUE(wait.waitedFor);
    EXPECT_NE(wait.stream, wait.waitedFor);
    EXPECT_TRUE(wait.recordCorrelation);
    EXPECT_EQ(wait.correlation.value - wait.recordCorrelation.value, 10U) << "the record before the wait";
    EXPECT_EQ(run.waits[1].kind, WaitKind::Context) << "syncType 1 meant another kind in 2021";
    EXPECT_EQ(run.waits[2].kind, WaitKind::Event);
    EXPECT_EQ(run.waits[3].kind, WaitKind::Stream);
}

TEST_F(Nsys, StoresLaunchesOfWholeGraphsAndSaysSo)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000)).run(R"sql(
        create table CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start integer, end integer, deviceId integer,
            contextId integer, streamId integer, correlationId integer, globalPid integer, graphId integer,
            graphExecId integer))sql");
    file.run("insert into CUPTI_ACTIVITY_KIND_GRAPH_TRACE values (3000, 3700, 0, 1, 7, 9, " + globalPid(77) +
             ", 4, 5)");
    const ImportedRun run = imported(file);
    const DeviceEvent* graph = run.activity("CUDA graph 4");
    ASSERT_NE(graph, nullptr);
    EXPECT_EQ((graph->end - graph->start).count(), 700);
    EXPECT_EQ(run.loss("graph_launches_whole"), 1);
    EXPECT_THAT(run.summary, HasSubstr(": 1 kernel,")) << "a graph is no kernel";
}

TEST_F(Nsys, KnowsADeviceByItsUuidBehindTheNumberOfEachProcess)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000, 0)).run(launch(88, 88, 5, 2000, 0)).run(R"sql(
        create table TARGET_INFO_GPU (id integer, name text, uuid text, totalMemory integer, smCount integer,
            computeMajor integer, computeMinor integer);
        insert into TARGET_INFO_GPU values (0, 'NVIDIA H200', 'aaaa-0', 150000000000, 132, 9, 0),
            (1, 'NVIDIA H200', 'aaaa-1', 150000000000, 132, 9, 0);
        create table TARGET_INFO_CUDA_DEVICE (gpuId integer, cudaId integer, pid integer);
        insert into TARGET_INFO_CUDA_DEVICE values (0, 0, 77), (1, 0, 88))sql");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.topology.devices, SizeIs(2)) << "both processes call their GPU 0";
    EXPECT_EQ(run.topology.devices[0].uuid, "GPU-aaaa-0");
    EXPECT_EQ(run.topology.devices[1].uuid, "GPU-aaaa-1");
    EXPECT_EQ(run.topology.devices[0].name, "NVIDIA H200");
    EXPECT_EQ(run.topology.devices[0].multiprocessors, 132);
    EXPECT_EQ(run.topology.devices[0].capability, "9.0");
}

TEST_F(Nsys, StoresVersionsButNoEnvironmentOrCommandLine)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000)).run(R"sql(
        create table META_DATA_EXPORT (name text, value text);
        insert into META_DATA_EXPORT values ('EXPORT_PRODUCT_VERSION', '2026.1.1.204'),
            ('EXPORT_USER', 'somebody'), ('EXPORT_PARAM_INPUT_PATH_ABS', '/home/somebody/secret_path');
        create table META_DATA_CAPTURE (name text, value text);
        insert into META_DATA_CAPTURE values ('PROCESS_0:ENVIRONMENT_VARIABLE', 'API_TOKEN=hunter2'),
            ('PROCESS_0:COMMAND', 'python'), ('PROCESS_0:ARGUMENT_0', '--password=hunter2'),
            ('PROCESS_0:WORKING_DIR', '/home/somebody'), ('PROCESS_0:USER_NAME', 'somebody');
        create table TARGET_INFO_SYSTEM_ENV (globalVid integer, devStateName text, name text,
            nameEnum integer, value text);
        insert into TARGET_INFO_SYSTEM_ENV values (1, '', 'DeviceEnvironment', 1, 'API_TOKEN=hunter2'),
            (1, '', 'CudaDriverVersion', 2, '12060'), (1, '', 'NvDriverVersion', 3, '560.94'),
            (1, '', 'Hostname', 4, 'node7');
        create table TARGET_INFO_SESSION_START_TIME (utcEpochNs integer);
        insert into TARGET_INFO_SESSION_START_TIME values (1779630014975716426))sql");
    file.close();
    const std::filesystem::path output = folder_ / "stored.tscope";
    const std::vector<std::filesystem::path> inputs{file.path()};
    ImportedRun run(output, importFiles(inputs, output));
    EXPECT_EQ(run.environment["nsys"], "2026.1.1.204");
    EXPECT_EQ(run.environment["cuda.driver"], "12.6");
    EXPECT_EQ(run.environment["driver"], "560.94");
    EXPECT_EQ(run.environment["host"], "node7");
    EXPECT_EQ(run.topology.processes.front().startedUnixNs, 1'779'630'014'975'716'426);
    std::ifstream in(output, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const char* secret : {"hunter2", "secret_path", "somebody", "API_TOKEN"})
        EXPECT_EQ(bytes.find(secret), std::string::npos) << secret;
}

TEST_F(Nsys, CountsWhatItCannotKeep)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000)).run(R"sql(
        create table OSRT_API (start integer, end integer);
        insert into OSRT_API values (1, 2), (3, 4), (5, 6);
        create table DIAGNOSTIC_EVENT (severity integer, text text);
        insert into DIAGNOSTIC_EVENT values (3, 'CUDA buffers were dropped: 12'), (1, 'no event was dropped'),
            (2, 'No NVTX events collected. Does the process use NVTX?'))sql");
    const std::string kernel = "insert into CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, "
                               "streamId, correlationId, globalPid, demangledName) values (";
    const std::string rest = ", 1, 7, 90, " + globalPid(77) + ", 2)";
    file.run(kernel + "null, 20, 0" + rest);   // no start
    file.run(kernel + "10, 20, -4" + rest);    // no such device
    file.run(kernel + "0, 0, 0" + rest);       // CUPTI could not time it
    file.run(kernel + "500, 400, 0" + rest);   // ends before it starts
    file.run(kernel + "'noon', 20, 0" + rest); // not a number
    file.run(kernel + "9000000000000000000, 9000000000000000001, 0" + rest);
    const ImportedRun run = imported(file);
    EXPECT_THAT(run.activities, SizeIs(2)) << "the launched one, and the one that ends too early";
    EXPECT_EQ(run.loss("source_unreadable"), 3);
    EXPECT_EQ(run.loss("no_timestamp"), 1);
    EXPECT_EQ(run.loss("negative_duration"), 1);
    EXPECT_EQ(run.loss("time_out_of_range"), 1);
    EXPECT_EQ(run.loss("source_not_stored"), 3);
    EXPECT_THAT(run.details.at("source_not_stored"), HasSubstr("OSRT_API"));
    EXPECT_EQ(run.loss("source_dropped"), 1);
    EXPECT_THAT(run.details.at("source_dropped"), HasSubstr("CUDA buffers were dropped: 12"));
}

TEST_F(Nsys, ReadsTablesWithASuffixOfTheirVersion)
{
    auto& file = newFile();
    file.run(kOldTables).run(launch(77, 77, 5, 1000));
    file.run("alter table CUPTI_ACTIVITY_KIND_KERNEL rename to CUPTI_ACTIVITY_KIND_KERNEL_V3");
    const ImportedRun run = imported(file);
    EXPECT_THAT(run.activities, SizeIs(1));
    EXPECT_EQ(run.loss("source_not_stored"), 0);
}

TEST_F(Nsys, ReadsClustersOfTheFormOf2026)
{
    auto& file = newFile();
    file.run(kOldTables);
    for (const char* column : {"graphId", "clusterX", "clusterY", "clusterZ", "qmdLastCtaDone",
                               "tensorSizeMinusOneElements", "greenContextId", "mangledName"})
        file.run("alter table CUPTI_ACTIVITY_KIND_KERNEL add column " + std::string(column) + " integer");
    file.run(launch(77, 77, 5, 1000))
        .run("update CUPTI_ACTIVITY_KIND_KERNEL set clusterX = 2, clusterY = 1, "
             "clusterZ = 1, graphNodeId = 4294967301");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.activities, SizeIs(1));
    EXPECT_EQ(run.activities.front().launch.cluster, (std::array<std::uint32_t, 3>{2, 1, 1}));
    EXPECT_EQ(run.activities.front().graphNode, 4'294'967'301U);
}

TEST_F(Nsys, OpensAnExportWithoutGpuRows)
{
    auto& file = newFile();
    file.run("create table StringIds (id integer primary key, value text);"
             "create table META_DATA_EXPORT (name text, value text);")
        .run(kNvtxTable)
        .run("insert into NVTX_EVENTS (start, end, eventType, text, globalTid) values (1, 9, 59, 'epoch', " +
             globalTid(77, 77) + ")");
    const ImportedRun run = imported(file);
    EXPECT_THAT(run.ranges, SizeIs(1));
    EXPECT_THAT(run.activities, SizeIs(0));
}

} // namespace tilescope::exchange
