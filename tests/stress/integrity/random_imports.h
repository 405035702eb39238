#pragma once

#include "core/base/ids.h"

#include <filesystem>
#include <random>

namespace tilescope::stress {

/// Imports a random recording of another program, with events that the rules leave out or count, into a file.
RunId importRandom(const std::filesystem::path& file, std::mt19937_64& random);

} // namespace tilescope::stress
