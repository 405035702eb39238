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

std::string buildDescription()
{
    return TILESCOPE_COMMIT ", g++ " __VERSION__ ", " TILESCOPE_FLAGS;
}

} // namespace tilescope
