#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// The word for so many things: "run" for one, "runs" for any other number.
/// \param several  where it is more than the word with an s: "frequencies"
inline std::string plural(std::int64_t count, std::string_view one, std::string_view several = {})
{
    if (count == 1)
        return std::string(one);
    return several.empty() ? std::string(one) + "s" : std::string(several);
}

} // namespace tilescope
