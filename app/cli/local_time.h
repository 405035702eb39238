#pragma once

#include <cstdint>
#include <string>

namespace tilescope::cli {

/// 2026-11-23 09:30, in local time; `unknown` for 0.
std::string localTimeText(std::int64_t unixNs);

} // namespace tilescope::cli
