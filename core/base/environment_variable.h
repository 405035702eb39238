#pragma once

#include <cstdlib>
#include <string>

namespace tilescope {

/// The value of an environment variable; empty if it is not set. Not safe beside a thread that sets variables.
inline std::string environmentVariable(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

} // namespace tilescope
