#include "app/cli/local_time.h"

#include <array>
#include <ctime>

namespace tilescope::cli {

std::string localTimeText(std::int64_t unixNs)
{
    if (unixNs == 0)
        return "unknown";
    const std::time_t seconds = unixNs / 1'000'000'000;
    std::tm local{};
    localtime_r(&seconds, &local);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
    return text.data();
}

} // namespace tilescope::cli
