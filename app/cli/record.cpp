#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/join_recording.h"
#include "app/cli/left_folders.h"
#include "app/cli/on_host.h"
#include "app/cli/python_watch.h"
#include "app/cli/record_inside.h"
#include "app/cli/record_metrics.h"
#include "app/cli/record_torch.h"
#include "app/cli/recorded_processes.h"
#include "app/cli/recorded_program.h"
#include "app/cli/sweep_command.h"
#include "core/base/current_error.h"
#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/tables/text.h"
#include "core/machine/capacity.h"
#include "core/machine/counter_sampler.h"
#include "core/record/command_line.h"
#include "core/record/control.h"
#include "core/record/file_server.h"
#include "core/record/sampling_turns.h"
#include "core/session/protocol/stop_signals.h"
#include "core/store/file/writer_lock.h"
#include "core/store/run_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>

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

/// Refuses an output that the recording could not be added to when the program has ended. Waits some seconds for another
/// process that writes it.
void requireWritable(const fs::path& output)
{
    std::error_code ignored;
    const fs::file_status status = fs::status(output, ignored);
    if (!fs::exists(status)) {
        // makeWorkingFolder() tries its folder, but not that of the file behind a link.
        const fs::path target = withLinksFollowed(output);
        const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
        if (target != output && access(folder.c_str(), W_OK | X_OK) != 0)
            throw Error{.what = std::string("cannot be written (") + std::strerror(errno) + ")",
                        .where = target.string(),
                        .remedy = "choose a file in a writable folder"};
        return;
    }
    if (!fs::is_regular_file(status))
        throw Error{.what = fs::is_directory(status) ? "is a folder" : "is not a regular file",
                    .where = output.string(),
                    .remedy = "name a .tscope file"};
    awaitWriter(output);
    store::RunReader{output}.runIds(); // throws where it is not a recording, or damaged
    const store::WriterLock canBeWritten(output);
    if (access(output.c_str(), W_OK) != 0)
        throw Error{.what = "may not be written",
                    .where = output.string(),
                    .remedy = "check its permissions, or name another file"};
}

/// A folder beside the output that only the user can read. It becomes part of PYTHONPATH, which separates its folders by
/// colons: if its path contained one, it is a folder for temporary files.
fs::path makeWorkingFolder(const fs::path& output)
{
    std::string name = fs::absolute(output).string() + ".recording-XXXXXX";
    if (name.find(':') != std::string::npos)
        name = (fs::temp_directory_path() / "tilescope.recording-XXXXXX").string();
    if (name.find(':') != std::string::npos)
        throw Error{.what = "its path and that of TMPDIR contain a colon, at which Python splits PYTHONPATH",
                    .where = output.string(),
                    .remedy = "name a file in a folder without a colon"};
    if (!mkdtemp(name.data()))
        throw Error{.what = std::string("no folder can be created beside it (") + std::strerror(errno) + ")",
                    .where = output.string(),
                    .remedy = "check that its folder exists and is writable"};
    return name;
}

/// Follows a folder that the program may move.
class FollowedFolder {
public:
    explicit FollowedFolder(fs::path path) : path_(std::move(path)), descriptor_(holdFolder(path_)) {}
    /// Where it is now.
    /// \throws Error  it was removed
    fs::path now() const
    {
        std::error_code error;
        if (fs::exists(path_, error) || !descriptor_)
            return path_;
        const fs::path moved = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor_.get()), error);
        if (error || !fs::is_directory(moved, error))
            throw Error{.what = "the folder with what was recorded has been removed by another program",
                        .where = path_.string(),
                        .kind = ErrorKind::Failure};
        return moved;
    }

private:
    fs::path path_;
    FileDescriptor descriptor_;
};

/// The name of the run: the command, or the program alone.
std::string nameOf(const std::vector<std::string>& command, bool programOnly)
{
    constexpr std::size_t kMostName = 80;
    const std::string line =
        programOnly ? fs::path(command.front()).filename().string() : record::maskedCommandLine(command);
    return exchange::validUtf8(line.substr(0, kMostName));
}

/// What is seen of a program while it runs.
struct Seen {
    exchange::HostCounters counters;
    std::unique_ptr<ProcessWatch> processes;
    bool hasObstacle = false; ///< a Python program could not load the bootstrap, as has been said
};

