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

} // namespace tilescope
