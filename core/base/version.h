#pragma once

#include <string>

namespace tilescope {

std::string version();       ///< 0.1.0
std::string programBanner(); ///< Tilescope 0.1.0

/// What this program was built from and how: commit, compiler, flags.
std::string buildDescription();

} // namespace tilescope
