#include "core/analysis/stats/student_t.h"

#include <cmath>

namespace tilescope::analysis {

namespace {

/// The continued fraction of the incomplete beta function, by Lentz's method (Numerical Recipes, 6.4).
double betaFraction(double a, double b, double x)
{
    constexpr double kTiny = 1e-300;
    const auto nonZero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
    double c = 1;
    double d = 1 / nonZero(1 - (a + b) * x / (a + 1));
    double result = d;
    for (int m = 1; m <= 300; ++m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / nonZero(1 + even * d);
        c = nonZero(1 + even / c);
        result *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / nonZero(1 + odd * d);
        c = nonZero(1 + odd / c);
        const double factor = d * c;
        result *= factor;
        if (std::abs(factor - 1) < 1e-14)
            break;
    }
    return result;
}

double regularizedBeta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    // The fraction converges quickly on one side of its middle only; use symmetry for the other.
    if (x < (a + 1) / (a + b + 2))
        return front * betaFraction(a, b, x) / a;
    return 1 - front * betaFraction(b, a, 1 - x) / b;
}

} // namespace

double studentTwoSided(double t, double dof)
{
    return std::isinf(t) ? 0 : regularizedBeta(dof / 2, 0.5, dof / (dof + t * t));
}

double studentCritical(double alpha, double dof)
{
    double low = 0;
    double high = 1;
    while (studentTwoSided(high, dof) > alpha)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
        const double middle = (low + high) / 2;
        (studentTwoSided(middle, dof) > alpha ? low : high) = middle;
    }
    return high;
}

} // namespace tilescope::analysis
