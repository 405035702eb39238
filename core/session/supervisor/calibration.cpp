#include "core/session/supervisor/calibration.h"

#include "core/base/environment_variable.h"
#include "core/store/run_reader.h"

#include <iterator>

namespace tilescope::session {

namespace fs = std::filesystem;

fs::path calibrationFile()
{
    if (const std::string named = environmentVariable("TILESCOPE_CALIBRATION"); !named.empty())
        return named;
    const fs::path inData = fs::path("tilescope") / "ceilings.tscope";
    if (const std::string data = environmentVariable("XDG_DATA_HOME"); !data.empty())
        return data / inData;
    if (const std::string home = environmentVariable("HOME"); !home.empty())
        return fs::path(home) / ".local" / "share" / inData;
    return {};
}

std::vector<Ceiling> knownCeilings(const fs::path& file)
{
    std::vector<Ceiling> known;
    for (const fs::path& path : {calibrationFile(), file})
        if (!path.empty() && fs::exists(path))
            for (Ceiling& ceiling : store::RunReader(path).ceilings())
                known.push_back(std::move(ceiling));
    return known;
}

} // namespace tilescope::session
