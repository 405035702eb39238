// Imports hard traces of growing size: prints for each kind events, processor seconds, MB of text and MB of the recording.
//
// usage: bench_worst_cases [EVENTS [PART OF A NAME]]     default 100000 events and a tenth of them; long names in proportion

#include "tests/unit/exchange/worst_cases.h"
#include "core/exchange/import/importer.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string_view>

using namespace tilescope;

namespace {

struct Cost {
    double seconds = 0;
    double in = 0;
    double out = 0;
};

Cost costOf(const exchange::WorstCase& kind, std::int64_t events, const std::filesystem::path& folder)
{
    const std::filesystem::path source = folder / "trace.json";
    const std::filesystem::path output = folder / "out.tscope";
    std::filesystem::remove(output);
    std::ofstream(source, std::ios::binary) << kind.text(events);
    const std::clock_t began = std::clock();
    exchange::importFiles(std::array{source}, output);
    constexpr double kMega = 1e6;
    return {static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC,
            static_cast<double>(std::filesystem::file_size(source)) / kMega,
            static_cast<double>(std::filesystem::file_size(output)) / kMega};
}

} // namespace

int main(int argc, char** argv)
{
    const std::int64_t most = argc > 1 ? std::atoll(argv[1]) : 100'000;
    const std::string_view part = argc > 2 ? argv[2] : "";
    const tilescope::testing::TemporaryFolder folder;
    std::string json;
    std::cout << fmt::format("{:<42} {:>9} {:>9} {:>9} {:>9}\n", "kind", "events", "CPU s", "MB in",
                             "MB out");
    for (const exchange::WorstCase& kind : exchange::worstCases()) {
        if (kind.name.find(part) == std::string_view::npos)
            continue;
        constexpr std::int64_t kUsual = 2000;
        for (const std::int64_t events : {most / 10, most}) {
            const std::int64_t count = std::max<std::int64_t>(events * kind.events / kUsual, 1);
            const Cost cost = costOf(kind, count, folder / "");
            std::cout << fmt::format("{:<42} {:>9} {:>9.2f} {:>9.2f} {:>9.2f}\n", kind.name, count,
                                     cost.seconds, cost.in, cost.out)
                      << std::flush;
            json += fmt::format(
                R"({}{{"kind": "{}", "events": {}, "cpu_seconds": {:.2f}, "mb_in": {:.2f}, "mb_out": {:.2f}}})",
                json.empty() ? "" : ", ", kind.name, count, cost.seconds, cost.in, cost.out);
        }
    }
    std::cout << "[" << json << "]\n";
}
