#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr QChar kThinSpace(0x2009);
constexpr QChar kMinus(0x2212);

QString grouped(QString digits)
{
    const auto point = digits.indexOf(QLatin1Char('.'));
    const auto whole = point < 0 ? digits.size() : point;
    if (whole < 5)
        return digits;
    for (auto at = whole - 3; at > 0; at -= 3)
        digits.insert(at, kThinSpace);
    return digits;
}

/// The command line's notation of a number, with the signs of the window.
QString inTheWindow(const std::string& text)
{
    QString digits = QString::fromStdString(text).remove(QLatin1Char(','));
    const bool negative = digits.startsWith(QLatin1Char('-'));
    digits = grouped(negative ? digits.mid(1) : digits);
    digits.replace(QLatin1Char('-'), kMinus);
    return negative ? kMinus + digits : digits;
}

} // namespace

QString threeDigits(double value)
{
    return std::isnan(value) ? notMeasured() : inTheWindow(quantity::threeDigits(value));
}

QString wholeNumber(std::int64_t value)
{
    const QString digits = grouped(QString::number(value < 0 ? -value : value));
    return value < 0 ? kMinus + digits : digits;
}

QString signedDigits(double value)
{
    const QString digits = threeDigits(value);
    return value > 0 ? QLatin1Char('+') + digits : digits;
}

Unit timeUnit(double nanoseconds)
{
    return quantity::scaleFor(quantity::Unit::Nanoseconds, std::abs(nanoseconds));
}

Unit byteUnit(double bytes)
{
    return quantity::scaleFor(quantity::Unit::Bytes, std::abs(bytes));
}

Unit columnUnit(const std::vector<double>& values, Unit (*unitOf)(double))
{
    double largest = 0;
    for (const double value : values)
        largest = std::max(largest, std::abs(value));
    return unitOf(largest);
}

Unit axisUnit(std::vector<double> values, Unit (*unitOf)(double))
{
    if (values.empty())
        return unitOf(0);
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return unitOf(*middle);
}

QString columnDigits(double value, const Unit& unit)
{
    return std::isnan(value) ? notMeasured() : inTheWindow(unit.text(value));
}

QString signedColumnDigits(double value, const Unit& unit)
{
    const QString digits = columnDigits(value, unit);
    return value > 0 ? QLatin1Char('+') + digits : digits;
}

QString exactBytes(std::int64_t bytes)
{
    return withUnit(wholeNumber(bytes), "B");
}

QString withUnit(const QString& number, const std::string& unit)
{
    return number + kThinSpace + QString::fromStdString(unit);
}

QString quantityText(double value, quantity::Unit quantity)
{
    const Unit unit = quantity::scaleFor(quantity, std::abs(value));
    return withUnit(columnDigits(value, unit), unit.suffix);
}

QString timeText(double nanoseconds)
{
    return quantityText(nanoseconds, quantity::Unit::Nanoseconds);
}

QString signedTimeText(double nanoseconds)
{
    const Unit unit = timeUnit(nanoseconds);
    return nanoseconds == 0 ? QStringLiteral("0")
                            : withUnit(signedColumnDigits(nanoseconds, unit), unit.suffix);
}

QString byteText(double bytes)
{
    return quantityText(bytes, quantity::Unit::Bytes);
}

QString percentText(double share)
{
    return withUnit(threeDigits(share * 100), "%");
}

QString exactTime(std::int64_t nanoseconds)
{
    return withUnit(wholeNumber(nanoseconds), "ns");
}

QString notMeasured()
{
    return QStringLiteral("–");
}

} // namespace tilescope::ui
