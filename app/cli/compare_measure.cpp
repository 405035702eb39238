#include "app/cli/compare_measure.h"

#include "app/cli/progress.h"
#include "app/cli/spec_argument.h"
#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/base/plural.h"
#include "core/base/search_path.h"
#include "core/base/shell_word.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"
#include "core/base/temporary_path.h"
#include "core/base/terminal_text.h"
#include "core/base/version.h"
#include "core/exchange/tables/text.h"
#include "core/model/run_workload.h"
#include "core/model/strings.h"
#include "core/query/steps/step_tables.h"
#include "core/record/command_line.h"
#include "core/session/protocol/stop_signals.h"
#include "core/session/supervisor/supervisor.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <ostream>
#include <stop_token>
#include <utility>
#include <variant>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

/// A signal ended the measurement.
struct Stopped {};

/// A command, and whether its first run printed its steps.
struct Command {
    std::string line;
    std::vector<std::string> words;
    std::optional<bool> prints = {};
};

/// One side of the measurement.
struct Side {
    char letter = 'A';
    std::string text; ///< as the user wrote it
    std::variant<ExperimentSpec, Command> program;

    bool isSpec() const { return std::holds_alternative<ExperimentSpec>(program); }
};

bool namesSpec(std::string_view text)
{
    return text.ends_with(".yaml") || text.ends_with(".yml");
}

ExperimentSpec onlyPointOf(const std::string& file)
{
    std::error_code ignored;
    if (!fs::exists(file, ignored))
        throw Error{.what = "no such file", .where = file, .remedy = "check the path"};
    std::vector<ExperimentSpec> points = specsOf(file, config::Edition::Full, {});
    if (points.size() != 1)
        throw Error{.what = "has " + counted(static_cast<std::int64_t>(points.size()), "point") +
                            ", and each side is one",
                    .where = file,
                    .remedy = "give every key one value"};
    points.front().repeat = 1;
    return std::move(points.front());
}

Side sideOf(char letter, const std::string& text)
{
    if (namesSpec(text))
        return {.letter = letter, .text = text, .program = onlyPointOf(text)};
    std::vector<std::string> words = splitShellWords(text);
    if (words.empty())
        throw Error{.what = "is empty",
                    .where = std::string("compare --measure, ") + letter,
                    .remedy = "write a .yaml file, or a command in quotes"};
    return {.letter = letter, .text = text, .program = Command{.line = text, .words = std::move(words)}};
}

std::vector<RunId> runIdsOf(const fs::path& file)
{
    std::error_code ignored;
    if (!fs::exists(file, ignored))
        return {};
    return store::RunReader(file).runIds();
}

/// The time that a line gives: `step_ms: 12.5`. None for other lines.
std::optional<double> printedStep(std::string_view line, const std::string& command)
{
    constexpr std::string_view kKey = "step_ms:";
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || !line.substr(begin).starts_with(kKey))
        return {};
    std::string_view text = line.substr(begin + kKey.size());
    while (!text.empty() && std::strchr(" \t\r", text.front()))
        text.remove_prefix(1);
    while (!text.empty() && std::strchr(" \t\r", text.back()))
        text.remove_suffix(1);
    constexpr double kMostMs = 1e9; // eleven days
    const auto number = parseNumber<double>(text);
    if (!number || !(*number > 0 && *number <= kMostMs))
        throw Error{.what = "printed '" + std::string(line.substr(begin, 80)) +
                            "', which is no time in milliseconds",
                    .where = command,
                    .remedy = "print step_ms: and a number above 0",
                    .kind = ErrorKind::Failure};
    return number;
}

