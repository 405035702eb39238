#include "core/base/colour_choice.h"

namespace tilescope {

namespace {

ColourChoice chosen = ColourChoice::Auto;

} // namespace

void setColourChoice(ColourChoice choice)
{
    chosen = choice;
}

ColourChoice colourChoice()
{
    return chosen;
}

} // namespace tilescope
