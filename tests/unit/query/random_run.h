#pragma once

#include "core/model/events.h"
#include "core/store/run_writer.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace tilescope::query {

/// Steps with every kind of idle time on two streams, and some events between steps.
class RandomRun {
public:
    /// \param seed  of another process: other events, and another first module
    RandomRun(StringTable& strings, int steps, std::uint64_t seed = kSeed)
        : strings_(strings), firstLayer_(static_cast<int>(seed - kSeed)), random_(seed)
    {
        for (int step = 0; step < steps; ++step) {
            addStep(step);
            addModule(kNoStep, "warmup"); // between steps
        }
        std::ranges::stable_sort(batch_.deviceEvents, {}, &DeviceEvent::start);
    }
    const TraceBatch& batch() const { return batch_; }

    static constexpr std::uint64_t kSeed = 20'261'121;

private:
    static constexpr std::int64_t kBlocksAtOnce = 40;

    std::int64_t below(std::int64_t limit) { return std::int64_t(random_() % std::uint64_t(limit)); }

    void addRange(const std::string& path, std::int32_t step, Timestamp from)
    {
        Range range;
        range.id = RangeId{nextRange_++};
        range.path = range.name = strings_.intern(path);
        range.thread = ThreadId{1};
        range.step = step;
        range.start = from;
        range.end = now_;
        batch_.ranges.push_back(range);
    }