/// A program whose standard output this process reads.
class ReadProgram {
public:
    ReadProgram(std::vector<std::string> words, const std::string& name)
    {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0)
            throw Error{.what = std::strerror(errno), .where = name, .kind = ErrorKind::Failure};
        output_ = FileDescriptor(ends[0]);
        const FileDescriptor written(ends[1]);
        SpawnSettings settings;
        posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&settings.actions, written.get(), STDOUT_FILENO);
        const std::vector<char*> arguments = pointersTo(words);
        std::vector<std::string> environment = environmentWith({});
        const fs::path program = findProgram(words.front());
        const int failed = program.empty()
                               ? ENOENT
                               : posix_spawn(&pid_, program.c_str(), &settings.actions, &settings.attributes,
                                             arguments.data(), pointersTo(environment).data());
        if (failed != 0)
            throw Error{.what = "cannot be started: " + std::string(std::strerror(failed)),
                        .where = name,
                        .remedy = "check its name and PATH"};
    }
    ~ReadProgram()
    {
        if (pid_ > 0)
            wait();
    }
    ReadProgram(const ReadProgram&) = delete;
    ReadProgram& operator=(const ReadProgram&) = delete;

    void send(int signal) const { kill(pid_, signal); }

    /// Calls `take` with each line until the program closes its output.
    template <class Take> void eachLine(const Take& take)
    {
        constexpr std::size_t kLongest = 1 << 16;
        std::string line;
        std::array<char, 4096> buffer{};
        for (;;) {
            const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                break;
            for (const char character : std::string_view(buffer.data(), static_cast<std::size_t>(count))) {
                if (character != '\n' && line.size() < kLongest) {
                    line += character;
                    continue;
                }
                take(line);
                line.clear();
            }
        }
        if (!line.empty())
            take(line);
    }

    /// Waits for its end. It may be signalled until wait() is called.
    void waitForEnd()
    {
        output_.reset();
        siginfo_t info{};
        while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
        }
    }

    /// Waits for its end and forgets the process.
    /// \return  its status, as of waitpid()
    int wait()
    {
        output_.reset();
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

private:
    FileDescriptor output_;
    pid_t pid_ = -1;
};

