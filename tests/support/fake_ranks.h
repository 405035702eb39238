#pragma once

#include "core/model/host_samples.h"
#include "core/model/processes.h"
#include "core/model/strings.h"
#include "core/store/run_writer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::testing {

/// A data-parallel training of several ranks on one clock. A step takes some 12 ms: an all-gather that the kernels of
/// forward need, forward, and backward with an all-reduce after each of four layers, which overlaps with the next one. The
/// ranks meet at the end of a step.
struct FakeRanks {
    int ranks = 2;
    int steps = 8;
    int lateRank = 1;               ///< its host stalls in each step before the backward kernel of layers.1
    std::int64_t delay = 2'000'000; ///< length of the stall in ns; 0: no rank is late
    int unrecorded = 0;             ///< number of the last ranks that recorded nothing
    bool hostIsAhead = false; ///< a step's kernels are launched when it begins, not 10 µs before they start
    bool hasLauncher = false; ///< a process without a rank started them
    bool hasStacks = false;   ///< of Python: train.py:7 at launches, train.py:8 while a host stalls

    static constexpr std::int64_t kStep = 20'000'000;
    static constexpr std::int64_t kTransfer = 400'000; ///< of each collective
    static constexpr std::int64_t kBytes = 48 << 20;   ///< of each all-reduce, and of a gather in all
    static constexpr int kCollectives = 5;             ///< in a step
};

/// Writes such a run.
class FakeRanksWriter {
public:
    explicit FakeRanksWriter(const FakeRanks& facts)
        : facts_(facts), recorded_(facts.ranks - facts.unrecorded)
    {
    }

    void write(const std::filesystem::path& file)
    {
        store::RunWriter writer(file, strings_);
        writer.beginRun({"ranks", "trace", R"({"workload":"trace","file":"ranks"})", "hash", "test"});
        for (int rank = 0; rank < facts_.ranks; ++rank)
            all_ += (rank > 0 ? "," : "") + std::to_string(rank);
        batches_.resize(static_cast<std::size_t>(facts_.ranks));
        for (int step = 0; step < facts_.steps; ++step)
            addStep(step);
        writer.writeTopology(topology());
        for (int rank = 0; rank < recorded_; ++rank)
            writer.write(batches_[static_cast<std::size_t>(rank)]);
        if (facts_.hasStacks)
            for (int rank = 0; rank < recorded_; ++rank) {
                HostSamples samples = samplesOf(rank);
                writer.writeHostSamples({&samples, 1});
            }
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }

private:
    using Times = std::vector<std::int64_t>; // by rank

