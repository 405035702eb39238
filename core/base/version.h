#pragma once

#include <string>

namespace tilescope {

std::string version();       ///< 0.1.0
std::string programBanner(); ///< Tilescope 0.1.0

/// Whether the program's own code is optimised as in packages. Do not quote figures of other builds.
bool isReleaseBuild();

/// Commit, compiler and flags of this build.
std::string buildDescription();

} // namespace tilescope
