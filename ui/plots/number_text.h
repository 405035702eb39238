#pragma once

#include <QString>

#include <cstdint>
#include <vector>

namespace tilescope::ui {

/// Three significant digits without an exponent: 0.0171, 9.81, 561, 1080, 17 600; thousands apart by a thin
/// space from 10 000 on. A minus sign is U+2212.
QString threeDigits(double value);

/// A whole number with thin spaces between thousands.
QString wholeNumber(std::int64_t value);

/// With sign, for differences: −1.08, +3.40, 0.
QString signedDigits(double value);

/// A unit that a column or an axis shares, and what one of it is in nanoseconds or bytes.
struct Unit {
    const char* word;
    double size;
};
Unit timeUnit(double nanoseconds); ///< ns, µs, ms, s: the largest not above the value
Unit byteUnit(double bytes);       ///< B, KiB, MiB, GiB

/// The unit in which most of a column's values read well: that of its median.
Unit columnUnit(std::vector<double> values, Unit (*unitOf)(double));

/// "13.8 µs" with a thin space, three digits.
QString timeText(double nanoseconds);
QString signedTimeText(double nanoseconds);
QString byteText(double bytes);
QString percentText(double share); ///< 0.312 is "31.2 %"

/// Exact, for hover and copy: 13 792 ns.
QString exactTime(std::int64_t nanoseconds);

/// Number and unit word with the thin space between them.
QString withUnit(const QString& number, const char* unit);

/// En dash: what was not measured.
QString notMeasured();

} // namespace tilescope::ui
