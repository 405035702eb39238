#pragma once

#include "core/base/units.h"

#include <algorithm>
#include <cstdint>

namespace tilescope::query {

/// A sum over steps for a mean one; where there are no steps, the sum.
inline double meanStep(double sum, std::int64_t steps)
{
    return sum / static_cast<double>(std::max<std::int64_t>(1, steps));
}
/// The same of time, ns.
inline double meanStep(Nanoseconds sum, std::int64_t steps)
{
    return meanStep(static_cast<double>(sum.count()), steps);
}

} // namespace tilescope::query
