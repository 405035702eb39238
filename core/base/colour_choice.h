#pragma once

#include <cstdint>

namespace tilescope {

/// When output for people has colours.
enum class ColourChoice : std::uint8_t {
    Auto, ///< on a terminal that has them
    Always,
    Never
};

/// The choice of this process; Auto until it is set. Set it before other threads start.
void setColourChoice(ColourChoice choice);
ColourChoice colourChoice();

} // namespace tilescope