std::string endOf(int status)
{
    if (WIFSIGNALED(status))
        return "was ended by signal " + std::to_string(WTERMSIG(status));
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

/// Runs both sides in turn.
class Measurement {
public:
    Measurement(const MeasureRequest& request, std::ostream& progress)
        : request_(request), progress_(progress),
          repeats_(request.repeats.value_or(kFewRepeats)), sides_{sideOf('A', request.a),
                                                                  sideOf('B', request.b)},
          file_(request.file.empty() ? newTemporaryFolder("compare") / "compare.tscope" : request.file),
          stop_(signals_.first())
    {
        runIdsOf(file_); // refuses a file of another kind before anything runs
    }

    MeasuredRuns run()
    {
        try {
            if (sides_[0].isSpec() && sides_[1].isSpec()) {
                runSpecs(order(0, repeats_));
                const std::int64_t before = repeats_;
                if (!request_.repeats)
                    repeats_ = repeatsOfShortRuns();
                if (repeats_ > before)
                    runSpecs(order(before, repeats_));
            } else {
                for (const std::size_t side : order(0, repeats_))
                    runOne(side);
            }
        } catch (Error& error) {
            if (!runs_[0].empty() || !runs_[1].empty())
                error.remedy += (error.remedy.empty() ? "" : "; ") + kept();
            throw;
        }
        return {.file = file_, .runsA = runs_[0], .runsB = runs_[1]};
    }

    /// How many runs there are, and where.
    std::string kept() const
    {
        const auto count = [this](std::size_t side) {
            return counted(static_cast<std::int64_t>(runs_[side].size()), "run");
        };
        return count(0) + " of A and " + count(1) + " of B are in " + file_.string();
    }

private:
    static constexpr std::int64_t kFewRepeats = 5;

    /// 0 1 1 0 1 0 0 1 …, the sequence of Thue and Morse: pairs of A and B of which either is first equally often, without
    /// a period. A load that comes and goes regularly thus does not meet the same side each time.
    /// \param first, end  of the pairs, from 0
    static std::vector<std::size_t> order(std::int64_t first, std::int64_t end)
    {
        std::vector<std::size_t> sides;
        for (std::uint64_t run = 2 * static_cast<std::uint64_t>(first);
             run < 2 * static_cast<std::uint64_t>(end); ++run)
            sides.push_back(static_cast<std::size_t>(std::popcount(run) % 2));
        return sides;
    }

    /// How many runs of each take 1.5 seconds, judged by the timed steps of the runs so far; at least these, at most 20.
    std::int64_t repeatsOfShortRuns() const
    {
        constexpr std::int64_t kMost = 20;
        const store::RunReader reader(file_);
        Nanoseconds shorter = Nanoseconds::max();
        for (const std::vector<RunId>& runs : runs_) {
            Nanoseconds sum{0};
            for (const RunId run : runs)
                for (const Sample& sample : reader.samples(run))
                    if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
                        sum += sample.wall;
            shorter = std::min(shorter, sum / static_cast<std::int64_t>(runs.size()));
        }
        constexpr Nanoseconds kEnough = std::chrono::milliseconds(1500);
        const std::int64_t wanted =
            shorter.count() > 0 ? (kEnough + shorter - Nanoseconds(1)) / shorter : kMost;
        return std::clamp(wanted, repeats_, kMost);
    }

    void say(std::size_t side)
    {
        progress_ << "measuring " << sides_[side].letter << ", run " << runs_[side].size() + 1 << " of "
                  << repeats_ << ": " << escapeForTerminal(sides_[side].text) << std::endl;
    }

    void runOne(std::size_t side)
    {
        if (stop_.stop_requested())
            throw Stopped{};
        if (sides_[side].isSpec()) {
            runSpecs({side});
            return;
        }
        say(side);
        runCommand(side);
    }

    /// Runs the specs of these sides in one engine process.
    void runSpecs(const std::vector<std::size_t>& order)
    {
        std::vector<session::SweepPoint> points;
        for (std::size_t i = 0; i < order.size(); ++i)
            points.push_back({.index = static_cast<std::int64_t>(i),
                              .of = static_cast<std::int64_t>(order.size()),
                              .spec = std::get<ExperimentSpec>(sides_[order[i]].program),
                              .point = static_cast<std::int64_t>(i)});
        std::stop_source failed;
        session::SweepOptions options;
        options.file = file_;
        options.commandLine = request_.commandLine;
        options.afterPoint = failed.get_token();
        options.atOnce = signals_.second();
        std::size_t begun = 0;
        std::optional<Error> failure;
        session::runSweep(
            points, options,
            [&](const session::Event& event) {
                if (const auto* point = std::get_if<session::PointEvent>(&event)) {
                    say(order[begun]);
                    runs_[order[begun++]].push_back(RunId{point->run});
                } else if (const auto* result = std::get_if<session::ResultEvent>(&event);
                           result && result->runStatus() != RunStatus::Ok && !failure) {
                    const std::size_t side = order[begun - 1];
                    runs_[side].pop_back();
                    failure = Error{.what = "run " + std::to_string(result->run) + " is " + result->status +
                                            (result->reason.empty() ? "" : ": " + result->reason),
                                    .where = sides_[side].text,
                                    .remedy = "give it steps that finish",
                                    .kind = ErrorKind::Failure};
                    failed.request_stop();
                }
            },
            stop_);
        if (stop_.stop_requested())
            throw Stopped{};
        if (failure)
            throw Error(*failure);
        if (begun < order.size())
            throw Error{.what = "the engine ended before all runs were done",
                        .where = file_.string(),
                        .kind = ErrorKind::Failure};
    }

    void runCommand(std::size_t side)
    {
        Command& command = std::get<Command>(sides_[side].program);
        const bool records = !command.prints.value_or(false);
        const std::vector<RunId> before = records ? runIdsOf(file_) : std::vector<RunId>{};
        const auto started = std::chrono::system_clock::now();
        const std::vector<double> printed = stepsOf(command, records);
        if (command.prints.value_or(false) && printed.empty())
            throw Error{.what = "printed no line step_ms: NUMBER this time, but did before",
                        .where = command.line,
                        .kind = ErrorKind::Failure};
        if (!printed.empty() && command.prints.value_or(true)) {
            if (records)
                removeRunsBeyond(before);
            command.prints = true;
            runs_[side].push_back(storeSteps(command, printed, started));
            return;
        }
        command.prints = false;
        runs_[side].push_back(recordedRun(command, before));
    }

    /// Runs it to its end.
    /// \return  the steps that it printed, ms
    std::vector<double> stepsOf(const Command& command, bool records)
    {
        std::vector<std::string> words = command.words;
        if (records) {
            const std::vector<std::string> recorder{executablePath().string(), "record", "-o", file_.string(),
                                                    "--"};
            words.insert(words.begin(), recorder.begin(), recorder.end());
        }
        ReadProgram program(std::move(words), command.line);
        const auto terminate = [&program] { program.send(SIGTERM); };
        std::optional<std::stop_callback<decltype(terminate)>> onStop(std::in_place, stop_, terminate);
        std::vector<double> steps;
        std::optional<Error> wrong;
        program.eachLine([&](const std::string& line) {
            progress_ << escapeForTerminal(line) << std::endl;
            try {
                if (const auto step = printedStep(line, command.line))
                    steps.push_back(*step);
            } catch (const Error& error) {
                if (!wrong)
                    wrong = error;
            }
        });
        program.waitForEnd();
        onStop.reset(); // its number may be another process' from now on
        const int status = program.wait();
        if (stop_.stop_requested())
            throw Stopped{};
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            throw Error{.what = endOf(status),
                        .where = command.line,
                        .remedy = "see its output above",
                        .kind = ErrorKind::Failure};
        if (wrong)
            throw Error(*wrong);
        return steps;
    }

    void removeRunsBeyond(const std::vector<RunId>& before)
    {
        std::vector<RunId> added = runIdsOf(file_);
        std::erase_if(added, [&before](RunId run) { return std::ranges::find(before, run) != before.end(); });
        if (!added.empty())
            store::deleteRuns(file_, added);
    }

    /// The run that the recorder added.
    RunId recordedRun(const Command& command, const std::vector<RunId>& before) const
    {
        const std::vector<RunId> after = runIdsOf(file_);
        const Error noSteps{
            .what = "shows no steps: it printed no line step_ms: NUMBER, and its recording has none",
            .where = command.line,
            .remedy = "print such a line for each step",
            .kind = ErrorKind::Failure};
        if (after.size() <= before.size())
            throw Error(noSteps);
        if (query::stepsOf(store::RunReader(file_), after.back()).empty())
            throw Error(noSteps);
        return after.back();
    }

    RunId storeSteps(const Command& command, const std::vector<double>& steps,
                     std::chrono::system_clock::time_point started)
    {
        constexpr std::size_t kMostName = 80;
        constexpr double kNanoseconds = 1e6; // of a millisecond
        const std::string line = record::maskedCommandLine(command.words);
        StringTable strings;
        store::RunWriter writer(file_, strings);
        store::RunHeader header;
        header.name = exchange::validUtf8(line.substr(0, kMostName));
        header.workload = kTraceWorkload.name;
        header.specJson = "{}";
        header.program = programBanner();
        header.startedUnixNs = std::chrono::duration_cast<Nanoseconds>(started.time_since_epoch()).count();
        const RunId run = writer.beginRun(header);
        std::vector<Sample> samples;
        for (const double step : steps)
            samples.push_back({.step = static_cast<std::int32_t>(samples.size()),
                               .wall = Nanoseconds(std::llround(step * kNanoseconds))});
        writer.writeSamples(samples);
        const std::array environment{EnvironmentEntry{"command_line", line, ""},
                                     EnvironmentEntry{"steps.source", "user", ""}};
        writer.writeEnvironment(environment);
        RunResult result;
        result.duration = std::chrono::duration_cast<Nanoseconds>(std::chrono::system_clock::now() - started);
        writer.endRun(result);
        writer.seal();
        return run;
    }

    const session::StopSignals signals_{SIGINT, SIGTERM, SIGHUP};
    const MeasureRequest& request_;
    std::ostream& progress_;
    std::int64_t repeats_; ///< runs of each
    std::array<Side, 2> sides_;
    fs::path file_;
    std::stop_token stop_;
    std::array<std::vector<RunId>, 2> runs_;
};

std::string addressOfRuns(const fs::path& file, const std::vector<RunId>& runs)
{
    std::string text = file.string();
    for (std::size_t i = 0; i < runs.size(); ++i)
        text += (i == 0 ? ":" : ",") + std::to_string(runs[i].value);
    return text;
}

} // namespace

std::string MeasuredRuns::a() const
{
    return addressOfRuns(file, runsA);
}

std::string MeasuredRuns::b() const
{
    return addressOfRuns(file, runsB);
}

std::optional<MeasuredRuns> measureInTurn(const MeasureRequest& request, std::ostream& progress)
{
    Measurement measurement(request, progress);
    try {
        return measurement.run();
    } catch (const Stopped&) {
        progress << "stopped: " << escapeForTerminal(measurement.kept()) << std::endl;
        return {};
    }
}

void sayWhereKept(std::ostream& out, const MeasuredRuns& measured)
{
    out << "\nThe runs are in " << escapeForTerminal(measured.file.string())
        << "\nTo compare them again: tilescope compare " << shellWord(measured.a()) << ' '
        << shellWord(measured.b()) << std::endl;
}

} // namespace tilescope::cli
