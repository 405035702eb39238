#pragma once

#include <cstdint>
#include <string>

namespace tilescope::quantity {

// How quantities are written, on a terminal, in the window and in reports alike:
//
// - three significant digits; whole numbers and the digits before the point are never rounded away;
// - the unit is the largest in which the value is at least 1 (ns, µs, ms, s; B, KiB, MiB, GiB, TiB);
// - a column has one unit, that of its largest value. A smaller value gets at most three decimals, and
//   `<0.001` where that is not enough: 9 MiB in a column of GiB is 0.009.
//
// Terminals and reports put a comma between thousands, the window a thin space.

/// What a number counts.
enum class Unit { None, Nanoseconds, Milliseconds, Bytes, Operations, Percent, Address };

/// The unit in which numbers are shown.
struct Scale {
    double divisor = 1;      ///< of a number as it is stored
    std::string suffix = {}; ///< ms, GiB, %; empty for plain counts
    bool hexadecimal = false;

    std::string text(double value) const;
    std::string text(std::int64_t value) const;
};

/// The unit of a column whose largest value is `largest`, or of one value.
Scale scaleFor(Unit unit, double largest);

/// A number with its unit, by itself: `1.23 ms`, `4.10 GiB`.
std::string withUnit(double value, Unit unit);

/// Three significant digits, as above; below 0.0001 with an exponent.
std::string threeDigits(double value);

} // namespace tilescope::quantity
