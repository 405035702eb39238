// Executes simulated programs and writes what a tracer would record and what is true of them:
//
//     simulate random FIRST COUNT FOLDER    the programs of these seeds, each in FOLDER/SEED
//     simulate run PROGRAM.json FOLDER      that program
//     simulate replay PROGRAM.json WORKS.json    that program; writes only when its work on the device begins and ends
//     simulate fleet RANKS STEPS FOLDER [RANK_US HOST_US]    recordings of many ranks; rank 137 and host 40 are late by so much
//     simulate periods PROGRAM.json START:END …   prints what is true of these periods of rank 0, in ns
//
// A folder receives program.json, rank0.json, rank1.json, … (recordings), of one rank own.tscope, and truth.json. `what_if` in
// truth.json has, by change, the wall times of all steps of the program executed with the change; `what_if_ready` has
// the same of a program whose batches are loaded at once, if other processes load them. Where no call waited for a place in the
// queue of its stream, `what_if_roomy` has the same of a program whose queues hold any number of commands.

#include "tests/stress/simulated/own_recording.h"
#include "tests/support/simulator/fleet_program.h"
#include "tests/support/simulator/kineto_recording.h"
#include "tests/support/simulator/random_program.h"
#include "tests/support/simulator/truth.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace tilescope::simulator;

void writeJson(const std::filesystem::path& path, const nlohmann::json& json)
{
    std::ofstream file(path);
    file << json << '\n';
    if (!file.flush())
        throw std::runtime_error(path.string() + ": cannot be written");
}

nlohmann::json wallsOf(const SimulatedProgram& program, const Scale& scale,
                       const std::vector<std::int32_t>& endStreams)
{
    nlohmann::json walls = nlohmann::json::array();
    for (const StepTruth& step : truthOf(program, execute(program, scale), endStreams).steps)
        walls.push_back({{"rank", step.rank}, {"step", step.number}, {"wall", step.wall.length().count()}});
    return walls;
}

/// By change, the wall times after it: each kind of work of the device at half and twice the time, all of them
/// at half the time, communication without time, and a host without time.
/// \param endStreams  of the unchanged program
nlohmann::json changedWalls(const SimulatedProgram& program, const Execution& execution,
                            const std::vector<std::int32_t>& endStreams)
{
    nlohmann::json changes = nlohmann::json::object();
    Scale half;
    for (std::size_t i = 0; i < kWorks; ++i) {
        const auto work = static_cast<Work>(i);
        const bool isUsed = std::ranges::any_of(
            execution.works, [work](const ExecutedWork& each) { return each.work == work; });
        if (!isUsed || !isOnDevice(work))
            continue;
        half[work] = 0.5;
        for (const auto& [factor, word] : {std::pair(0.5, "=0.5"), std::pair(2.0, "=2")}) {
            Scale scale;
            scale[work] = factor;
            changes[std::string(wordOf(work)) + word] = wallsOf(program, scale, endStreams);
        }
    }
    changes["device=0.5"] = wallsOf(program, half, endStreams);
    Scale free;
    for (const Work work : {Work::Host, Work::Allocation, Work::Tracing, Work::Call, Work::Latency})
        free[work] = 0;
    changes["free launches"] = wallsOf(program, free, endStreams);
    if (std::ranges::any_of(execution.works,
                            [](const ExecutedWork& each) { return each.collective != kNoNumber; })) {
        Scale noTransfer;
        noTransfer[Work::Communication] = 0;
        changes["free communication"] = wallsOf(program, noTransfer, endStreams);
    }
    return changes;
}

bool isOfLoader(const SimulatedThread& thread)
{
    return thread.isInOtherProcess;
}

SimulatedProgram withBatchesReady(SimulatedProgram program)
{
    for (SimulatedThread& thread : program.threads)
        if (isOfLoader(thread))
            for (Instruction& instruction : thread.instructions)
                instruction.duration = Duration(0);
    return program;
}

/// \return  the program with queues that hold any number of commands; none: that changes its execution, or nothing at all
std::optional<SimulatedProgram> withRoomyQueues(SimulatedProgram program, const Execution& execution)
{
    if (program.queueDepth >= execution.works.size())
        return {}; // no queue is ever full
    program.queueDepth = std::numeric_limits<std::size_t>::max();
    const auto timesOf = [](const ExecutedWork& work) { return std::pair(work.start, work.end); };
    const bool isSame = std::ranges::equal(execute(program).works, execution.works, {}, timesOf, timesOf);
    return isSame ? std::optional(std::move(program)) : std::nullopt;
}

