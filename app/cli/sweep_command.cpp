#include "app/cli/sweep_command.h"

#include "app/cli/arguments.h"
#include "app/cli/dry_run.h"
#include "app/cli/notes.h"
#include "app/cli/on_host.h"
#include "app/cli/progress.h"
#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/session/protocol/stop_signals.h"
#include "core/session/protocol/working_copy.h"
#include "core/session/supervisor/resume.h"
#include "core/session/supervisor/slurm_script.h"

#include <array>
#include <csignal>
#include <ctime>
#include <iostream>
#include <utility>

namespace tilescope::cli {

namespace {

int runPoints(const std::vector<session::SweepPoint>& points, session::SweepOptions options, Format format,
              std::size_t present, const std::string& on)
{
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    if (options.file.empty()) {
        options.file = newFileName();
        if (!isQuiet())
            std::cerr << "recording into " << options.file.string() << std::endl;
    }
    options.atOnce = signals.second();
    Progress progress(points, styleHere(), notes(), std::cerr, present);
    const auto show = [&](const session::Event& event) {
        if (format == Format::Json)
            std::cout << session::toJsonLine(event) << std::endl;
        else
            progress.take(event);
    };
    if (!on.empty())
        return sweepOnHost(on, points, options, show, signals);
    return session::runSweep(points, options, show, signals.first()).exitCode();
}

} // namespace

std::filesystem::path newFileName()
{
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 64> name{};
    std::strftime(name.data(), name.size(), "tilescope-%Y%m%d-%H%M%S.tscope", &local);
    return name.data();
}

std::string commandLineOf(int argc, char** argv)
{
    std::string line = "tilescope";
    for (int i = 0; i < argc; ++i)
        line += ' ' + shellWord(argv[i]);
    return line;
}

std::chrono::milliseconds counterIntervalFrom(std::string_view text)
{
    constexpr std::int64_t kMost = 3'600'000; // an hour
    return std::chrono::milliseconds(wholeNumber(text, "--counter-interval", 0, kMost));
}

void SweepArguments::addTo(Arguments& arguments)
{
    arguments.output("-o,--output", file, "the file to append to (tilescope-DATE-TIME.tscope)");
    arguments.option(
        "--on", on,
        "the host that runs the points (tilescope hosts); their runs come into FILE when they have ended");
    arguments.suggest("--on", suggestedHosts);
    arguments.flag("--resume", resume, "only the points that FILE does not contain yet");
    arguments.flag("--force", force,
                   "resume even if another version, torch or device ran the existing points");
    arguments.flag("--dry-run", dryRun, "predict time and memory of each point; run nothing");
    arguments.option(
        "--capacity", capacity,
        "with --dry-run: predict for a GPU with this much memory (80 GiB) instead of this machine");
    arguments.option(
        "--counter-interval", counterInterval,
        "milliseconds between readings of clocks, power, temperature, utilisation and traffic in "
        "traced steps; 0: none (20)");
    arguments.choice("--format", format, {"text", "json"}, "text, or one JSON event per line for programs");
}

void SweepArguments::requireUsable() const
{
    if (!capacity.empty() && !dryRun)
        throw Error{.what = "requires --dry-run", .where = "--capacity", .remedy = "add --dry-run"};
    if (!on.empty() && dryRun)
        throw Error{.what = "predicts for this machine, and --on names another one",
                    .where = "--dry-run",
                    .remedy = "leave out one of them"};
    if (resume && file.empty())
        throw Error{.what = "no file to resume", .where = "--resume", .remedy = "name it with -o"};
    session::requireKnownScratch();
}

int SweepArguments::carryOut(std::vector<session::SweepPoint> points, session::SweepOptions options) const
{
    const Format shown = format == "json" ? Format::Json : Format::Text;
    const std::size_t asked = points.size();
    if (resume) {
        session::bringHomeLeftCopy(
            file, [](const std::string& text) { std::cerr << escapeForTerminal(text) << std::endl; });
        session::Remainder left = session::remainderOf(std::move(points), file, force);
        points = std::move(left.points);
        options.before = std::move(left.before);
    }
    const std::size_t present = asked - points.size();
    if (!dryRun) {
        options.file = file;
        if (!counterInterval.empty())
            options.counterInterval = counterIntervalFrom(counterInterval);
        try {
            return runPoints(points, std::move(options), shown, present, on);
        } catch (Error& error) {
            // Everything committed is in the file.
            if (error.kind == ErrorKind::Failure && error.remedy.find("--resume") == std::string::npos)
                error.remedy += std::string(error.remedy.empty() ? "" : ", then ") + "continue with --resume";
            throw;
        }
    }
    session::ForecastTarget target;
    target.calibration = file;
    if (!capacity.empty())
        target.capacity = capacityFrom(capacity);
    std::error_code error;
    if (!file.empty() && !std::filesystem::exists(file, error))
        std::cerr << escapeForTerminal(file)
                  << ": no such file yet; predictions use only this machine's calibration" << std::endl;
    showDryRun(std::cout, points, target, shown, present);
    return 0;
}

} // namespace tilescope::cli
