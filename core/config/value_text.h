#pragma once

#include <string>
#include <string_view>

namespace tilescope::config {

/// A stored value of a key as people write it: sizes with a unit (25 MiB, 100 MB), others unchanged.
std::string valueText(std::string_view key, std::string_view value);

} // namespace tilescope::config
