#include "core/session/supervisor/calibration.h"

#include "core/store/run_reader.h"

#include <cstdlib>
#include <iterator>

namespace tilescope::session {

namespace {

namespace fs = std::filesystem;

const char* variable(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

} // namespace

fs::path calibrationFile()
{
    if (const char* named = variable("TILESCOPE_CALIBRATION"))
        return named;
    const fs::path inData = fs::path("tilescope") / "ceilings.tscope";
    if (const char* data = variable("XDG_DATA_HOME"))
        return data / inData;
    if (const char* home = variable("HOME"))
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
