#include "app/cli/ceilings.h"

#include "app/cli/scratch.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/terminal_text.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/tables/table.h"
#include "core/machine/examine.h"
#include "core/model/ceilings.h"
#include "core/session/protocol/stop_signals.h"
#include "core/session/supervisor/calibration.h"
#include "core/session/supervisor/ceilings.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>

namespace tilescope::cli {

namespace {

namespace fs = std::filesystem;

using Ceilings = std::vector<Ceiling>;

void print(const Ceilings& ceilings, const CeilingsRequest& request, std::ostream& out)
{
    const exchange::Table table = exchange::tableOf(std::make_shared<const Ceilings>(ceilings));
    if (request.format == "json")
        exchange::writeJson(out, table);
    else
        exchange::writeTerminal(out, table, exchange::styleOfStandardOutput());
}

/// `a thread waited 23 % of the time for a CPU (load 8.30 on 2 CPUs)`; empty if the host is quiet.
std::string busyWords(const Ceilings& ceilings, const machine::HostFacts& before)
{
    const auto busy = std::ranges::find_if(
        ceilings, [&](const Ceiling& ceiling) { return isFromBusyHost(ceilings, ceiling); });
    if (busy == ceilings.end())
        return {};
    return fmt::format("a thread waited {:.0f} % of the time for a CPU (load {:.2f} on {} CPUs)",
                       100 * hostWaitingAt(ceilings, *busy).value_or(0), before.load, before.threads);
}

/// The ceilings of a file after the first `before`.
Ceilings newCeilings(const fs::path& file, std::size_t before)
{
    Ceilings ceilings = store::RunReader(file).ceilings();
    ceilings.erase(ceilings.begin(), ceilings.begin() + static_cast<std::ptrdiff_t>(before));
    return ceilings;
}

void keepAsCalibration(const fs::path& measured, const std::string& busy, bool force)
{
    if (!busy.empty() && !force)
        throw Error{.what = "not saved as calibration: " + busy,
                    .where = "doctor --ceilings",
                    .remedy = "measure again when the host is quiet, or save it with --force",
                    .kind = ErrorKind::Environment};
    const fs::path calibration = session::calibrationFile();
    if (calibration.empty())
        return;
    fs::create_directories(calibration.parent_path());
    store::merge(std::vector{measured}, calibration);
    std::cerr << "saved as this user's calibration in " << escapeForTerminal(calibration.string())
              << std::endl;
}

} // namespace

int measureCeilings(const CeilingsRequest& request, std::ostream& out)
{
    if (!request.asked)
        throw Error{.what = "-o, --device and --force require --ceilings",
                    .where = "doctor",
                    .remedy = "tilescope doctor --ceilings -o FILE"};
    constexpr int kCancelled = 130;
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    std::optional<Scratch> scratch;
    const fs::path file =
        request.file.empty() ? scratch.emplace().file("ceilings.tscope") : fs::path(request.file);
    const std::size_t before =
        fs::exists(withLinksFollowed(file)) ? store::RunReader(file).ceilings().size() : 0;
    const machine::HostFacts host = machine::hostFacts();
    if (!session::measureCeilings(file, request.device.empty() ? "auto" : request.device, request.commandLine,
                                  signals.first()))
        return kCancelled;
    const Ceilings ceilings = newCeilings(file, before);
    print(ceilings, request, out);
    const std::string busy = busyWords(ceilings, host);
    if (scratch)
        keepAsCalibration(file, busy, request.force);
    else if (!busy.empty())
        std::cerr << "the host was busy during the measurement: " << busy << std::endl;
    return 0;
}

} // namespace tilescope::cli