    void addStep(std::int32_t step)
    {
        const Timestamp begin = now_;
        for (const char* phase : {"forward", "backward"}) {
            const Timestamp phaseBegin = now_;
            for (int layer = 0; layer < 40; ++layer)
                addModule(step, "step/" + std::string(phase) + "/layers." +
                                    std::to_string((firstLayer_ + layer) % 8));
            addRange("step/" + std::string(phase), step, phaseBegin);
        }
        const Nanoseconds left = std::max(free_[0], free_[1]) - now_;
        addCall(ApiKind::Synchronize, std::max<std::int64_t>(left.count(), 0) + below(4'000));
        now_ += Nanoseconds(below(3'000));
        addRange("step", step, begin);
        now_ += Nanoseconds(500);
    }

    void addModule(std::int32_t step, const std::string& path)
    {
        const Timestamp begin = now_;
        for (int i = 0; i < 8; ++i) {
            Op op;
            op.id = OpId{nextOp_++};
            op.name = strings_.intern("aten::op" + std::to_string(below(5)));
            op.path = strings_.intern(path);
            op.thread = ThreadId{2};
            op.step = step;
            op.start = now_;
            op.end = now_ += Nanoseconds(below(4'000));
            batch_.ops.push_back(op);
            addKernel(step, path);
            addBlock(step, path);
        }
        if (below(5) == 0)
            addCall(below(2) == 0 ? ApiKind::Overhead : ApiKind::Launch, below(20'000));
        if (path.starts_with("step/forward"))
            addRange(path, step, begin);
    }

    void addCall(ApiKind kind, std::int64_t length)
    {
        ApiCall call;
        call.name = strings_.intern("cudaCall");
        call.kind = kind;
        call.thread = ThreadId{2};
        call.start = now_;
        call.end = now_ += Nanoseconds(length);
        batch_.apiCalls.push_back(call);
    }

    void addKernel(std::int32_t step, const std::string& path)
    {
        DeviceEvent event;
        const std::int64_t which = below(10);
        event.kind = which == 0   ? DeviceEventKind::Memcpy
                     : which == 1 ? DeviceEventKind::Memset
                                  : DeviceEventKind::Kernel;
        event.copy = which == 0 ? CopyKind::HostToDevice : CopyKind::None;
        constexpr std::array kNames{"nvjet_gemm", "softmax_warp_forward", "elementwise_kernel"};
        event.name = strings_.intern(which == 0   ? "Memcpy HtoD"
                                     : which == 1 ? "Memset (Device)"
                                                  : kNames[std::size_t(below(3))]);
        event.path = below(12) == 0 ? StringId::none() : strings_.intern(path);
        event.device = DeviceIndex{0};
        event.step = step;
        Timestamp& free = free_[std::size_t(below(2))];
        event.stream = StreamId{&free == &free_[0] ? 7U : 13U};
        if (below(20) != 0)
            event.launched = now_;
        event.start = std::max(free, now_ + Nanoseconds(below(30'000)));
        event.end = free = event.start + Nanoseconds(below(9'000));
        batch_.deviceEvents.push_back(event);
    }

    void addBlock(std::int32_t step, const std::string& path)
    {
        AllocEvent event;
        event.device = below(9) == 0 ? DeviceIndex::none() : DeviceIndex{0};
        event.step = step;
        auto& live = live_[event.device ? 1 : 0];
        const bool frees = !live.empty() && below(kBlocksAtOnce) < std::int64_t(live.size());
        if (frees) {
            const auto at = live.begin() + below(std::int64_t(live.size()));
            event = *at;
            live.erase(at);
            event.action = AllocAction::FreeRequested;
        } else {
            event.address = nextAddress_ += 4096;
            event.bytes = 512 * (1 + below(7));
            event.category = strings_.intern("activations");
            event.path = strings_.intern(path);
            live.push_back(event);
        }
        event.time = now_;
        std::int64_t& allocated = allocated_[event.device ? 1 : 0];
        event.allocated = allocated += frees ? -event.bytes : event.bytes;
        batch_.allocEvents.push_back(event);
    }

    StringTable& strings_;
    TraceBatch batch_;
    int firstLayer_;
    std::mt19937_64 random_;
    Timestamp now_ = TraceClock::now();
    std::array<Timestamp, 2> free_{now_, now_};
    std::array<std::vector<AllocEvent>, 2> live_;
    std::array<std::int64_t, 2> allocated_{0, 1'000'000}; // the device had some before
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextOp_ = 0;
    std::uint64_t nextAddress_ = 0;
};

inline constexpr RunId kOnlyRun{1};

/// Writes several as the ranks of one run.
/// \param seed  of rank 0
inline void writeRandomRanks(const std::filesystem::path& file, int ranks, int steps,
                             std::uint64_t seed = RandomRun::kSeed)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun({"test", "lm", R"({"workload": "lm"})", "hash", "test"});
    RunTopology topology;
    topology.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}};
    std::vector<TraceBatch> batches;
    for (int rank = 0; rank < ranks; ++rank) {
        const ProcessIndex process{rank};
        const DeviceIndex device{static_cast<std::int16_t>(rank)};
        topology.processes.push_back({.id = process,
                                      .pid = 100 + rank,
                                      .host = "node",
                                      .name = "python",
                                      .rank = rank,
                                      .worldSize = ranks,
                                      .clock = ClockIndex{0}});
        topology.devices.push_back({.id = device, .ordinal = rank, .name = "NVIDIA H200"});
        TraceBatch batch = RandomRun(strings, steps, seed + static_cast<std::uint64_t>(rank)).batch();
        const auto number = [rank](std::uint32_t own) {
            return static_cast<std::uint32_t>(1'000'000 * rank) + own;
        };
        for (const std::uint32_t thread : {1U, 2U})
            batch.threads.push_back({ThreadId{number(thread)}, strings.intern("main"), process, 100 + rank});
        for (const std::uint32_t stream : {7U, 13U})
            topology.streams.push_back(
                {.device = device, .id = StreamId{number(stream)}, .process = process, .native = stream});
        for (Range& range : batch.ranges) {
            range.id = RangeId{number(range.id.value)};
            range.thread = ThreadId{number(range.thread.value)};
        }
        for (Op& op : batch.ops) {
            op.id = OpId{number(op.id.value)};
            op.thread = ThreadId{number(op.thread.value)};
        }
        for (ApiCall& call : batch.apiCalls)
            call.thread = ThreadId{number(call.thread.value)};
        for (DeviceEvent& event : batch.deviceEvents) {
            event.device = device;
            event.stream = StreamId{number(event.stream.value)};
        }
        for (AllocEvent& event : batch.allocEvents)
            if (event.device)
                event.device = device;
        batches.push_back(std::move(batch));
    }
    writer.writeTopology(topology);
    for (const TraceBatch& batch : batches)
        writer.write(batch);
    writer.endRun({});
}

/// Writes it as the only run of a file: enough steps, and the file stores their totals.
inline void writeRandomRun(const std::filesystem::path& file, int steps)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun({"test", "lm", R"({"workload": "lm"})", "hash", "test"});
    writer.write(RandomRun(strings, steps).batch());
    writer.endRun({});
}

} // namespace tilescope::query
