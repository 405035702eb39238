#pragma once

#include "core/base/quantity.h"
#include "core/base/units.h"

#include <optional>
#include <string>

namespace tilescope::query {

/// `part` of `whole`, per cent; none if the whole is not positive.
inline std::optional<double> percent(Nanoseconds part, Nanoseconds whole)
{
    if (whole.count() <= 0)
        return {};
    return 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

inline std::string timeText(double nanoseconds)
{
    return quantity::withUnit(nanoseconds, quantity::Unit::Nanoseconds);
}

} // namespace tilescope::query
