#include "ui/plots/number_text.h"

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

} // namespace

QString threeDigits(double value)
{
    if (std::isnan(value))
        return notMeasured();
    if (value == 0)
        return QStringLiteral("0");
    const double size = std::abs(value);
    // Rounding may carry into the next decade: 9.996 is 10.0.
    int decimals = 2 - int(std::floor(std::log10(size)));
    if (std::round(size * std::pow(10.0, decimals)) >= 1000)
        --decimals;
    const double scale = std::pow(10.0, decimals);
    QString digits = grouped(QString::number(std::round(size * scale) / scale, 'f', std::max(0, decimals)));
    return value < 0 ? kMinus + digits : digits;
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
    const double size = std::abs(nanoseconds);
    if (size < 999.5)
        return {"ns", 1};
    if (size < 999.5e3)
        return {"µs", 1e3};
    if (size < 999.5e6)
        return {"ms", 1e6};
    return {"s", 1e9};
}

Unit byteUnit(double bytes)
{
    const double size = std::abs(bytes);
    if (size < 1024)
        return {"B", 1};
    if (size < 1024.0 * 1024)
        return {"KiB", 1024};
    if (size < 1024.0 * 1024 * 1024 * 10)
        return {"MiB", 1024.0 * 1024};
    return {"GiB", 1024.0 * 1024 * 1024};
}

Unit columnUnit(std::vector<double> values, Unit (*unitOf)(double))
{
    if (values.empty())
        return unitOf(0);
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return unitOf(*middle);
}

QString withUnit(const QString& number, const char* unit)
{
    return number + kThinSpace + QString::fromUtf8(unit);
}

QString timeText(double nanoseconds)
{
    const Unit unit = timeUnit(nanoseconds);
    return withUnit(threeDigits(nanoseconds / unit.size), unit.word);
}

QString signedTimeText(double nanoseconds)
{
    const Unit unit = timeUnit(nanoseconds);
    return nanoseconds == 0 ? QStringLiteral("0")
                            : withUnit(signedDigits(nanoseconds / unit.size), unit.word);
}

QString byteText(double bytes)
{
    const Unit unit = byteUnit(bytes);
    return withUnit(threeDigits(bytes / unit.size), unit.word);
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
