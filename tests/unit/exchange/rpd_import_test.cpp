// Recordings of ROCm's rocmProfileData become runs.

#include "tests/unit/exchange/nsys_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {

/// Tables of schema version 2, and names.
constexpr const char* kTables = R"sql(
    create table rocpd_metadata (id integer primary key, tag text, value text);
    insert into rocpd_metadata (tag, value) values ('schema_version', '2');
    create table rocpd_string (id integer primary key, string text);
    insert into rocpd_string values (1, ''), (2, 'hipLaunchKernel'), (3, 'KernelExecution'), (4, 'gemm_kernel'),
        (5, 'UserMarker'), (6, 'aten::mm'), (7, 'hipMemcpyAsync'), (8, 'CopyHostToDevice'), (9, 'FillBuffer'),
        (10, 'hipGraphLaunch'), (11, 'forward'), (12, 'OpTable::writeRows'), (13, 'Barrier'),
        (14, 'hipExtModuleLaunchKernel');
    create table rocpd_api (id integer primary key, pid integer, tid integer, start integer, end integer,
        apiName_id integer, args_id integer);
    create table rocpd_op (id integer primary key, gpuId integer, queueId integer, sequenceId integer,
        completionSignal text, start integer, end integer, description_id integer, opType_id integer);
    create table rocpd_api_ops (id integer primary key, api_id integer, op_id integer);
    create table rocpd_kernelapi (api_ptr_id integer primary key, stream text, gridX integer, gridY integer,
        gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer, groupSegmentSize integer,
        privateSegmentSize integer, kernelName_id integer);
    create table rocpd_copyapi (api_ptr_id integer primary key, size integer, kind integer);
)sql";

} // namespace

using Rpd = Nsys;

TEST_F(Rpd, ConnectsKernelsWithCallsWhoseIdsExceed32Bits)
{
    auto& file = newFile("trace.rpd");
    file.run(kTables).run(R"sql(
        insert into rocpd_api values (4294967297, 77, 78, 100, 110, 2, 1), (4294967298, 77, 78, 200, 210, 14, 1),
            (4294967299, 77, 78, 300, 310, 7, 1);
        insert into rocpd_op values (4294967297, 2, 0, 0, '', 150, 190, 4, 3), (4294967298, 2, 0, 0, '', 250, 290, 1, 3),
            (4294967299, 2, 1, 0, '', 350, 360, 1, 8);
        insert into rocpd_api_ops values (1, 4294967297, 4294967297), (2, 4294967298, 4294967298),
            (3, 4294967299, 4294967299);
        insert into rocpd_kernelapi values (4294967297, '0x0', 7, 2, 1, 256, 1, 1, 512, 16, 4),
            (4294967298, '0x0', 1792, 782, 1, 256, 1, 1, 0, 0, 4);
        insert into rocpd_copyapi values (4294967299, 65536, 1))sql");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.activities, SizeIs(3));
    EXPECT_EQ(run.loss("unlaunched_activity"), 0);
    const DeviceEvent& first = run.activities[0];
    EXPECT_EQ(run.text(first.name), "gemm_kernel");
    EXPECT_EQ(first.launch.grid, (std::array<std::uint32_t, 3>{7, 2, 1}));
    EXPECT_EQ(first.launch.dynamicShared, 512U);
    const DeviceEvent& second = run.activities[1];
    EXPECT_EQ(run.text(second.name), "gemm_kernel") << "the name stands with the call";
    EXPECT_EQ(second.launch.grid, (std::array<std::uint32_t, 3>{7, 782, 1})) << "given in threads";
    EXPECT_EQ(run.activities[2].kind, DeviceEventKind::Memcpy);
    EXPECT_EQ(run.activities[2].copy, CopyKind::HostToDevice);
    EXPECT_EQ(run.activities[2].bytes, 65'536);
    EXPECT_THAT(run.calls, SizeIs(3));
    EXPECT_THAT(run.summary, HasSubstr("trace.rpd: 2 kernels"));
    EXPECT_EQ(run.reader->runs().front().startedUnixNs, 0) << "times count from the start of the recording";
}

TEST_F(Rpd, KeepsMonitorsOfTheGpusThatAreUsed)
{
    auto& file = newFile("trace.rpd");
    file.run(kTables).run(R"sql(
        create table rocpd_monitor (id integer primary key, deviceType varchar(16), deviceId integer,
            monitorType varchar(16), start integer, end integer, value varchar(255));
        insert into rocpd_monitor values (1, 'gpu', 2, 'sclk', 140, 200, '1200'), (2, 'gpu', 2, 'sclk', 200, 180, '2100'),
            (3, 'gpu', 5, 'sclk', 140, 200, '1'), (4, 'gpu', 2, 'sclk', 160, 170, 'fast');
        insert into rocpd_api values (1, 77, 78, 100, 110, 2, 1);
        insert into rocpd_op values (1, 2, 0, 0, '', 150, 190, 4, 3);
        insert into rocpd_api_ops values (1, 1, 1))sql");
    const ImportedRun run = imported(file);
    EXPECT_EQ(run.loss("source_not_stored"), 2) << "an unused GPU, and a value that is no number";
    const std::vector<CounterTrack> tracks = run.reader->counterTracks(RunId{1});
    ASSERT_THAT(tracks, SizeIs(1));
    EXPECT_EQ(tracks[0].name, "sclk");
    EXPECT_EQ(tracks[0].device, run.activities[0].device);
    ASSERT_THAT(tracks[0].points, SizeIs(1)) << "what begins behind the trace is cut off";
    EXPECT_EQ(tracks[0].points[0].value, 1'200'000);
    EXPECT_EQ(tracks[0].end, run.activities[0].end);
}

TEST_F(Rpd, ReadsMarkersAsRangesAndOps)
{
    auto& file = newFile("trace.rpd");
    file.run(kTables).run(R"sql(
        create table ext_autogradapi (api_ptr_id integer primary key, autogradName_id integer, seq integer,
            op_id integer, sizes text, input_op_ids text);
        insert into ext_autogradapi values (2, 6, 12, 3, '[[4, 8], [8, 2]]', '');
        insert into rocpd_api values (1, 77, 78, 100, 900, 5, 11), (2, 77, 78, 200, 300, 5, 6),
            (3, 77, 78, 400, 400, 5, 11), (4, 77, 78, 500, 510, 12, 1), (5, 77, 78, 600, 610, 2, 1);
        insert into rocpd_op values (1, 0, 0, 0, '', 700, 760, 4, 3), (2, 0, 0, 0, '', 770, 780, 1, 13),
            (3, 0, 0, 0, '', 790, 799, 1, 9))sql");
    const ImportedRun run = imported(file);
    ASSERT_THAT(run.ops, SizeIs(1));
    EXPECT_EQ(run.text(run.ops.front().name), "aten::mm");
    EXPECT_EQ(run.text(run.ops.front().shapes), "[4, 8] [8, 2]");
    EXPECT_EQ(run.ops.front().sequence, 12);
    bool forward = false;
    for (const Range& range : run.ranges)
        forward |= run.text(range.name) == "forward" && (range.end - range.start).count() == 800;
    EXPECT_TRUE(forward);
    EXPECT_EQ(run.loss("source_not_stored"), 2) << "the mark and the barrier";
    EXPECT_THAT(run.activities, SizeIs(2));
    EXPECT_EQ(run.loss("unlaunched_activity"), 2);
}

} // namespace tilescope::exchange
