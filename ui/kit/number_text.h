#pragma once

#include "core/base/quantity.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace tilescope::ui {

// Numbers read as on the command line and in reports, by the rule of core/base/quantity.h; only the
// characters differ: thin spaces between thousands from 10 000 on and before the unit, U+2212 for minus.

/// Three significant digits: 0.0171, 9.81, 561, 1080, 17 600.
QString threeDigits(double value);

/// A whole number with thin spaces between thousands.
QString wholeNumber(std::int64_t value);

/// A difference with its sign: −1.08, +3.40, 0.
QString signedDigits(double value);

/// A unit that a column or an axis shares.
using Unit = quantity::Scale;
Unit timeUnit(double nanoseconds); ///< ns, µs, ms, s: the largest not above the value
Unit byteUnit(double bytes);       ///< B, KiB, MiB, GiB, TiB

/// The unit of a column: that of its largest value.
Unit columnUnit(const std::vector<double>& values, Unit (*unitOf)(double));
/// The unit of an axis whose values may span several units: that of the median value.
Unit axisUnit(std::vector<double> values, Unit (*unitOf)(double));

/// A value in the unit of its column: at most three decimals, <0.001 for less.
QString columnDigits(double value, const Unit& unit);
QString signedColumnDigits(double value, const Unit& unit);

/// "13.8 µs" with a thin space, three digits.
QString quantityText(double value, quantity::Unit quantity);
QString timeText(double nanoseconds);
QString signedTimeText(double nanoseconds);
QString byteText(double bytes);
QString percentText(double share); ///< 0.312 is "31.2 %"

/// Exact, for hover and copy: 13 792 ns.
QString exactTime(std::int64_t nanoseconds);

/// The exact number of bytes: 1 073 741 824 B.
QString exactBytes(std::int64_t bytes);

/// Number and unit word with the thin space between them.
QString withUnit(const QString& number, const std::string& unit);

/// En dash: not measured.
QString notMeasured();

} // namespace tilescope::ui
