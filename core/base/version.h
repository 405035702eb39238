#pragma once

#include <string>

namespace tilescope {

std::string version();       ///< 0.1.0
std::string programBanner(); ///< Tilescope 0.1.0

} // namespace tilescope
