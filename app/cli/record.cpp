#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/python_watch.h"
#include "app/cli/record_torch.h"
#include "app/cli/recorded_program.h"
#include "app/cli/sweep_command.h"
#include "core/base/current_error.h"
#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/shell_word.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/text.h"
#include "core/machine/capacity.h"
#include "core/machine/counter_sampler.h"
#include "core/record/command_line.h"
#include "core/record/control.h"
#include "core/store/run_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCudaVariable = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxVariable = "NVTX_INJECTION64_PATH";

void requireNoOtherTool()
{
    for (const char* variable : {kCudaVariable, kNvtxVariable})
        if (const char* value = std::getenv(variable); value && *value)
            throw Error{.what = "another tool is set to trace this program: " + std::string(value),
                        .where = variable,
                        .remedy = "unset it, or run the program without tilescope record"};
}

/// A library that others may write would run in the user's programs.
void requireSafe(const fs::path& path)
{
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0)
        throw Error{.what = "is missing",
                    .where = path.string(),
                    .remedy = "install Tilescope with its library",
                    .kind = ErrorKind::Environment};
    const bool isOwn = facts.st_uid == 0 || facts.st_uid == geteuid();
    if (!isOwn || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw Error{.what = "can be written by other users, so it is not loaded into a program",
                    .where = path.string(),
                    .remedy = isOwn ? "run chmod go-w on it" : "install Tilescope as root or as yourself",
                    .kind = ErrorKind::Environment};
}

fs::path recorderLibrary()
{
    const fs::path library = executablePath().parent_path().parent_path() / "lib/libtilescope_record.so";
    std::error_code ignored;
    const fs::path real = fs::canonical(library, ignored);
    if (real.empty())
        requireSafe(library);
    requireSafe(real);
    requireSafe(real.parent_path());
    return real;
}

/// A folder beside the output that only the user can read.
fs::path makeWorkingFolder(const fs::path& output)
{
    std::string name = fs::absolute(output).string() + ".recording-XXXXXX";
    if (!mkdtemp(name.data()))
        throw Error{.what = "no folder can be created beside it",
                    .where = output.string(),
                    .remedy = "check that its folder exists and is writable"};
    return name;
}

/// The name of the run: the command, or the program alone.
std::string nameOf(const std::vector<std::string>& command, bool programOnly)
{
    constexpr std::size_t kMostName = 80;
    const std::string line =
        programOnly ? fs::path(command.front()).filename().string() : record::maskedCommandLine(command);
    return exchange::validUtf8(line.substr(0, kMostName));
}

/// Says what kept a part from being recorded, in which way allocations and operators were, and at what cost.
void sayHow(const fs::path& file, RunId run)
{
    constexpr std::array<std::string_view, 5> kSaid{"record.device", "record.ended", "record.memory",
                                                    "record.ops", "record.cost"};
    bool hasWay = false;
    bool hasCost = false;
    for (const EnvironmentEntry& fact : store::RunReader(file).environment(run)) {
        if (std::ranges::find(kSaid, fact.key) == kSaid.end())
            continue;
        hasWay = hasWay || fact.key == "record.memory" || fact.key == "record.ops";
        hasCost = hasCost || fact.key == "record.cost";
        std::cerr << "tilescope record: " << escapeForTerminal(fact.value) << std::endl;
    }
    if (hasWay && !hasCost)
        std::cerr << "tilescope record: the cost was not measured; --calibrate measures it" << std::endl;
}

/// Joins what the processes wrote. The program has ended: an error is printed, and the working files stay.
void join(const fs::path& folder, const fs::path& output, const std::string& name,
          const exchange::HostCounters& counters)
{
    try {
        if (fs::is_empty(folder)) {
            fs::remove(folder);
            std::cerr
                << "tilescope record: the program used neither CUDA, NVTX nor PyTorch's modules; nothing "
                   "was recorded"
                << std::endl;
            return;
        }
        const std::array named{folder};
        const exchange::ImportResult joined =
            exchange::importFiles(exchange::importableFiles(named), output, {}, name, counters);
        std::cerr << "tilescope record: run " << joined.run.value << " of "
                  << escapeForTerminal(output.string()) << std::endl;
        sayHow(output, joined.run);
        fs::remove_all(folder);
    } catch (...) {
        std::cerr << "tilescope record: " << currentError().sentence() << "\ntilescope record: to try again: "
                  << "tilescope import " << shellWord(folder.string()) << " -o FILE" << std::endl;
    }
}

