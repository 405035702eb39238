// The engine program: LibTorch's experiments behind the lines of core/session. The supervisor starts it; by
// hand it reads points from standard input and writes events to standard output.

#include "core/base/current_error.h"
#include "core/base/number_text.h"
#include "core/base/process.h"
#include "core/base/version.h"
#include "core/engine/run/engine.h"
#include "core/machine/torch_location.h"
#include "core/session/engine/engine_loop.h"
#include "core/session/protocol/point_line.h"
#include "core/session/protocol/stop_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <span>
#include <string_view>

using namespace tilescope;

namespace {

constexpr const char* kHelp =
    "usage: tilescope-engine --file OUT [--command TEXT] [--device auto|cpu|cuda|cuda:N]…\n"
    "                        [--counter-interval MS]\n"
    "Reads points from standard input, one JSON object per line, and appends their runs to OUT.\n"
    "`tilescope --batch` and the window start it; an example by hand:\n"
    "  echo '{\"index\": 0, \"of\": 1, \"params\": {\"workload\": \"attention\", \"device\": \"cpu\"}}' |"
    " tilescope-engine --file a.tscope\n";

std::chrono::milliseconds intervalFrom(std::string_view text)
{
    const auto interval = parseNumber<std::int32_t>(text);
    if (!interval || *interval < 0)
        throw Error{.what = "is not a number of milliseconds: " + std::string(text),
                    .where = "--counter-interval",
                    .remedy = "write 20, or 0 for no counters"};
    return std::chrono::milliseconds(*interval);
}

/// \return false if only help was requested
bool parse(std::span<char*> arguments, session::EngineOptions& options)
{
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string_view flag = arguments[i];
        if (flag == "--help" || flag == "--version") {
            if (flag == "--version") // for tilescope doctor
                machine::requireLoadedTorch();
            std::fputs(flag == "--help" ? kHelp : (programBanner() + "\n").c_str(), stdout);
            return false;
        }
        const bool isKnown =
            flag == "--file" || flag == "--command" || flag == "--device" || flag == "--counter-interval";
        if (i + 1 == arguments.size() || !isKnown)
            throw Error{
                .what = "unknown or unfinished argument", .where = std::string(flag), .remedy = "see --help"};
        const std::string_view value = arguments[++i];
        if (flag == "--file")
            options.file = value;
        else if (flag == "--command")
            options.commandLine = value;
        else if (flag == "--counter-interval")
            options.counterInterval = intervalFrom(value);
        else
            options.required.push_back(session::deviceFrom(value));
    }
    if (options.file.empty())
        throw Error{.what = "no file to write to", .where = "--file", .remedy = "see --help"};
    return true;
}

int run(std::span<char*> arguments)
{
    session::EngineOptions options;
    if (!parse(arguments, options))
        return 0;
    // Ctrl-C at a terminal also reaches this process, but the supervisor decides. When started by hand, there
    // is no supervisor.
    std::signal(SIGPIPE, SIG_IGN);
    if (isatty(STDIN_FILENO) == 0) {
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGHUP, SIG_IGN);
    }
    // SIGUSR1 comes from the supervisor through srun, which does not pass on SIGTERM.
    const session::StopSignals signals{SIGTERM, SIGINT, SIGUSR1};
    // Libraries may print anything; only events may reach the pipe.
    options.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(STDERR_FILENO, STDOUT_FILENO);

    session::EventStream events(options.output);
    StringTable strings;
    engine::Engine engine(strings);
    return session::runEngine(options, strings, engine, events, signals.first());
}

} // namespace

int main(int argc, char** argv)
{
    prepareProcess();
    try {
        return run({argv, static_cast<std::size_t>(argc)});
    } catch (...) {
        const Error error = currentError();
        std::fprintf(stderr, "tilescope-engine: %s\n", error.sentence().c_str());
        return error.exitCode();
    }
}
