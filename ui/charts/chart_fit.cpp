// The laws that the points of a chart follow.

#include "ui/charts/chart_recipe.h"
#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

double ChartFit::at(double x) const
{
    return c * std::pow(x, exponent);
}

QString ChartFit::formula(const QString& x, const QString& unit) const
{
    static const QString kSuper = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    const auto raised = [](int number) {
        QString text = number < 0 ? QStringLiteral("⁻") : QString();
        for (const QChar digit : QString::number(std::abs(number)))
            text += kSuper[digit.digitValue()];
        return text;
    };
    const int power = c > 0 ? int(std::floor(std::log10(c))) : 0;
    QString text = power > -3 && power < 4
                       ? threeDigits(c)
                       : QStringLiteral("%1·10%2").arg(threeDigits(c / std::pow(10, power)), raised(power));
    text += QLatin1Char(' ') + x;
    const bool whole = std::abs(exponent - std::round(exponent)) < 1e-9;
    if (whole && exponent != 1)
        text += raised(int(std::lround(exponent)));
    else if (!whole)
        text += QStringLiteral("^%1").arg(threeDigits(exponent));
    return text + QLatin1Char(' ') + unit;
}

std::optional<ChartFit> fitOf(const std::vector<ChartPoint>& points, ChartRecipe::Fit kind)
{
    const std::size_t tail = std::max<std::size_t>(2, (points.size() + 1) / 2);
    if (kind == ChartRecipe::Fit::None || points.size() < 2)
        return {};
    std::vector<std::pair<double, double>> logs;
    for (std::size_t i = points.size() - tail; i < points.size(); ++i)
        if (points[i].x > 0 && points[i].y > 0)
            logs.emplace_back(std::log(points[i].x), std::log(points[i].y));
    if (logs.size() < 2)
        return {};
    double meanX = 0;
    double meanY = 0;
    for (const auto& [x, y] : logs) {
        meanX += x / double(logs.size());
        meanY += y / double(logs.size());
    }
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (const auto& [x, y] : logs) {
        xx += (x - meanX) * (x - meanX);
        xy += (x - meanX) * (y - meanY);
        yy += (y - meanY) * (y - meanY);
    }
    ChartFit fit;
    fit.fromX = points[points.size() - tail].x;
    fit.exponent = kind == ChartRecipe::Fit::Linear      ? 1
                   : kind == ChartRecipe::Fit::Quadratic ? 2
                   : xx > 0                              ? xy / xx
                                                         : 1;
    fit.c = std::exp(meanY - fit.exponent * meanX);
    double residual = 0;
    for (const auto& [x, y] : logs)
        residual += std::pow(y - std::log(fit.at(std::exp(x))), 2);
    constexpr double kExact = 1e-12; // points on a horizontal line have no variance to explain
    fit.r2 = yy > kExact ? 1 - residual / yy : residual > kExact ? 0 : 1;
    if (fit.r2 < kLeastR2)
        return {};
    // A standard error on the logarithm is a share of c. With the exponent free, it is that of c at the
    // middle.
    const auto n = double(logs.size());
    const double freedom = n - (kind == ChartRecipe::Fit::Power ? 2 : 1);
    if (freedom > 0)
        fit.spread = std::sqrt(residual / freedom / n);
    return fit;
}

} // namespace tilescope::ui