/// Runs the program. Meanwhile, reads its counters and those of all GPUs that it can see, and reports Python
/// programs that cannot be recorded.
/// \param interval  time between readings; 0: no readings
/// \param known     the reports on Python programs so far
exchange::HostCounters runWatched(RecordedProgram& program, std::chrono::milliseconds interval,
                                  BootstrapObstacle known)
{
    exchange::HostCounters counters;
    std::optional<machine::CounterSampler> sampler;
    std::optional<PythonWatch> watch;
    program.run([&](pid_t pid) {
        counters.pid = pid;
        watch.emplace(pid, bootstrapFolder(), known);
        if (interval.count() == 0)
            return;
        machine::CounterRequest request{.interval = interval, .process = pid};
        for (int gpu = 0; const auto capacity = machine::gpuCapacity(gpu); ++gpu) {
            counters.uuids.push_back(capacity->uuid);
            request.gpus.push_back(gpu);
        }
        sampler.emplace(request);
    });
    if (sampler)
        counters.tracks = sampler->stop();
    return counters;
}

/// The options that select a part of the program.
struct WindowOptions {
    std::string steps, delay, seconds, from;
    std::string trace = "kernels";
    std::string graphs = "node";
    bool calibrates = false;
    bool yields = false;
};

std::int64_t stepIn(std::string_view text, const std::string& all)
{
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    if (error != std::errc() || end != text.data() + text.size() || step < 0)
        throw Error{.what = "is not a range of steps: " + all,
                    .where = "--steps",
                    .remedy = "write the first and the last step, counted from 0: --steps 10:12"};
    return step;
}

std::string nanosecondsIn(const std::string& text, const char* option)
{
    constexpr double kMost = 1e6; // eleven days
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0 && seconds <= kMost))
        throw Error{
            .what = "is not a number of seconds above 0: " + text, .where = option, .remedy = "write 2.5"};
    return std::to_string(static_cast<std::int64_t>(seconds * 1e9));
}

/// Checks the options and passes them to the library.
void select(RecordedProgram& program, const WindowOptions& options)
{
    if (options.calibrates && !(options.steps + options.delay + options.seconds + options.from).empty())
        throw Error{.what = "--calibrate decides itself which steps are recorded",
                    .where = "tilescope record",
                    .remedy = "give it without --steps, --delay, --seconds and --from"};
    if (options.calibrates)
        program.set("TILESCOPE_RECORD_CALIBRATE", "1");
    if (options.yields)
        program.set("TILESCOPE_RECORD_YIELD", "1");
    const int starts =
        (options.steps.empty() ? 0 : 1) + (options.delay.empty() ? 0 : 1) + (options.from.empty() ? 0 : 1);
    if (starts > 1)
        throw Error{.what = "only one of --steps, --delay and --from can start the recording",
                    .where = "tilescope record",
                    .remedy = "give one of them"};
    if (!options.steps.empty()) {
        const std::size_t colon = options.steps.find(':');
        const std::int64_t first = stepIn(std::string_view(options.steps).substr(0, colon), options.steps);
        const std::int64_t last =
            colon == std::string::npos
                ? first
                : stepIn(std::string_view(options.steps).substr(colon + 1), options.steps);
        if (last < first)
            stepIn("", options.steps);
        program.set("TILESCOPE_RECORD_STEPS", std::to_string(first) + ":" + std::to_string(last));
    }
    if (!options.delay.empty())
        program.set("TILESCOPE_RECORD_DELAY_NS", nanosecondsIn(options.delay, "--delay"));
    if (!options.seconds.empty())
        program.set("TILESCOPE_RECORD_LENGTH_NS", nanosecondsIn(options.seconds, "--seconds"));
    if (!options.from.empty())
        program.set("TILESCOPE_RECORD_FROM", options.from);
    program.set("TILESCOPE_RECORD_TRACE", options.trace);
    program.set("TILESCOPE_RECORD_GRAPHS", options.graphs);
}

/// `record --start PID` and `--stop PID`.
void control(const std::string& pid, std::string_view verb)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), number);
    if (error != std::errc() || end != pid.data() + pid.size() || number <= 0)
        throw Error{.what = "is not the number of a process: " + pid, .where = "--" + std::string(verb)};
    for (const std::int64_t process : record::tellProcesses(number, verb))
        std::cout << "process " << process << (verb == "start" ? " is recorded" : " is not recorded any more")
                  << '\n';
}

} // namespace

