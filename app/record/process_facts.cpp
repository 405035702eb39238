#include "app/record/process_facts.h"

#include "core/base/number_text.h"
#include "core/base/this_host.h"
#include "core/base/units.h"
#include "core/record/command_line.h"
#include "core/record/options.h"
#include "core/record/process_identity.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace tilescope::record {

namespace {

std::string contents(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string firstOf(std::initializer_list<const char*> variables)
{
    for (const char* variable : variables)
        if (const char* value = std::getenv(variable))
            return value;
    return {};
}

/// The wall clock minus the steady clock: one value for all processes of the host that the recording was
/// started on, so that they stay on one clock.
std::int64_t wallClockOffset(std::string_view clock, std::string_view host)
{
    const std::size_t colon = clock.rfind(':');
    std::int64_t offset = 0;
    if (colon != std::string_view::npos && clock.substr(0, colon) == host &&
        std::from_chars(clock.data() + colon + 1, clock.data() + clock.size(), offset).ec == std::errc())
        return offset;
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() -
           nanosecondsOf(TraceClock::now());
}

} // namespace

ProcessFacts factsOfThisProcess(const Settings& settings, pid_t process)
{
    // /proc may be that of other process numbers.
    const std::string name = process == getpid() ? "self" : std::to_string(process);
    const std::string folder = "/proc/" + name;
    const std::string host = hostName();
    std::string thread = contents(folder + "/comm");
    if (thread.ends_with('\n'))
        thread.pop_back();
    const std::int64_t steady = nanosecondsOf(TraceClock::now());
    ProcessFacts facts{{"pid", std::to_string(process)},
                       {"host", host},
                       {"name", thread},
                       {"rank", firstOf({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})},
                       {"world", firstOf({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"})},
                       {"steady_ns", std::to_string(steady)},
                       {"unix_ns", std::to_string(steady + wallClockOffset(settings.clock, host))}};
    // Whether the host was busy before.
    const std::string load = contents("/proc/loadavg");
    facts.emplace_back("load", load.substr(0, load.find(' ')));
    facts.emplace_back("processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
    // They identify the process for whoever waits for it: a number may be used again.
    const ProcessIdentity identity = identityOf(name);
    facts.emplace_back("started", identity.started);
    facts.emplace_back("pid_namespace", identity.space);
    if (settings.storesCommandLine)
        facts.emplace_back("command", maskedCommandLine(wordsOfFile(folder + "/cmdline")));
    return facts;
}

Settings Settings::ofThisProcess()
{
    const char* folder = std::getenv(kFolderVariable);
    Settings settings{.folder = folder ? folder : "",
                      .clock = option("clock"),
                      .files = option("files"),
                      .storesCommandLine = option("no_command_line").empty(),
                      .hostSamples =
                          static_cast<double>(parseNumber<std::int64_t>(option("host_samples")).value_or(0)),
                      .samplesKernels = !option("inside").empty(),
                      .sampledKernels = option("inside"),
                      .samplesInTurns = !option("turns").empty(),
                      .keepsKernelCode = option("no_cubins").empty(),
                      .keepsSources = !option("sources").empty(),
                      .window = Window::ofThisProcess()};
    const std::string recorder = option("pid");
    std::from_chars(recorder.data(), recorder.data() + recorder.size(), settings.recorder);
    return settings;
}

} // namespace tilescope::record