/// Runs the program. Meanwhile, reads its counters and those of all GPUs that it can see, follows its processes and
/// reports Python programs that cannot be recorded.
/// \param interval  time between readings; 0: no readings
/// \param metrics   to sample; none: none
/// \param inTurns   instructions are sampled as well
/// \param known     the reports on Python programs so far
Seen runWatched(RecordedProgram& program, const fs::path& folder, std::unique_ptr<record::FileServer> files,
                std::chrono::milliseconds interval, const std::optional<machine::MetricRequest>& metrics,
                bool inTurns, BootstrapObstacle known)
{
    Seen seen;
    exchange::HostCounters& counters = seen.counters;
    std::optional<machine::CounterSampler> sampler;
    std::optional<record::MetricTurn> turns;
    if (metrics && inTurns)
        turns.emplace(folder);
    std::unique_ptr<machine::MetricSampler> metricSampler;
    std::optional<PythonWatch> watch;
    program.run([&](pid_t pid) {
        counters.pid = pid;
        if (metrics)
            metricSampler = sampleMetrics(*metrics, pid, turns ? &*turns : nullptr);
        seen.processes = std::make_unique<ProcessWatch>(RecordedProcesses(folder, pid, std::move(files)));
        try {
            watch.emplace(pid, bootstrapCopy(folder), known);
            if (interval.count() == 0)
                return;
            machine::CounterRequest request{.interval = interval, .process = pid};
            for (int gpu = 0; const auto capacity = machine::gpuCapacity(gpu); ++gpu) {
                counters.uuids.push_back(capacity->uuid);
                request.gpus.push_back(gpu);
            }
            sampler.emplace(request);
        } catch (const std::system_error&) {
            // The program runs; at the limit of threads its counters are missing.
        }
    });
    if (sampler)
        counters.tracks = sampler->stop();
    if (metricSampler)
        addMetrics(counters, metricSampler->stop(), metrics->interval, turns ? &*turns : nullptr);
    seen.hasObstacle = watch && watch->stop();
    seen.processes->stop().noteCommandEnd(program.status());
    return seen;
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
        program.setOption("calibrate", "1");
    if (options.yields)
        program.setOption("yield", "1");
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
        program.setOption("steps", std::to_string(first) + ":" + std::to_string(last));
    }
    if (!options.delay.empty())
        program.setOption("delay_ns", nanosecondsIn(options.delay, "--delay"));
    if (!options.seconds.empty())
        program.setOption("length_ns", nanosecondsIn(options.seconds, "--seconds"));
    if (!options.from.empty())
        program.setOption("from", options.from);
    program.setOption("trace", options.trace);
    program.setOption("graphs", options.graphs);
}

/// How long processes that outlive the command may record nothing until the wait for them ends; none: however long.
/// \param wait  the argument of --wait
std::optional<std::chrono::seconds> idleOf(const std::string& wait)
{
    constexpr std::int64_t kMost = 1'000'000; // eleven days
    constexpr std::chrono::seconds kUnwatched(60);
    if (wait.empty())
        return isatty(STDERR_FILENO) != 0 ? std::nullopt : std::optional(kUnwatched);
    if (wait == "all" || wait == "first")
        return std::nullopt;
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(wait.data(), wait.data() + wait.size(), seconds);
    if (error != std::errc() || end != wait.data() + wait.size() || seconds < 1 || seconds > kMost)
        throw Error{.what = "is not known: " + wait,
                    .where = "--wait",
                    .remedy = "write all, first or a number of seconds, such as 60"};
    return std::chrono::seconds(seconds);
}

/// `record --start PID` and `--stop PID`.
void control(const std::string& pid, std::string_view verb)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), number);
    if (error != std::errc() || end != pid.data() + pid.size() || number <= 0)
        throw Error{.what = "is not the number of a process: " + pid, .where = "--" + std::string(verb)};
    const record::Obeyed obeyed = record::tellProcesses(number, verb);
    for (const std::int64_t process : obeyed.processes)
        std::cout << "process " << process << (verb == "start" ? " is recorded" : " is not recorded any more")
                  << '\n';
    for (const std::int64_t recorder : obeyed.recorders)
        std::cout << "tilescope record, process " << recorder << ", waits no longer\n";
}

/// The words in front of the command, without the options that are about this machine.
std::vector<std::string> optionsForHost(const std::vector<std::string>& words, std::size_t before)
{
    constexpr std::array<std::string_view, 4> kLong{"--on", "--cwd", "--output", "-o"};
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < before; ++i) {
        const std::string& word = words[i];
        if (std::ranges::find(kLong, word) != kLong.end()) {
            ++i; // its value
            continue;
        }
        const bool isJoined = word.starts_with("--on=") || word.starts_with("--cwd=") ||
                              word.starts_with("--output=") ||
                              (word.starts_with("-o") && !word.starts_with("--"));
        if (!isJoined && word != "--")
            kept.push_back(word);
    }
    return kept;
}

/// `record --on HOST`: all options but those about this machine apply there.
/// \param words  the arguments of the verb
int recordOnHost(const std::vector<std::string>& words, const std::vector<std::string>& command,
                 const std::string& on, const std::string& cwd, const std::string& output)
{
    if (command.empty())
        throw Error{.what = "no command given",
                    .where = "tilescope record --on " + on,
                    .remedy =
                        "write it behind the options: tilescope record --on " + on + " -- python train.py"};
    const fs::path file = output.empty() ? newFileName() : fs::path(output);
    hostNamed(on); // refuses an unknown host before a file is named
    if (output.empty())
        std::cerr << "tilescope record: recording into " << file.string() << std::endl;
    hosts::JobRequest request{.kind = hosts::JobRequest::Kind::Record,
                              .arguments = optionsForHost(words, words.size() - command.size()),
                              .cwd = cwd,
                              .label = record::maskedCommandLine(command)};
    request.arguments.push_back("--");
    request.arguments.insert(request.arguments.end(), command.begin(), command.end());
    return commandOnHost(on, std::move(request), file);
}

} // namespace

