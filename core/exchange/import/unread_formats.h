#pragma once

#include "core/base/error.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace tilescope::exchange {

/// Why a file of a known format cannot be imported, and what to do instead: profiles of nvprof, rocprofv3, Proton and
/// others, plots, pointers of Git LFS. None for formats that are not known.
/// \param head  the first bytes of the file, inflated if it is compressed; untrusted
std::optional<Error> whyNotRead(std::string_view head, const std::filesystem::path& file);

} // namespace tilescope::exchange