void writeProgram(const SimulatedProgram& program, const std::filesystem::path& folder)
{
    std::filesystem::create_directories(folder);
    const Execution execution = execute(program);
    const Truth known = truthOf(program, execution);
    nlohmann::json truth = jsonOf(known);
    truth["tags"] = program.tags;
    truth["what_if"] = changedWalls(program, execution, known.endStreams);
    if (std::ranges::any_of(program.threads, isOfLoader)) {
        const SimulatedProgram ready = withBatchesReady(program);
        truth["what_if_ready"] = changedWalls(ready, execute(ready), known.endStreams);
    }
    if (const std::optional<SimulatedProgram> roomy = withRoomyQueues(program, execution))
        truth["what_if_roomy"] = changedWalls(*roomy, execution, known.endStreams);
    writeJson(folder / "program.json", jsonOf(program));
    writeJson(folder / "truth.json", truth);
    for (std::size_t rank = 0; rank < program.clocks.size(); ++rank)
        writeJson(folder / ("rank" + std::to_string(rank) + ".json"),
                  kinetoRecording(program, execution, rank));
    if (program.clocks.size() == 1)
        writeOwnRecording(program, execution, folder / "own.tscope");
}

void writeFleet(const Fleet& fleet, const std::filesystem::path& folder)
{
    std::filesystem::create_directories(folder);
    const SimulatedProgram program = fleetProgram(fleet);
    const Execution execution = execute(program);
    for (std::size_t rank = 0; rank < fleet.ranks; ++rank)
        writeJson(folder / recordingName(fleet, program, rank), kinetoRecording(program, execution, rank));
}

int run(int argc, char** argv)
{
    const std::string_view verb = argc > 1 ? argv[1] : "";
    if (verb == "random" && argc == 5) {
        const auto first = std::stoull(argv[2]);
        for (std::uint64_t seed = first; seed < first + std::stoull(argv[3]); ++seed)
            writeProgram(randomProgram(seed), std::filesystem::path(argv[4]) / std::to_string(seed));
        return EXIT_SUCCESS;
    }
    if (verb == "run" && argc == 4) {
        std::ifstream file(argv[2]);
        writeProgram(programOf(nlohmann::json::parse(file)), argv[3]);
        return EXIT_SUCCESS;
    }
    if (verb == "replay" && argc == 4) {
        std::ifstream file(argv[2]);
        const Execution execution = execute(programOf(nlohmann::json::parse(file)));
        nlohmann::json works = nlohmann::json::array();
        for (const ExecutedWork& work : execution.works)
            works.push_back({{"name", work.name}, {"start", work.start.count()}, {"end", work.end.count()}});
        writeJson(argv[3], works);
        return EXIT_SUCCESS;
    }
    if (verb == "fleet" && (argc == 5 || argc == 7)) {
        Fleet fleet{.ranks = std::stoull(argv[2]), .steps = std::stoll(argv[3])};
        if (argc == 7) {
            fleet.rankDelay = std::chrono::microseconds(std::stoll(argv[5]));
            fleet.hostDelay = std::chrono::microseconds(std::stoll(argv[6]));
        }
        writeFleet(fleet, argv[4]);
        return EXIT_SUCCESS;
    }
    if (verb == "periods" && argc >= 3) {
        std::ifstream file(argv[2]);
        const SimulatedProgram program = programOf(nlohmann::json::parse(file));
        const Execution execution = execute(program);
        nlohmann::json list = nlohmann::json::array();
        for (int i = 3; i < argc; ++i) {
            const std::string text = argv[i];
            const std::size_t colon = text.find(':');
            const Span period{Duration(std::stoll(text.substr(0, colon))),
                              Duration(std::stoll(text.substr(colon + 1)))};
            list.push_back(jsonOf(truthOfPeriod(program, execution, 0, period)));
        }
        std::cout << list << '\n';
        return EXIT_SUCCESS;
    }
    std::cerr
        << "usage: simulate random FIRST COUNT FOLDER | simulate run PROGRAM.json FOLDER | "
           "simulate replay PROGRAM.json WORKS.json | simulate fleet RANKS STEPS FOLDER [RANK_US HOST_US] | "
           "simulate periods PROGRAM.json START:END …\n";
    return EXIT_FAILURE;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "simulate: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
