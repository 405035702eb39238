#pragma once

// Shared by the tests of exporters: recordings with names that are difficult in some formats.

#include "core/exchange/import/trace_builder.h"
#include "core/query/runs/run_tables.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tilescope::exchange {

/// Quotation marks, a backslash, control characters, a mark that reorders text, and bytes that are not UTF-8.
inline constexpr std::string_view kHostileName = "a\"b\\c\nd\te\x01 \u202e<b>;%s \xff\xfe {}";
inline constexpr std::string_view kHostileNameWritten = "a\"b\\c\nd\te\x01 \u202e<b>;%s ?? {}";
inline constexpr std::string_view kHomeName = "/mnt/nfs/home/ada/project/train.py(96): step";
inline constexpr std::string_view kHomeNameWritten = "~/project/train.py(96): step";

class Exporting : public ::testing::Test {
protected:
    static Timestamp at(std::int64_t ns) { return timestampAt(ns); }

    static std::string textOf(const std::filesystem::path& file)
    {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    store::RunRecord runOf(const store::RunReader& reader) const { return query::chooseRun(reader, {}); }

    /// Two ranks whose native thread, stream and correlation numbers are equal. Each has a step with an op that
    /// launches a kernel and a copy, a frame, a range that overlaps the step's end, and memory.
    std::filesystem::path twoRanks() const
    {
        const std::filesystem::path file = folder / "ranks.tscope";
        TraceBuilder builder;
        for (std::int32_t rank = 0; rank < 2; ++rank) {
            const ProcessIndex process = builder.addProcess({.pid = 100,
                                                             .host = "secret-host",
                                                             .name = "python",
                                                             .commandLine = "python /home/ada/train.py",
                                                             .rank = rank,
                                                             .worldSize = 2});
            const ThreadId thread = builder.thread(process, 11, "main");
            const ThreadId autograd = builder.thread(process, 12, kHostileName);
            const DeviceIndex device = builder.device(process, 0);
            const StreamId stream = builder.stream(process, device, 7, 1);
            const std::int64_t late = rank * 5;
            builder.addRange(thread, "ProfilerStep#3", at(1000), at(2000), SpanKind::Step);
            builder.addFrame(thread, kHomeName, at(1001), at(1900));
            builder.addOp({.thread = thread,
                           .name = "aten::mm",
                           .shapes = "bf16[4, 8] f32[]",
                           .sequence = 7,
                           .externalId = 1,
                           .start = at(1100),
                           .end = at(1300)});
            builder.addApiCall(thread, "cudaLaunchKernel", 5, at(1110), at(1120));
            builder.addApiCall(thread, "cudaMemcpyAsync", 6, at(1130), at(1140));
            builder.addOp({.thread = autograd, .name = kHostileName, .start = at(1150), .end = at(1150)});
            // Overlaps without nesting: such ranges come from other threads of a recorder.
            builder.addRange(autograd, "first", at(1200), at(1500));
            builder.addRange(autograd, "second", at(1400), at(1700));
            builder.addActivity({.name = kHostileName,
                                 .device = device,
                                 .stream = stream,
                                 .correlation = 5,
                                 .externalId = 1,
                                 .launch = {.grid = {3, 2, 1},
                                            .block = {128, 1, 1},
                                            .registersPerThread = 40,
                                            .dynamicShared = 1024},
                                 .start = at(1500 + late),
                                 .end = at(1777 + late)});
            builder.addActivity({.kind = DeviceEventKind::Memcpy,
                                 .name = "Memcpy HtoD (Pinned -> Device)",
                                 .device = device,
                                 .stream = stream,
                                 .correlation = 6,
                                 .copy = CopyKind::HostToDevice,
                                 .bytes = 4096,
                                 .start = at(1800 + late),
                                 .end = at(1801 + late)});
            builder.addCollective(process,
                                  {.op = "all_reduce",
                                   .group = "0",
                                   .ranks = "0,1",
                                   .dtype = "bf16",
                                   .sequence = 4,
                                   .bytes = 64},
                                  5);
            builder.addWait({.kind = WaitKind::Stream,
                             .process = process,
                             .device = device,
                             .stream = stream,
                             .correlation = CorrelationId{8},
                             .start = at(1850),
                             .end = at(1860)});
            builder.addAllocation(thread, {.time = at(1105),
                                           .device = device,
                                           .address = 0x7000,
                                           .bytes = 512,
                                           .allocated = 512,
                                           .reserved = 2048});
            builder.addAllocation(thread, {.time = at(1290),
                                           .action = AllocAction::FreeRequested,
                                           .device = device,
                                           .address = 0x7000,
                                           .bytes = 512,
                                           .allocated = 0,
                                           .reserved = 2048});
        }
        builder.finish({.name = "x", .format = "test"}, file, {});
        return file;
    }

    /// A run of one process that recorded launches by their time alone, with two kernels that overlap on a stream.
    std::filesystem::path ownRun() const
    {
        const std::filesystem::path file = folder / "own.tscope";
        testing::FakeTrace trace;
        trace.step(0, 1000, 2000).range("step/forward", 1010, 1500);
        trace.op("aten::mm", 1020, 1100).at("step/forward");
        const OpId op = trace.lastOp();
        trace.kernel("gemm", 1200, 1400).at("step/forward").launchedAt(1030).by(op);
        trace.kernel("overlapping", 1300, 1350).at("step/forward").launchedAt(1040).by(op);
        trace.memset(64, 1500, 1510);
        trace.alloc(0x1000, 100, 1015).free(0x1000, 100, 1600);
        TraceBatch batch = trace.batch();
        for (DeviceEvent& event : batch.deviceEvents)
            event.launchThread = ThreadId{1};
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"own", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.write(batch);
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
        return file;
    }

    tilescope::testing::TemporaryFolder folder;
};

} // namespace tilescope::exchange
