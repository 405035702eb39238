#include "ui/kit/time_axis.h"

#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

double roundStep(double step)
{
    const double decade = std::pow(10.0, std::floor(std::log10(step)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (decade * factor >= step * (1 - 1e-9))
            return decade * factor;
    return decade * 10;
}

QString tickText(double tick)
{
    constexpr int kExactDigits = 12; // of a double's 16: the rest may be rounding errors
    if (std::abs(tick) < 1e-12)
        return QStringLiteral("0");
    const int before = int(std::floor(std::log10(std::abs(tick)))) + 1;
    QString digits = QString::number(std::abs(tick), 'f', std::clamp(kExactDigits - before, 0, 18));
    if (digits.contains(QLatin1Char('.'))) {
        while (digits.endsWith(QLatin1Char('0')))
            digits.chop(1);
        if (digits.endsWith(QLatin1Char('.')))
            digits.chop(1);
    }
    const qsizetype point = digits.indexOf(QLatin1Char('.'));
    const QString fraction = point < 0 ? QString() : digits.mid(point);
    const QString text = wholeNumber((point < 0 ? digits : digits.left(point)).toLongLong()) + fraction;
    return tick < 0 ? QChar(0x2212) + text : text;
}

TimeWindow TimeWindow::zoomed(double factor, double fixed) const
{
    return {fixed - (fixed - from) * factor, fixed + (to - fixed) * factor};
}

TimeWindow TimeWindow::within(const TimeWindow& bounds, double shortest) const
{
    TimeWindow result = *this;
    const double longest = bounds.length() * 1.5;
    if (const double length = std::clamp(result.length(), shortest, std::max(shortest, longest));
        length != result.length()) {
        const double centre = (result.from + result.to) / 2;
        result = {centre - length / 2, centre + length / 2};
    }
    const double slack = result.length() / 2;
    if (result.from < bounds.from - slack)
        result = result.panned(bounds.from - slack - result.from);
    if (result.to > bounds.to + slack)
        result = result.panned(bounds.to + slack - result.to);
    return result;
}

std::vector<Tick> timeTicks(const TimeWindow& window, double pixels, double spacing)
{
    std::vector<Tick> ticks;
    if (pixels <= 0 || window.length() <= 0)
        return ticks;
    const double step = std::max(1.0, roundStep(window.length() / pixels * spacing));
    const Unit unit = timeUnit(std::max({std::abs(window.from), std::abs(window.to), step}));
    const int decimals = std::max(0, int(std::ceil(-std::log10(step / unit.divisor) - 1e-9)));
    const double first = std::ceil(window.from / step) * step;
    for (double i = 0; first + i * step <= window.to; ++i) {
        const double at = first + i * step;
        QString label = QString::number(std::abs(at) / unit.divisor, 'f', decimals);
        if (at < 0)
            label.prepend(QChar(0x2212));
        ticks.push_back({at, label});
    }
    if (!ticks.empty())
        ticks.back().label = withUnit(ticks.back().label, unit.suffix);
    return ticks;
}

std::vector<double> roundSteps(double from, double to, int count)
{
    std::vector<double> steps;
    if (!(to > from) || count < 1)
        return steps;
    const double step = roundStep((to - from) / count);
    for (double i = std::ceil(from / step - 1e-9); i * step <= to * (1 + 1e-12); ++i)
        steps.push_back(i * step);
    return steps;
}

} // namespace tilescope::ui
