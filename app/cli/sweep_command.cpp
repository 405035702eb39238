#include "app/cli/sweep_command.h"

#include "app/cli/progress.h"
#include "core/exchange/table.h"
#include "core/session/slurm_script.h"
#include "core/session/stop_signals.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <iostream>

namespace tilescope::cli {

namespace {

ProgressStyle styleHere()
{
    ProgressStyle style;
    style.colour = exchange::styleOfStandardOutput().colour;
    style.bar = isatty(STDERR_FILENO) != 0;
    winsize size{};
    if (style.bar && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
        style.width = size.ws_col;
    return style;
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
        line += ' ' + session::shellWord(argv[i]);
    return line;
}

int runPoints(const std::vector<session::SweepPoint>& points, session::SweepOptions options, Format format)
{
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    if (options.file.empty()) {
        options.file = newFileName();
        std::cerr << "recording into " << options.file.string() << std::endl;
    }
    options.atOnce = signals.second();
    Progress progress(points, styleHere(), std::cout, std::cerr);
    const auto show = [&](const session::Event& event) {
        if (format == Format::Json)
            std::cout << session::toJsonLine(event) << std::endl;
        else
            progress.take(event);
    };
    return session::runSweep(points, options, show, signals.first()).exitCode();
}

} // namespace tilescope::cli