int recordCommand(int argc, char** argv)
{
    const auto end =
        std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
    std::string output;
    TorchOptions torch;
    bool buildsPlugin = false;
    bool noCommandLine = false;
    std::string counterInterval;
    WindowOptions window;
    std::string toStart;
    std::string toStop;
    Arguments arguments(
        "record [-o FILE] -- COMMAND…",
        "Runs a program and records its GPU kernels, its NVTX ranges and, of PyTorch, its modules "
        "and steps. The\nprogram is not changed and its exit status is passed on. All of its "
        "processes become one run.",
        "tilescope record -o t.tscope -- python train.py");
    arguments.output("-o,--output", output,
                     "the .tscope file to add to; default: tilescope-DATE-TIME.tscope");
    arguments.option("--steps", window.steps, "A:B: record only the steps from A to B, counted from 0");
    arguments.option("--delay", window.delay,
                     "start recording this many seconds after the start of a process");
    arguments.option("--seconds", window.seconds, "stop recording after this many seconds");
    arguments.option("--from", window.from,
                     "start recording with the first range of this name; profiler-api: record between "
                     "cudaProfilerStart and cudaProfilerStop");
    arguments.choice(
        "--trace", window.trace, {"kernels", "full"},
        "full: also what the program calls of CUDA besides launches, at a higher cost; default: kernels");
    arguments.choice(
        "--graphs", window.graphs, {"node", "graph"},
        "graph: record a replay of a CUDA graph as one kernel and list its nodes, which costs less; "
        "default: node, each kernel of a replay");
    arguments.flag("--yield-to-torch", window.yields,
                   "leave the GPU to torch.profiler as soon as the program starts it");
    arguments.flag("--calibrate", window.calibrates,
                   "measure the cost: record blocks of steps in turn with blocks that are not recorded");
    arguments.option("--start", toStart,
                     "PID: start or go on recording in this process, or in those of this tilescope record");
    arguments.option("--stop", toStop, "PID: stop recording there");
    torch.addTo(arguments);
    arguments.option(
        "--counter-interval", counterInterval,
        "milliseconds between readings of clocks, power, temperature, utilisation and traffic; 0: "
        "none; default: 20");
    arguments.flag("--no-command-line", noCommandLine, "do not store the command lines of the processes");
    arguments.flag("--build-plugin", buildsPlugin,
                   "build the plug-in for the PyTorch of python3, or of -- PYTHON, into the cache");
    if (!arguments.parse(static_cast<int>(end - argv), argv))
        return 0;
    const std::vector<std::string> command(end == argv + argc ? end : end + 1, argv + argc);
    if (!toStart.empty() || !toStop.empty()) {
        if (!command.empty() || (!toStart.empty() && !toStop.empty()))
            throw Error{.what = "--start and --stop are for a program that is recorded already",
                        .where = "tilescope record",
                        .remedy = "give one of them and its process, without a command"};
        control(toStart.empty() ? toStop : toStart, toStart.empty() ? "stop" : "start");
        return 0;
    }
    if (buildsPlugin)
        buildPlugin(command.empty() ? "python3" : command.front());
    if (command.empty())
        throw Error{.what = "no command given",
                    .where = "tilescope record",
                    .remedy = "write it behind two dashes: tilescope record -- python train.py"};
    const std::chrono::milliseconds interval =
        counterInterval.empty() ? machine::kCounterInterval : counterIntervalFrom(counterInterval);
    requireNoOtherTool();
    const fs::path library = recorderLibrary();
    requireSafe(bootstrapFolder()); // what Python programs load
    const fs::path file = output.empty() ? newFileName() : fs::path(output);
    if (output.empty())
        std::cerr << "tilescope record: recording into " << file.string() << std::endl;

    RecordedProgram program(command);
    select(program, window);
    const fs::path folder = makeWorkingFolder(file);
    program.set(kCudaVariable, library.string());
    program.set(kNvtxVariable, library.string());
    program.set("TILESCOPE_RECORD_FOLDER", folder.string());
    program.set("TILESCOPE_RECORD_CLOCK", hostClock());
    program.set("TILESCOPE_RECORD_PID", std::to_string(getpid()));
    if (noCommandLine)
        program.set("TILESCOPE_RECORD_NO_COMMAND_LINE", "1");
    torch.prepare(program, library);
    const BootstrapObstacle obstacle = obstacleIn(command);
    if (obstacle != BootstrapObstacle::None)
        sayObstacle(obstacle, command);
    exchange::HostCounters counters;
    try {
        counters = runWatched(program, interval, obstacle);
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        throw;
    }
    record::removeSockets(getpid());
    join(folder, file, nameOf(command, noCommandLine), counters);
    return program.pass();
}

} // namespace tilescope::cli
