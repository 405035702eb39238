#include "tests/support/simulator/fleet_program.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tilescope::simulator {

namespace {

using InstructionList = std::vector<Instruction>;

constexpr std::int32_t kKernelStream = 7;
constexpr std::int32_t kCollectiveStream = 13;

/// Writes the instructions of one rank.
class FleetRank {
public:
    FleetRank(const Fleet& fleet, std::size_t rank)
        : fleet_(fleet), rank_(rank), engine_(fleet.seed * 1'000'003 + rank)
    {
        if (rank == fleet.slowRank)
            delay_ += fleet.rankDelay;
        if (fleet.hostOf(rank) == fleet.slowHost)
            delay_ += fleet.hostDelay;
    }

    SimulatedThread write()
    {
        SimulatedThread thread{
            .rank = rank_, .number = static_cast<std::int64_t>(4'000 + 10 * (rank_ % fleet_.ranksPerHost))};
        for (std::int64_t step = 0; step < fleet_.steps; ++step) {
            Instruction range{.action = Action::Range,
                              .number = step,
                              .range = RangeKind::Step,
                              .name = "ProfilerStep#" + std::to_string(step)};
            addHost(range.body, Duration(30'000) + delay_);
            for (int part = 0; part < 2; ++part) {
                addKernel(range.body, "aten::mm",
                          "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", Work::Matmul,
                          Duration(180'000));
                addKernel(
                    range.body, "aten::add",
                    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
                    Work::Elementwise, Duration(40'000));
                addCollective(range.body);
            }
            range.body.push_back(
                {.action = Action::SyncDevice, .call = vary(Duration(1'500)), .stream = kKernelStream});
            thread.instructions.push_back(std::move(range));
        }
        return thread;
    }

private:
    Duration vary(Duration usual)
    {
        std::normal_distribution<double> factor(1, 0.05);
        return Duration(
            std::llround(static_cast<double>(usual.count()) * std::clamp(factor(engine_), 0.8, 1.2)));
    }

    void addHost(InstructionList& body, Duration duration)
    {
        body.push_back({.action = Action::Compute, .work = Work::Host, .duration = vary(duration)});
    }

    void addKernel(InstructionList& body, const char* op, const char* name, Work work, Duration duration)
    {
        Instruction range{.action = Action::Range, .name = op};
        addHost(range.body, Duration(6'000));
        range.body.push_back({.action = Action::Launch,
                              .work = work,
                              .duration = vary(duration),
                              .call = vary(Duration(4'000)),
                              .latency = vary(Duration(4'500)),
                              .gap = vary(Duration(1'100)),
                              .stream = kKernelStream,
                              .name = name});
        body.push_back(std::move(range));
    }

    void addEvent(InstructionList& body, Action action, std::int32_t stream)
    {
        body.push_back({.action = action, .call = vary(Duration(900)), .stream = stream, .number = event_});
    }

    void addCollective(InstructionList& body)
    {
        ++event_;
        addEvent(body, Action::Record, kKernelStream);
        addEvent(body, Action::StreamWait, kCollectiveStream);
        Instruction range{.action = Action::Range, .name = "c10d::allreduce_"};
        addHost(range.body, Duration(5'000));
        range.body.push_back(
            {.action = Action::Collective,
             .work = Work::Communication,
             .duration = Duration(250'000), // the same for all ranks
             .call = vary(Duration(8'000)),
             .latency = vary(Duration(4'500)),
             .gap = vary(Duration(1'100)),
             .stream = kCollectiveStream,
             .number = ++collective_,
             .bytes = 25'000'000,
             .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"});
        body.push_back(std::move(range));
        ++event_;
        addEvent(body, Action::Record, kCollectiveStream);
        addEvent(body, Action::StreamWait, kKernelStream);
    }

    const Fleet& fleet_;
    const std::size_t rank_;
    std::mt19937_64 engine_;
    Duration delay_{0};
    std::int64_t event_ = 0;
    std::int64_t collective_ = 0;
};

} // namespace

SimulatedProgram fleetProgram(const Fleet& fleet)
{
    SimulatedProgram program{.tags = {"fleet"}};
    program.clocks.assign(fleet.ranks, Duration(0));
    std::mt19937_64 engine(fleet.seed);
    std::uniform_int_distribution<std::int64_t> skew(-fleet.skew.count(), fleet.skew.count());
    Duration ofHost{0};
    for (std::size_t rank = 0; rank < fleet.ranks; ++rank) {
        if (rank % fleet.ranksPerHost == 0)
            ofHost = rank == 0 ? Duration(0) : Duration(skew(engine));
        program.clocks[rank] = ofHost;
        program.threads.push_back(FleetRank(fleet, rank).write());
    }
    return program;
}

std::string recordingName(const Fleet& fleet, const SimulatedProgram& program, std::size_t rank)
{
    constexpr std::size_t kDigits = 4;
    std::string host = std::to_string(fleet.hostOf(rank));
    host.insert(0, kDigits - std::min(kDigits, host.size()), '0');
    return "node" + host + "_" + std::to_string(program.threads.at(rank).number) + "." +
           std::to_string(1'790'000'000'000'000'000 + static_cast<std::int64_t>(rank)) + ".pt.trace.json";
}

} // namespace tilescope::simulator
