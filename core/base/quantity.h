#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tilescope::quantity {

// How the terminal, the window and reports write quantities:
//
// - three significant digits; digits before the point are never rounded away
// - the largest unit in which the value is at least 1 (ns, µs, ms, s; B, KiB, MiB, GiB, TiB)
// - one unit per column, that of its largest value; smaller values get at most three decimals, or `<0.001`;
//   9 MiB in a column of GiB is 0.009
//
// Terminals and reports separate thousands with a comma, the window with a thin space.

/// What a number measures.
enum class Unit {
    None,
    Nanoseconds,
    Milliseconds,
    Bytes,
    Operations, ///< any count
    Flops,
    FlopsPerSecond,
    BytesPerSecond,
    Percent,
    Address
};

/// The unit in which numbers are shown.
struct Scale {
    double divisor = 1;      ///< number as stored / number as shown
    std::string suffix = {}; ///< ms, GiB, %; empty for plain counts
    bool hexadecimal = false;

    std::string text(double value) const;
    std::string text(std::int64_t value) const;
};

/// The scale of a column with the largest value `largest`, or of a single value.
Scale scaleFor(Unit unit, double largest);

/// The scale of columns whose values are compared: that of the largest, or the next smaller unit if some column
/// would have only values below 0.1. 1,234 and 1,235 ms differ by 0.312 ms.
/// \param largest  of each column; 0: the column has no values
Scale commonScale(Unit unit, std::span<const double> largest);

/// One number with its unit: `1.23 ms`, `4.10 GiB`.
std::string withUnit(double value, Unit unit);

/// Three significant digits as described above; below 0.0001 with an exponent.
std::string threeDigits(double value);

} // namespace tilescope::quantity
