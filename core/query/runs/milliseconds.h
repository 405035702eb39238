#pragma once

#include "core/base/units.h"

namespace tilescope::query {

constexpr double milliseconds(Nanoseconds time)
{
    return static_cast<double>(time.count()) / 1e6;
}

} // namespace tilescope::query
