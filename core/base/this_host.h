#pragma once

#include <cstdint>
#include <string>

namespace tilescope {

/// The name of this host; empty if it has none. Any thread.
std::string hostName();

/// Now, in ns since 1970, by the clock of the system, which may be set back. Any thread.
std::int64_t unixNs();

} // namespace tilescope
