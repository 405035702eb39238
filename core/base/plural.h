#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// The noun for a count: "run" for one, "runs" for any other number.
/// \param several  the plural, unless it is the singular with an s: "frequencies"
inline std::string plural(std::int64_t count, std::string_view one, std::string_view several = {})
{
    if (count == 1)
        return std::string(one);
    return several.empty() ? std::string(one) + "s" : std::string(several);
}

/// "1 run", "0 runs", "12 runs".
inline std::string counted(std::int64_t count, std::string_view one, std::string_view several = {})
{
    return std::to_string(count) + " " + plural(count, one, several);
}

} // namespace tilescope
