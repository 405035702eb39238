#pragma once

// Shared by the tests of snapshots: a run to export, a snapshot that PyTorch wrote, and functions that read one.

#include "core/base/error.h"
#include "core/exchange/export/snapshot_export.h"
#include "core/exchange/import/snapshot_import.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace tilescope::exchange {

using testing::FakeTrace;

inline std::string fileText(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Three training steps as torch.cuda.memory._dump_snapshot wrote them on a GPU.
inline std::filesystem::path realSnapshot()
{
    return std::string(TILESCOPE_SOURCE_DIR) + "/tests/data/memory_small2_train.pickle";
}

inline ImportedSnapshot imported(const std::string& bytes)
{
    StringTable strings;
    return importSnapshot(PickleDocument(bytes, "x.pickle"), "x", strings);
}

/// Why a snapshot is refused; empty if it is accepted.
inline std::string refusalOf(const std::string& bytes)
{
    try {
        imported(bytes);
    } catch (const Error& error) {
        return error.sentence();
    }
    return {};
}

inline constexpr std::uint64_t kSegment = 0x10'0000;
inline constexpr std::int64_t kMiB = 1 << 20;

/// A segment of 20 MiB with a parameter of 4 MiB; a step allocates 2 MiB in attention and frees it.
inline void recordGpuRun(const std::filesystem::path& file)
{
    FakeTrace trace;
    trace.alreadyAllocated(4 * kMiB);
    trace.step(0, 1000, 2000).op("aten::mm", 1001, 1009).at("step/forward/attention");
    trace.alloc(kSegment + 4 * kMiB, 2 * kMiB - 100, 1002)
        .category("activations")
        .at("step/forward/attention");
    const OpId op = trace.lastOp();
    trace.alloc(kSegment + 6 * kMiB, 700, 1003).category("temporaries");
    trace.free(kSegment + 4 * kMiB, 2 * kMiB - 100, 1500);
    TraceBatch batch = trace.batch();
    batch.allocEvents[0].op = op;
    MemoryFacts facts;
    const Timestamp before = timestampAt(999);
    const DeviceIndex device{0};
    facts.segments.push_back({.time = before,
                              .device = device,
                              .address = kSegment,
                              .bytes = 20 * kMiB,
                              .pool = 3,
                              .isLarge = true});
    facts.blocks.push_back({.time = before,
                            .device = device,
                            .address = kSegment,
                            .bytes = 4 * kMiB,
                            .size = 4 * kMiB,
                            .category = MemoryCategory::Parameters,
                            .name = "layers.0/ffn/down",
                            .shape = "[1024, 1024]",
                            .dtype = "f32"});
    facts.blocks.push_back({.time = before,
                            .device = device,
                            .address = kSegment + 4 * kMiB,
                            .size = 16 * kMiB,
                            .isFree = true});
    facts.places = {
        {"step/forward", "core/engine/run/point_run.cpp", 300, "tilescope::engine::PointRun::execute"},
        {"step/forward/attention", "core/engine/lm/lm.cpp", 199, "tilescope::engine::LanguageModel::attend"}};
    store::RunWriter writer(file, trace.strings());
    writer.beginRun({"lm", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
    writer.write(batch);
    writer.writeMemory(facts);
    RunResult result;
    result.device = "cuda:0";
    writer.endRun(result);
}

class Snapshot : public ::testing::Test {
protected:
    std::string exported(const std::filesystem::path& file, const SnapshotMoment& moment = {},
                         SnapshotFigures* figures = nullptr, RunId run = RunId{1}) const
    {
        std::ostringstream out;
        const SnapshotFigures written = writeSnapshot(out, store::RunReader(file), run, moment);
        if (figures)
            *figures = written;
        return out.str();
    }
    std::filesystem::path gpuRun() const
    {
        const std::filesystem::path file = folder / "gpu.tscope";
        if (!std::filesystem::exists(file))
            recordGpuRun(file);
        return file;
    }

    testing::TemporaryFolder folder;
};

} // namespace tilescope::exchange
