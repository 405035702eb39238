#include "ui/kit/number_text.h"

#include "core/base/quantity.h"

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

/// As the command line writes a number, but with the window's signs.
QString inTheWindow(const std::string& text)
{
    QString digits = QString::fromStdString(text).remove(QLatin1Char(','));
    const bool negative = digits.startsWith(QLatin1Char('-'));
    digits = grouped(negative ? digits.mid(1) : digits);
    digits.replace(QLatin1Char('-'), kMinus);
    return negative ? kMinus + digits : digits;
}

/// The unit's word for as long as the program runs.
Unit unitFrom(const quantity::Scale& scale)
{
    static constexpr const char* kWords[] = {"ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB"};
    const auto* word = std::find_if(std::begin(kWords), std::end(kWords),
                                    [&scale](const char* each) { return scale.suffix == each; });
    return {word == std::end(kWords) ? "" : *word, scale.divisor};
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
    return unitFrom(quantity::scaleFor(quantity::Unit::Nanoseconds, std::abs(nanoseconds)));
}

Unit byteUnit(double bytes)
{
    return unitFrom(quantity::scaleFor(quantity::Unit::Bytes, std::abs(bytes)));
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
    return std::isnan(value) ? notMeasured() : inTheWindow(quantity::Scale{unit.size, unit.word}.text(value));
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

QString withUnit(const QString& number, const char* unit)
{
    return number + kThinSpace + QString::fromUtf8(unit);
}

QString timeText(double nanoseconds)
{
    const Unit unit = timeUnit(nanoseconds);
    return withUnit(columnDigits(nanoseconds, unit), unit.word);
}

QString signedTimeText(double nanoseconds)
{
    const Unit unit = timeUnit(nanoseconds);
    return nanoseconds == 0 ? QStringLiteral("0")
                            : withUnit(signedColumnDigits(nanoseconds, unit), unit.word);
}

QString byteText(double bytes)
{
    const Unit unit = byteUnit(bytes);
    return withUnit(columnDigits(bytes, unit), unit.word);
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
