#include "core/base/version.h"

namespace tilescope {

std::string version()
{
    return TILESCOPE_VERSION;
}

std::string programBanner()
{
    return "Tilescope " + version();
}

bool isReleaseBuild()
{
    return TILESCOPE_RELEASE != 0;
}

std::string buildDescription()
{
    return TILESCOPE_COMMIT ", g++ " __VERSION__ ", preset " TILESCOPE_PRESET TILESCOPE_FLAGS;
}

} // namespace tilescope
