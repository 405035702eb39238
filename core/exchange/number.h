#pragma once

#include "core/exchange/table.h"

#include <string>

namespace tilescope::exchange {

/// The unit in which a column of numbers is shown: one for all its rows, so that they compare at a glance.
struct Scale {
    double divisor = 1;
    std::string suffix; ///< ms, GiB, %; empty for plain counts
    bool hexadecimal = false;

    /// Three significant digits; counts that are whole stay whole, with thousands apart.
    std::string text(double value) const;
    std::string text(std::int64_t value) const;
};

/// The unit that shows the largest value of a column below 1,000 (1,024 for bytes).
Scale scaleFor(Unit unit, double largest);

/// A number with its unit, by itself: `1.23 ms`, `4.10 GiB`.
std::string withUnit(double value, Unit unit);

} // namespace tilescope::exchange
