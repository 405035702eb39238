#pragma once

#include "core/model/events.h"
#include "core/model/processes.h"
#include "core/model/strings.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace tilescope::store::testing {

/// The bytes of a file.
inline std::string contentsOf(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder that goes with its contents.
class TemporaryFolder {
public:
    TemporaryFolder()
    {
        // In memory where that is possible: hundreds of small files that are synced each are slow on a disk.
        const std::filesystem::path memory = "/dev/shm";
        const bool inMemory = access(memory.c_str(), W_OK) == 0;
        std::string name =
            ((inMemory ? memory : std::filesystem::temp_directory_path()) / "tilescope-store-XXXXXX")
                .string();
        if (!mkdtemp(name.data()))
            throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~TemporaryFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// Makes events whose times count in nanoseconds from the run's first moment.
class Builder {
public:
    explicit Builder(StringTable& strings) : strings_(strings), origin_(TraceClock::now()) {}

    Timestamp at(std::int64_t nanoseconds) const { return origin_ + Nanoseconds(nanoseconds); }
    StringId text(std::string_view text) { return strings_.intern(text); }

    Range range(std::uint32_t id, std::string_view path, std::int64_t start, std::int64_t end)
    {
        Range range;
        range.id = RangeId{id};
        range.path = text(path);
        range.name = text(path.substr(path.rfind('/') + 1));
        range.thread = ThreadId{101};
        range.start = at(start);
        range.end = at(end);
        return range;
    }
    Op op(std::uint32_t id, std::string_view name, std::int64_t start, std::int64_t end)
    {
        Op op;
        op.id = OpId{id};
        op.name = text(name);
        op.thread = ThreadId{101};
        op.start = at(start);
        op.end = at(end);
        return op;
    }
    DeviceEvent kernel(std::string_view name, std::int64_t start, std::int64_t end)
    {
        DeviceEvent event;
        event.name = text(name);
        event.device = DeviceIndex{0};
        event.stream = StreamId{7};
        event.launch = {
            .grid = {12, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}, .registersPerThread = 40};
        event.start = at(start);
        event.end = at(end);
        return event;
    }
    AllocEvent allocation(AllocAction action, std::uint64_t address, std::int64_t bytes, std::int64_t time)
    {
        AllocEvent event;
        event.action = action;
        event.address = address;
        event.bytes = bytes;
        event.time = at(time);
        return event;
    }

private:
    StringTable& strings_;
    Timestamp origin_;
};

inline RunHeader header(std::string name = "test")
{
    return {.name = std::move(name),
            .workload = "attention",
            .specJson = R"({"workload":"attention"})",
            .specHash = "abc123",
            .program = "Tilescope test"};
}

/// Two ranks on two devices with clocks of their own; `mark` makes those of one run differ from another's.
inline RunTopology topologyOf(const std::string& mark)
{
    return {
        .clocks = {{.id = ClockIndex{0}, .name = mark, .method = "same clock"},
                   {.id = ClockIndex{1},
                    .name = "b",
                    .offset = Nanoseconds(-5),
                    .uncertainty = Nanoseconds(3),
                    .method = "ends of collectives"}},
        .processes = {{.id = ProcessIndex{0}, .host = "a", .name = mark, .clock = ClockIndex{0}},
                      {.id = ProcessIndex{1},
                       .pid = 77,
                       .host = "b",
                       .name = "python",
                       .commandLine = "python train.py --token=***",
                       .rank = 1,
                       .worldSize = 2,
                       .startedUnixNs = 5,
                       .clock = ClockIndex{1},
                       .firstCorrelation = 4'000'000'000}},
        .devices = {{.id = DeviceIndex{0}, .name = "NVIDIA H200"},
                    {.id = DeviceIndex{1},
                     .ordinal = 0,
                     .uuid = "GPU-" + mark,
                     .name = "NVIDIA H200",
                     .host = "b",
                     .memory = Bytes{1 << 20},
                     .multiprocessors = 132,
                     .capability = "9.0"}},
        .streams = {{.device = DeviceIndex{0}, .id = StreamId{7}, .process = ProcessIndex{0}, .native = 7},
                    {.device = DeviceIndex{1},
                     .id = StreamId{1'000'000},
                     .process = ProcessIndex{1},
                     .native = 7,
                     .context = 1,
                     .name = mark}}};
}

/// A collective, a wait and a frame of the second process.
inline void addProcessEvents(TraceBatch& batch, StringTable& strings, const Builder& make,
                             const std::string& mark)
{
    batch.collectives = {{.process = ProcessIndex{1},
                          .op = strings.intern("all_reduce"),
                          .group = strings.intern("group " + mark),
                          .ranks = strings.intern("0,1"),
                          .dtype = strings.intern("float"),
                          .sequence = 3,
                          .bytes = 1 << 20,
                          .groupSize = 2,
                          .peer = 0,
                          .device = DeviceIndex{1},
                          .stream = StreamId{1'000'000},
                          .thread = ThreadId{9},
                          .correlation = CorrelationId{4'000'000'001},
                          .range = RangeId{2},
                          .path = strings.intern("step/" + mark),
                          .step = 0,
                          .start = make.at(5),
                          .end = make.at(8)},
                         {.process = ProcessIndex{0},
                          .op = strings.intern("barrier"),
                          .start = make.at(6),
                          .end = make.at(6)}};
    batch.waits = {{.kind = WaitKind::StreamWait,
                    .process = ProcessIndex{1},
                    .device = DeviceIndex{1},
                    .stream = StreamId{1'000'000},
                    .waitedFor = StreamId{8},
                    .correlation = CorrelationId{9},
                    .recordCorrelation = CorrelationId{8},
                    .step = 0,
                    .start = make.at(4),
                    .end = make.at(5)},
                   {.kind = WaitKind::Context, .start = make.at(9), .end = make.at(10)}};
    batch.frames = {{.name = strings.intern("train.py(96): " + mark),
                     .thread = ThreadId{9},
                     .step = 0,
                     .start = make.at(1),
                     .end = make.at(9)}};
    batch.threads.push_back({.thread = ThreadId{9},
                             .name = strings.intern("autograd of " + mark),
                             .process = ProcessIndex{1},
                             .native = 5});
}

/// Writes a small sealed file: a run with two samples and 1,000 ops.
inline void writeSmallFile(const std::filesystem::path& file, StringTable& strings, Builder& make)
{
    RunWriter writer(file, strings);
    writer.beginRun(header());
    const Sample samples[] = {{.step = 0, .wall = Nanoseconds(5)}, {.step = 1, .wall = Nanoseconds(6)}};
    writer.writeSamples(samples);
    TraceBatch batch;
    for (std::uint32_t i = 0; i < 1000; ++i)
        batch.ops.push_back(make.op(i, "aten::mm", i, i + 1));
    writer.write(batch);
    writer.endRun({});
}

} // namespace tilescope::store::testing