int recordCommand(int argc, char** argv)
{
    std::string output;
    TorchOptions torch;
    InsideOptions inside;
    bool buildsPlugin = false;
    bool noCommandLine = false;
    std::string counterInterval;
    MetricOptions metrics;
    WindowOptions window;
    std::string wait;
    std::string toStart;
    std::string toStop;
    std::string on;
    std::string cwd;
    Arguments arguments(
        "record [-o FILE] COMMAND…",
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
    arguments.option(
        "--wait", wait,
        "all: wait for every process that is recorded, however long; first: only for the program itself; a "
        "number: until they record nothing for so many seconds; default: all, without a terminal 60");
    arguments.option("--start", toStart,
                     "PID: start or go on recording in this process, or in those of this tilescope record");
    arguments.option("--stop", toStop, "PID: stop recording there");
    torch.addTo(arguments);
    inside.addTo(arguments);
    arguments.option(
        "--counter-interval", counterInterval,
        "milliseconds between readings of clocks, power, temperature, utilisation and traffic; 0: "
        "none; default: 20");
    metrics.addTo(arguments);
    arguments.flag("--no-command-line", noCommandLine, "do not store the command lines of the processes");
    arguments.option("--on", on,
                     "the host that runs the program (tilescope hosts); the recording comes into FILE");
    arguments.suggest("--on", suggestedHosts);
    arguments.option("--cwd", cwd, "with --on: the folder there to run it in; default: the home folder");
    arguments.flag("--build-plugin", buildsPlugin,
                   "build the plug-in for the PyTorch of python3, or of -- PYTHON, into the cache");
    std::vector<std::string> command;
    arguments.command(command);
    if (!parseRecordArguments(arguments, argc, argv))
        return 0;
    if (!cwd.empty() && on.empty())
        throw Error{.what = "names a folder on a host",
                    .where = "--cwd",
                    .remedy = "add --on HOST, or change to the folder first"};
    if (!on.empty())
        return recordOnHost(std::vector<std::string>(argv + 1, argv + argc), command, on, cwd, output);
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
                    .remedy = "write it behind the options: tilescope record python train.py"};
    const std::chrono::milliseconds interval =
        counterInterval.empty() ? machine::kCounterInterval : counterIntervalFrom(counterInterval);
    const machine::MetricRequest metricRequest = metrics.request();
    idleOf(wait); // throws for what it does not know
    requireNoOtherTool();
    const fs::path library = recorderLibrary();
    requireSafe(bootstrapFolder()); // what Python programs load
    const fs::path file = output.empty() ? newFileName() : fs::path(output);
    requireWritable(file);
    tidyLeftFolders(file);
    if (output.empty())
        std::cerr << "tilescope record: recording into " << file.string() << std::endl;

    RecordedProgram program(command);
    select(program, window);
    inside.prepare(program, window.yields);
    if (inside.isOn && metrics.isOn) {
        program.setOption("turns", "1");
        std::cerr << "tilescope record: a GPU samples metrics or instructions (--inside), one at a time: "
                     "metrics are first, "
                     "for three steps and a second, or three busy seconds without steps"
                  << std::endl;
    }
    const fs::path folder = makeWorkingFolder(file);
    const FollowedFolder followed(folder);
    program.set(kCudaVariable, library.string());
    program.set(kNvtxVariable, library.string());
    program.set(record::kFolderVariable, folder.string());
    program.setOption("clock", hostClock());
    auto files = std::make_unique<record::FileServer>(folder);
    if (!files->address().empty())
        program.setOption("files", files->address());
    program.setOption("pid", std::to_string(getpid()));
    if (noCommandLine)
        program.setOption("no_command_line", "1");
    torch.prepare(program, library, folder);
    const BootstrapObstacle obstacle = obstacleIn(command);
    if (obstacle != BootstrapObstacle::None)
        sayObstacle(obstacle, command);
    Seen seen;
    try {
        seen = runWatched(program, folder, std::move(files), interval,
                          metrics.isOn ? std::optional(metricRequest) : std::nullopt, inside.isOn, obstacle);
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        throw;
    }
    try {
        const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
        RecordedProcesses& processes = seen.processes->stop();
        if (wait != "first")
            waitForOthers(processes, idleOf(wait), signals.first());
        record::removeSockets();
        joinRecording({.folder = followed.now(),
                       .output = file,
                       .name = nameOf(command, noCommandLine),
                       .counters = seen.counters,
                       .hasObstacle = seen.hasObstacle},
                      processes);
    } catch (...) {
        // The program has ended, and its status counts.
        std::cerr << "tilescope record: " << currentExceptionSentence() << std::endl;
    }
    return program.pass();
}

} // namespace tilescope::cli
