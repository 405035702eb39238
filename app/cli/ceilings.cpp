#include "app/cli/ceilings.h"

#include "core/base/error.h"
#include "core/exchange/sections.h"
#include "core/exchange/table.h"
#include "core/session/calibration.h"
#include "core/session/ceilings.h"
#include "core/session/stop_signals.h"
#include "core/store/run_reader.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace tilescope::cli {

namespace {

namespace fs = std::filesystem;

/// A folder of its own that goes away.
class Scratch {
public:
    Scratch()
    {
        std::string pattern = (fs::temp_directory_path() / "tilescope-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw Error{.what = "no temporary folder can be made",
                        .where = pattern,
                        .mend = "name a file with -o",
                        .kind = ErrorKind::Environment};
        folder_ = pattern;
    }
    ~Scratch()
    {
        std::error_code ignored; // what stays behind in the temporary folder harms nobody
        fs::remove_all(folder_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    fs::path file() const { return folder_ / "ceilings.tscope"; }

private:
    fs::path folder_;
};

void print(const fs::path& file, const CeilingsRequest& request, std::size_t before, std::ostream& out)
{
    const store::RunReader reader(file);
    auto ceilings = std::make_shared<std::vector<Ceiling>>(reader.ceilings());
    ceilings->erase(ceilings->begin(), ceilings->begin() + static_cast<std::ptrdiff_t>(before));
    const exchange::Table table = exchange::tableOf(std::shared_ptr<const std::vector<Ceiling>>(ceilings));
    if (request.format == "json")
        exchange::writeJson(out, table);
    else
        exchange::writeTerminal(out, table, exchange::styleOfStandardOutput());
}

} // namespace

int measureCeilings(const CeilingsRequest& request, std::ostream& out)
{
    if (!request.asked)
        throw Error{.what = "only --ceilings takes a file and a device",
                    .where = "doctor",
                    .mend = "tilescope doctor --ceilings -o FILE"};
    constexpr int kCancelled = 130;
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    std::optional<Scratch> scratch;
    fs::path file = request.file.empty() ? session::calibrationFile() : fs::path(request.file);
    if (file.empty())
        file = scratch.emplace().file();
    else if (request.file.empty())
        fs::create_directories(file.parent_path());
    const std::size_t before = fs::exists(file) ? store::RunReader(file).ceilings().size() : 0;
    if (!session::measureCeilings(file, request.device.empty() ? "auto" : request.device, request.commandLine,
                                  signals.first()))
        return kCancelled;
    print(file, request, before, out);
    if (request.file.empty() && !scratch)
        std::cerr << "kept as this user's calibration in " << file.string() << std::endl;
    return 0;
}

} // namespace tilescope::cli
