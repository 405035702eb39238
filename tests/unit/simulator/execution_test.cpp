#include "tests/support/simulator/execution.h"

#include "tests/support/simulator/kineto_recording.h"
#include "tests/support/simulator/truth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace tilescope::simulator {
namespace {

constexpr Duration us(std::int64_t microseconds)
{
    return Duration(1000 * microseconds);
}

Instruction host(Duration duration)
{
    return {.action = Action::Compute, .duration = duration};
}

/// The call takes 4 µs, of which 2 µs before the command is submitted; latency 5 µs, gap 1 µs.
Instruction kernel(Duration duration, std::int32_t stream = 7)
{
    return {.action = Action::Launch,
            .work = Work::Matmul,
            .duration = duration,
            .call = us(4),
            .latency = us(5),
            .gap = us(1),
            .stream = stream,
            .name = "gemm"};
}

Instruction copy(CopyKind kind, bool isPageable, std::int64_t bytes, Duration duration)
{
    Instruction instruction = kernel(duration);
    instruction.action = Action::Copy;
    instruction.copy = kind;
    instruction.isPageable = isPageable;
    instruction.bytes = bytes;
    return instruction;
}

Instruction event(Action action, std::int32_t stream, std::int64_t number)
{
    return {.action = action, .call = us(1), .stream = stream, .number = number};
}

Instruction collective(std::int64_t number, Duration transfer)
{
    Instruction instruction = kernel(transfer);
    instruction.action = Action::Collective;
    instruction.work = Work::Communication;
    instruction.number = number;
    return instruction;
}

Instruction flag(Action action, std::int64_t number)
{
    return {.action = action, .number = number};
}

Instruction step(std::int64_t number, std::vector<Instruction> body)
{
    return {.action = Action::Range,
            .number = number,
            .range = RangeKind::Step,
            .name = "ProfilerStep#" + std::to_string(number),
            .body = std::move(body)};
}

/// One thread of each rank.
SimulatedProgram program(std::vector<std::vector<Instruction>> ranks)
{
    SimulatedProgram program;
    program.clocks.assign(ranks.size(), Duration(0));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        program.threads.push_back({.rank = rank, .number = 1, .instructions = std::move(ranks[rank])});
    return program;
}

Duration pathOf(const StepTruth& step, Work work)
{
    return step.path[static_cast<std::size_t>(work)];
}

TEST(Execution, StartsAKernelAfterTheLatencyOnAnIdleDevice)
{
    const Execution execution = execute(program({{host(us(10)), kernel(us(20))}}));
    EXPECT_EQ(execution.works[0].start, us(10 + 2 + 5));
    EXPECT_EQ(execution.works[0].end, us(37));
    EXPECT_EQ(execution.calls[0].start, us(10));
    EXPECT_EQ(execution.calls[0].end, us(14));
}

TEST(Execution, StartsAKernelAfterItsPredecessorOnTheStream)
{
    const Execution execution = execute(program({{kernel(us(20)), kernel(us(20)), kernel(us(20), 8)}}));
    EXPECT_EQ(execution.works[1].start, us(2 + 5 + 20 + 1));
    EXPECT_EQ(execution.works[2].start, us(8 + 2 + 5)) << "another stream is idle";
}

TEST(Execution, AStreamWaitsForTheEventAsItWasRecorded)
{
    const Execution execution = execute(program({{kernel(us(50)), event(Action::Record, 7, 1), kernel(us(50)),
                                                  event(Action::StreamWait, 8, 1), kernel(us(10), 8)}}));
    EXPECT_EQ(execution.works[2].start, us(7 + 50 + 1)) << "the second kernel is not awaited";
    EXPECT_EQ(execution.waits[0].waitedFor, 7);
    EXPECT_EQ(execution.waits[0].recorded, execution.calls[1].correlation);
}

TEST(Execution, ALaunchWaitsWhileTheQueueIsFull)
{
    SimulatedProgram full = program({{kernel(us(100)), kernel(us(100)), kernel(us(100)), host(us(1))}});
    full.queueDepth = 2;
    const Execution execution = execute(full);
    EXPECT_EQ(execution.calls[1].end, us(8));
    EXPECT_EQ(execution.calls[2].end, us(7 + 100 + 2)) << "2 µs after the first kernel has ended";
    EXPECT_EQ(execution.works[2].start, us(7 + 100 + 1 + 100 + 1));
}

TEST(Execution, ACopyToPageableMemoryReturnsWhenItHasEnded)
{
    const Execution execution =
        execute(program({{kernel(us(100)), copy(CopyKind::DeviceToHost, true, 4, us(2))}}));
    EXPECT_EQ(execution.works[1].end, us(7 + 100 + 1 + 2));
    EXPECT_EQ(execution.calls[1].end, us(110 + 3 + 2));
}

TEST(Execution, ACopyFromPageableMemoryWaitsForItsStreamAndStagesTheData)
{
    const Execution execution =
        execute(program({{kernel(us(100)), copy(CopyKind::HostToDevice, true, 1'000'000, us(50))}}));
    EXPECT_EQ(execution.calls[1].end, us(107 + 3 + 50 + 2));
    EXPECT_EQ(execution.works[1].start, us(107 + 3 + 50 + 5));
}

TEST(Execution, ACopyOfPinnedMemoryIsAsynchronous)
{
    const Execution execution =
        execute(program({{kernel(us(100)), copy(CopyKind::DeviceToHost, false, 1'000'000, us(50))}}));
    EXPECT_EQ(execution.calls[1].end, us(8));
}

TEST(Execution, SynchronizationsReturnAfterWhatTheyWaitFor)
{
    const Instruction stream{.action = Action::SyncStream, .call = us(1), .stream = 7};
    const Instruction device{.action = Action::SyncDevice, .call = us(1)};
    const Instruction memory{
        .action = Action::Free, .work = Work::Allocation, .duration = us(30), .call = us(1)};
    const Execution execution =
        execute(program({{kernel(us(50)), kernel(us(100), 8), stream, device, memory}}));
    EXPECT_EQ(execution.calls[2].end, us(57 + 3));
    EXPECT_EQ(execution.calls[3].end, us(4 + 7 + 100 + 3));
    EXPECT_EQ(execution.calls[4].end, us(114 + 1 + 30)) << "nothing is left to wait for";
}

TEST(Execution, ACollectiveTransfersWhenTheLastRankHasArrived)
{
    const SimulatedProgram both =
        program({{collective(1, us(40))}, {host(us(500)), collective(1, us(40)), host(us(1))}});
    const Execution execution = execute(both);
    EXPECT_EQ(execution.works[0].start, us(7));
    EXPECT_EQ(execution.works[0].end, us(547));
    EXPECT_EQ(execution.works[1].start, us(507));
    const Truth truth = truthOf(both, execution);
    ASSERT_EQ(truth.collectives.size(), 1U);
    EXPECT_EQ(truth.collectives[0].lastRank, 1U);
    EXPECT_EQ(truth.collectives[0].late, us(500));
    EXPECT_EQ(truth.collectives[0].transfer, us(40));
}

TEST(Execution, AGraphRunsItsNodesInTheOrderOfTheirDependencies)
{
    Instruction graph = kernel(us(0));
    graph.action = Action::Replay;
    graph.body = {kernel(us(10)), kernel(us(30), 8), kernel(us(20)), kernel(us(5))};
    graph.body[1].after = {0};
    graph.body[2].after = {0};
    graph.body[3].after = {1, 2};
    const Execution execution = execute(program({{graph, kernel(us(1))}}));
    EXPECT_EQ(execution.works[1].start, us(7 + 10 + 1));
    EXPECT_EQ(execution.works[2].start, us(18));
    EXPECT_EQ(execution.works[3].start, us(18 + 30 + 1));
    EXPECT_EQ(execution.works[4].start, us(49 + 5 + 1));
}

TEST(Execution, AThreadContinuesAfterTheFlagOfAnother)
{
    SimulatedProgram two = program({{flag(Action::Await, 1), host(us(5))}});
    two.threads.push_back({.number = 2, .instructions = {host(us(100)), flag(Action::Signal, 1)}});
    const Execution execution = execute(two);
    EXPECT_EQ(execution.pieces[execution.ofThread[0].back()].end, us(100 + 10 + 5));
}

TEST(Execution, RejectsProgramsThatWaitForever)
{
    EXPECT_THROW(execute(program({{flag(Action::Await, 1)}})), std::invalid_argument);
    EXPECT_THROW(execute(program({{collective(1, us(1))}, {}})), std::invalid_argument);
    EXPECT_THROW(execute(program({{event(Action::StreamWait, 7, 1)}})), std::invalid_argument);
}

TEST(Truth, AHostThatIsSlowerThanTheDeviceDecides)
{
    std::vector<Instruction> body;
    for (int i = 0; i < 50; ++i) {
        body.push_back(host(us(100)));
        body.push_back(kernel(us(100)));
    }
    const SimulatedProgram slow = program({{step(0, body)}});
    const StepTruth truth = truthOf(slow, execute(slow)).steps.at(0);
    EXPECT_GT(truth.busy, us(50 * 100 - 1)) << "97 % busy, and yet";
    EXPECT_EQ(pathOf(truth, Work::Host), us(50 * 100));
    EXPECT_EQ(pathOf(truth, Work::Matmul), us(100)) << "only the last kernel";
}

TEST(Truth, AChainThatIsHardlyShorterMayDifferAtSeveralPieces)
{
    // The host launches the second and the third kernel a little later than the stream allows.
    for (const std::int64_t later : {3, 6}) {
        std::vector<Instruction> body{kernel(us(100))};
        for (int i = 0; i < 2; ++i) {
            body.push_back(host(us(97 + later)));
            body.push_back(kernel(us(100)));
        }
        const SimulatedProgram slow = program({{step(0, body)}});
        const StepTruth truth = truthOf(slow, execute(slow)).steps.at(0);
        EXPECT_EQ(pathOf(truth, Work::Matmul), us(100));
        Duration most{0};
        for (const WorkTimes& near : truth.nearPaths)
            most = std::max(most, near[static_cast<std::size_t>(Work::Matmul)]);
        // Over all three kernels, the chain is shorter by twice as much.
        EXPECT_EQ(most, us(2 * later <= 10 ? 300 : 200)) << later;
    }
}

TEST(Truth, AFullQueueIsADeviceThatDecides)
{
    std::vector<Instruction> body;
    for (int i = 0; i < 50; ++i) {
        body.push_back(host(us(10)));
        body.push_back(kernel(us(100)));
    }
    SimulatedProgram full = program({{step(0, body)}});
    full.queueDepth = 4;
    const Execution execution = execute(full);
    const StepTruth truth = truthOf(full, execution).steps.at(0);
    EXPECT_EQ(pathOf(truth, Work::Matmul), us(50 * 100));
    EXPECT_EQ(pathOf(truth, Work::Host), us(10));
    Scale half;
    half[Work::Matmul] = 0.5;
    EXPECT_EQ(truth.wall.length() - truthOf(full, execute(full, half)).steps.at(0).wall.length(),
              us(50 * 50));
}

TEST(Truth, AStepEndsWithTheWorkThatItStarted)
{
    const SimulatedProgram ahead = program({{step(0, {kernel(us(100))}), step(1, {kernel(us(100))})}});
    const Truth truth = truthOf(ahead, execute(ahead));
    EXPECT_EQ(truth.steps[0].wall.end, us(107));
    EXPECT_EQ(truth.steps[1].wall.start, us(107));
    EXPECT_EQ(truth.steps[1].wall.end, us(208));
    EXPECT_EQ(pathOf(truth.steps[1], Work::Order), us(1));
    EXPECT_EQ(truth.steps[1].busy, us(100));
}

TEST(Truth, CommunicationIsExposedWhereNothingElseRuns)
{
    Instruction transfer = collective(1, us(100));
    transfer.stream = 17;
    const SimulatedProgram both = program({{step(0, {transfer, kernel(us(40))})}, {collective(1, us(100))}});
    const Truth truth = truthOf(both, execute(both));
    EXPECT_EQ(truth.steps[0].exposedCommunication, us(100 - 40));
}

TEST(KinetoRecording, HoldsWhatATracerSees)
{
    SimulatedProgram both = program({{step(0, {kernel(us(100))})}, {}});
    both.clocks[1] = us(50);
    both.threads.push_back({.rank = 0, .number = 2, .isInOtherProcess = true});
    both.threads.back().instructions = {{.action = Action::Range, .name = "worker", .body = {host(us(5))}}};
    both.threads[1].instructions = {kernel(us(10))};
    const Execution execution = execute(both);
    const auto namesOf = [&](std::size_t rank) {
        std::vector<std::string> names;
        const nlohmann::json recording = kinetoRecording(both, execution, rank);
        for (const nlohmann::json& each : recording["traceEvents"])
            if (each["ph"] == "X")
                names.push_back(each["name"]);
        return names;
    };
    EXPECT_EQ(namesOf(1), (std::vector<std::string>{"cudaLaunchKernel", "gemm"}));
    EXPECT_EQ(namesOf(0), (std::vector<std::string>{"ProfilerStep#0", "cudaLaunchKernel", "gemm"}));
    const nlohmann::json other = kinetoRecording(both, execution, 1)["traceEvents"][1];
    EXPECT_DOUBLE_EQ(other["ts"].get<double>(), 1e9 + 50 + 7) << "by its own clock";
    EXPECT_DOUBLE_EQ(other["dur"].get<double>(), 10);
}

} // namespace
} // namespace tilescope::simulator
