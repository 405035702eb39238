#include "recordings.h"

#include "core/model/processes.h"
#include "core/store/run_writer.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tilescope::bench {

namespace {

constexpr int kRanks = 8;
constexpr int kOps = 90;         // of a step and rank, each with a kernel
constexpr int kCollectives = 10; // of a step and rank

/// Eight ranks that train together: each has a thread, a stream for compute and one for communication. Every ninth op
/// is followed by an all-reduce, which begins on each rank when its own compute is done and ends everywhere at once.
class RanksTogether {
public:
    RanksTogether(StringTable& strings, Timestamp origin) : time_(origin), step_(strings.intern("step"))
    {
        for (int i = 0; i < kOps; ++i) {
            ops_.push_back(strings.intern("aten::op_" + std::to_string(i % 30)));
            kernels_.push_back(strings.intern("kernel_" + std::to_string(i % 60)));
            paths_.push_back(strings.intern("step/forward/layers." + std::to_string(i / 8)));
        }
        allReduce_ = strings.intern("all_reduce");
        nccl_ = strings.intern("ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
        group_ = strings.intern("default");
        std::string ranks = "0";
        for (int rank = 1; rank < kRanks; ++rank)
            ranks += ',' + std::to_string(rank);
        ranks_ = strings.intern(ranks);
    }

    static RunTopology topology()
    {
        RunTopology topology;
        topology.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}};
        for (int rank = 0; rank < kRanks; ++rank) {
            const DeviceIndex device{std::int16_t(rank)};
            topology.processes.push_back({.id = ProcessIndex{rank},
                                          .pid = 1000 + rank,
                                          .host = "node",
                                          .name = "python",
                                          .rank = rank,
                                          .worldSize = kRanks,
                                          .clock = ClockIndex{0}});
            topology.devices.push_back({.id = device, .ordinal = rank, .name = "NVIDIA H200"});
            for (const bool communication : {false, true})
                topology.streams.push_back({.device = device,
                                            .id = stream(rank, communication),
                                            .process = ProcessIndex{rank},
                                            .native = 7});
        }
        return topology;
    }

    static std::vector<ThreadName> threads()
    {
        std::vector<ThreadName> threads(kRanks);
        for (int rank = 0; rank < kRanks; ++rank) {
            threads[std::size_t(rank)].thread = thread(rank);
            threads[std::size_t(rank)].native = std::uint32_t(1000 + rank);
            threads[std::size_t(rank)].process = ProcessIndex{rank};
        }
        return threads;
    }

    /// The events of a step on all ranks.
    void addTo(TraceBatch& batch)
    {
        const Timestamp begin = time_;
        std::vector<Timestamp> now(kRanks, begin);
        for (int rank = 0; rank < kRanks; ++rank) {
            Range& range = batch.ranges.emplace_back();
            range.id = RangeId{nextRange_ + std::uint32_t(rank)};
            range.path = range.name = step_;
            range.thread = thread(rank);
            range.step = number_;
            range.start = begin;
        }
        for (int i = 0; i < kOps; ++i) {
            for (int rank = 0; rank < kRanks; ++rank)
                addOp(batch, rank, i, now[std::size_t(rank)]);
            if (i % (kOps / kCollectives) == 0)
                addCollective(batch, now);
        }
        time_ = *std::max_element(now.begin(), now.end()) + Nanoseconds(20'000);
        for (std::size_t i = batch.ranges.size() - kRanks; i < batch.ranges.size(); ++i)
            batch.ranges[i].end = time_;
        time_ += Nanoseconds(5'000);
        nextRange_ += kRanks;
        ++number_;
    }

private:
    static ThreadId thread(int rank) { return ThreadId{std::uint32_t(1 + rank)}; }
    static StreamId stream(int rank, bool communication)
    {
        return StreamId{std::uint32_t(2 * rank + (communication ? 1 : 0) + 7)};
    }

    void addOp(TraceBatch& batch, int rank, int index, Timestamp& now)
    {
        Op& op = batch.ops.emplace_back();
        op.id = OpId{nextOp_++};
        op.name = ops_[std::size_t(index)];
        op.path = paths_[std::size_t(index)];
        op.range = RangeId{nextRange_ + std::uint32_t(rank)};
        op.thread = thread(rank);
        op.step = number_;
        op.start = now;
        op.end = now + Nanoseconds(9'000);
        DeviceEvent& kernel = addKernel(batch, rank, now + Nanoseconds(6'000),
                                        Nanoseconds(std::int64_t(8'000 + random_() % 4'000)));
        kernel.name = kernels_[std::size_t(index)];
        kernel.path = op.path;
        kernel.op = op.id;
        now = kernel.end;
    }

    DeviceEvent& addKernel(TraceBatch& batch, int rank, Timestamp start, Nanoseconds length)
    {
        DeviceEvent& kernel = batch.deviceEvents.emplace_back();
        kernel.device = DeviceIndex{std::int16_t(rank)};
        kernel.stream = stream(rank, false);
        kernel.correlation = CorrelationId{nextCorrelation_++};
        kernel.range = RangeId{nextRange_ + std::uint32_t(rank)};
        kernel.launchThread = thread(rank);
        kernel.step = number_;
        kernel.launched = start - Nanoseconds(3'000);
        kernel.start = start;
        kernel.end = start + length;
        return kernel;
    }

    void addCollective(TraceBatch& batch, std::vector<Timestamp>& now)
    {
        const Timestamp end = *std::max_element(now.begin(), now.end()) + Nanoseconds(15'000);
        for (int rank = 0; rank < kRanks; ++rank) {
            const Timestamp start = now[std::size_t(rank)];
            DeviceEvent& kernel = addKernel(batch, rank, start, end - start);
            kernel.stream = stream(rank, true);
            kernel.name = nccl_;
            kernel.path = step_;
            Collective& collective = batch.collectives.emplace_back();
            collective.process = ProcessIndex{rank};
            collective.op = allReduce_;
            collective.group = group_;
            collective.ranks = ranks_;
            collective.sequence = sequence_;
            collective.bytes = 25 << 20;
            collective.groupSize = kRanks;
            collective.device = kernel.device;
            collective.stream = kernel.stream;
            collective.correlation = kernel.correlation;
            collective.range = kernel.range;
            collective.path = step_;
            collective.step = number_;
            collective.start = start;
            collective.end = end;
            now[std::size_t(rank)] = end;
        }
        ++sequence_;
    }

    std::mt19937_64 random_{1};
    Timestamp time_;
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextOp_ = 0;
    std::uint32_t nextCorrelation_ = 1;
    std::int32_t number_ = 0;
    std::int64_t sequence_ = 0;
    std::vector<StringId> ops_, kernels_, paths_;
    StringId step_, allReduce_, nccl_, group_, ranks_;
};

} // namespace

void makeRanks(const std::filesystem::path& file, std::int64_t events)
{
    removeRecording(file);
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun({.name = "ranks",
                     .workload = "trace",
                     .specJson = R"({"workload": "trace", "format": "generated"})",
                     .specHash = "bench-ranks",
                     .program = "bench_gui"});
    writer.writeTopology(RanksTogether::topology());
    RanksTogether ranks(strings, TraceClock::now());
    constexpr std::int64_t kEventsAStep = kRanks * (1 + 2 * kOps + 2 * kCollectives);
    for (std::int64_t written = 0; written < events; written += kEventsAStep) {
        TraceBatch batch;
        if (written == 0)
            batch.threads = RanksTogether::threads();
        ranks.addTo(batch);
        writer.write(batch);
    }
    writer.endRun({});
}

} // namespace tilescope::bench
