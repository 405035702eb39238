#include "core/base/this_host.h"

#include <unistd.h>

#include <array>
#include <chrono>

namespace tilescope {

std::string hostName()
{
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t unixNs()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

} // namespace tilescope