    RunTopology topology() const
    {
        RunTopology topology;
        topology.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}};
        for (int rank = 0; rank < recorded_; ++rank) {
            const DeviceIndex device{static_cast<std::int16_t>(rank)};
            topology.processes.push_back({.id = ProcessIndex{rank},
                                          .pid = 100 + rank,
                                          .host = "node",
                                          .name = "python",
                                          .rank = rank,
                                          .worldSize = facts_.ranks,
                                          .clock = ClockIndex{0}});
            topology.devices.push_back({.id = device, .ordinal = rank, .name = "NVIDIA H200"});
            for (const std::uint32_t native : {7U, 17U})
                topology.streams.push_back({.device = device,
                                            .id = streamOf(rank, native),
                                            .process = ProcessIndex{rank},
                                            .native = native});
        }
        if (facts_.hasLauncher)
            topology.processes.push_back({.id = ProcessIndex{recorded_},
                                          .pid = 99,
                                          .host = "node",
                                          .name = "torchrun",
                                          .clock = ClockIndex{0}});
        return topology;
    }

    HostSamples samplesOf(int rank) const
    {
        constexpr std::int64_t kPeriod = 50'000;
        HostSamples samples{
            .process = ProcessIndex{rank},
            .stacks = {{kNoStack, "train.py(3): step", 7}, {kNoStack, "train.py(3): step", 8}},
            .threads = {{threadOf(rank), {}}}};
        std::vector<HostSample>& taken = samples.threads[0].samples;
        for (const DeviceEvent& event : batches_[static_cast<std::size_t>(rank)].deviceEvents) {
            const std::int64_t launched = nanosecondsOf(event.launched);
            if (rank == facts_.lateRank && textOf(event.path) == "step/backward/layers.1" &&
                event.stream == streamOf(rank, 7))
                for (std::int64_t at = launched - facts_.delay + kPeriod; at < launched; at += kPeriod)
                    taken.push_back({timestampAt(at), 1, SampleState::kRan});
            taken.push_back({event.launched, 0, SampleState::kLaunch});
        }
        std::ranges::stable_sort(taken, {}, &HostSample::time);
        return samples;
    }
    std::string_view textOf(StringId id) const { return strings_.text(id); }

    static StreamId streamOf(int rank, std::uint32_t native)
    {
        return StreamId{static_cast<std::uint32_t>(100 * rank) + native};
    }
    static ThreadId threadOf(int rank) { return ThreadId{static_cast<std::uint32_t>(10 + rank)}; }

    void addStep(int step)
    {
        const std::int64_t begin = 1'000'000 + FakeRanks::kStep * step;
        Times compute(batches_.size(), begin + 100'000);
        Times communication(batches_.size(), begin + 50'000);
        collective(step, "all_gather", "step/forward/layers.0", communication);
        for (int rank = 0; rank < facts_.ranks; ++rank) {
            std::int64_t& now = compute[static_cast<std::size_t>(rank)];
            // It needs the gather, whose end the device tells 5 µs later.
            now = std::max(now, communication[static_cast<std::size_t>(rank)]) + 5'000;
            for (const char* layer : {"layers.0", "layers.1", "layers.2", "layers.3"})
                now =
                    kernel(rank, step, "gemm_forward", std::string("step/forward/") + layer, now, 1'000'000);
        }
        for (const char* layer : {"layers.3", "layers.2", "layers.1", "layers.0"}) {
            for (int rank = 0; rank < facts_.ranks; ++rank) {
                std::int64_t& now = compute[static_cast<std::size_t>(rank)];
                if (rank == facts_.lateRank && std::string(layer) == "layers.1")
                    now += facts_.delay;
                now = kernel(rank, step, "gemm_backward", std::string("step/backward/") + layer, now,
                             1'200'000);
                communication[static_cast<std::size_t>(rank)] =
                    std::max(communication[static_cast<std::size_t>(rank)], now);
            }
            collective(step, "all_reduce", std::string("step/backward/") + layer, communication);
        }
        for (int rank = 0; rank < facts_.ranks; ++rank)
            endStep(rank, step, begin, communication[static_cast<std::size_t>(rank)]);
    }

    void endStep(int rank, int step, std::int64_t begin, std::int64_t now)
    {
        now = kernel(rank, step, "adamw", "step/optimizer", now, 800'000);
        now = kernel(rank, step, "Memset (Device)", "step/optimizer", now, 30'000);
        TraceBatch& batch = batches_[static_cast<std::size_t>(rank)];
        batch.deviceEvents.back().kind = DeviceEventKind::Memset;
        ApiCall wait;
        wait.name = strings_.intern("cudaStreamSynchronize");
        wait.kind = ApiKind::Synchronize;
        wait.thread = threadOf(rank);
        wait.step = step;
        wait.start = timestampAt(now - 500'000);
        wait.end = timestampAt(now + 20'000);
        batch.apiCalls.push_back(wait);
        Range range;
        range.id = RangeId{static_cast<std::uint32_t>(1000 * rank + step)};
        range.path = strings_.intern("step");
        range.name = strings_.intern("step_" + std::to_string(step));
        range.thread = threadOf(rank);
        range.step = step;
        range.start = timestampAt(begin);
        range.end = timestampAt(now + 30'000);
        batch.ranges.push_back(range);
        if (step == 0)
            batch.threads.push_back(
                {threadOf(rank), strings_.intern("main"), ProcessIndex{rank}, 100 + rank});
    }

    /// \return  when it ends
    std::int64_t kernel(int rank, int step, const std::string& name, const std::string& path,
                        std::int64_t start, std::int64_t duration, std::uint32_t stream = 7)
    {
        DeviceEvent event;
        event.name = strings_.intern(name);
        event.path = strings_.intern(path);
        event.device = DeviceIndex{static_cast<std::int16_t>(rank)};
        event.stream = streamOf(rank, stream);
        event.correlation = CorrelationId{++correlation_};
        event.launchThread = threadOf(rank);
        event.step = step;
        event.launched =
            timestampAt(facts_.hostIsAhead ? 1'000'000 + FakeRanks::kStep * step : start - 10'000);
        event.start = timestampAt(start);
        event.end = timestampAt(start + duration);
        batches_[static_cast<std::size_t>(rank)].deviceEvents.push_back(event);
        return start + duration;
    }

    /// \param starts  when each rank starts it; afterwards when it ends
    void collective(int step, const std::string& op, const std::string& path, Times& starts)
    {
        const std::int64_t end = *std::ranges::max_element(starts) + FakeRanks::kTransfer;
        for (int rank = 0; rank < facts_.ranks; ++rank) {
            std::int64_t& start = starts[static_cast<std::size_t>(rank)];
            kernel(rank, step,
                   op == "all_gather" ? "ncclDevKernel_AllGather_RING_LL"
                                      : "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                   path, start, end - start, 17);
            TraceBatch& batch = batches_[static_cast<std::size_t>(rank)];
            const DeviceEvent& event = batch.deviceEvents.back();
            Collective record;
            record.process = ProcessIndex{rank};
            record.op = strings_.intern(op);
            record.group = strings_.intern("0");
            record.ranks = strings_.intern(all_);
            record.dtype = strings_.intern("f32");
            record.sequence = sequence_;
            record.bytes = op == "all_gather" ? FakeRanks::kBytes / facts_.ranks : FakeRanks::kBytes;
            record.groupSize = facts_.ranks;
            record.device = event.device;
            record.stream = event.stream;
            record.thread = event.launchThread;
            record.correlation = event.correlation;
            record.path = event.path;
            record.step = step;
            record.start = event.start;
            record.end = event.end;
            batch.collectives.push_back(record);
            start = end;
        }
        ++sequence_;
    }

    const FakeRanks& facts_;
    int recorded_;
    std::string all_;
    StringTable strings_;
    std::vector<TraceBatch> batches_; // by rank
    std::uint32_t correlation_ = 0;
    std::int64_t sequence_ = 0;
};

inline void writeFakeRanks(const std::filesystem::path& file, const FakeRanks& facts = {})
{
    FakeRanksWriter(facts).write(file);
}

} // namespace tilescope::testing
