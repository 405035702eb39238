#pragma once

#include <string>

namespace tilescope {

std::string version();       ///< 0.1.0
std::string programBanner(); ///< Tilescope 0.1.0

/// Whether the build optimises the program's own code as packages do; figures of others are not to be quoted.
bool isReleaseBuild();

/// What this program was built from and how: commit, compiler, flags.
std::string buildDescription();

} // namespace tilescope
