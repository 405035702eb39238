#pragma once

#include "core/base/units.h"

#include <algorithm>
#include <cstdint>

namespace tilescope::query {

/// The mean per step of a sum over steps. A recording without steps counts as one.
inline double meanPerStep(double sum, std::int64_t steps)
{
    return sum / static_cast<double>(std::max<std::int64_t>(1, steps));
}
/// The same of time, ns.
inline double meanPerStep(Nanoseconds sum, std::int64_t steps)
{
    return meanPerStep(static_cast<double>(sum.count()), steps);
}

} // namespace tilescope::query
