#include "core/analysis/stats/effective_number.h"

#include "core/analysis/stats/ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kFewestRanks = 6;
constexpr std::size_t kLeastOrder = 2;
constexpr std::size_t kMostOrder = 8;
constexpr double kNearlyConstant = 0.999;

/// Coefficients of an autoregressive model: x(t) = sum of a[i] x(t - 1 - i) + noise.
using Coefficients = std::vector<double>;

/// The model of the next higher order, whose last coefficient is `last` (Levinson's recursion).
Coefficients extended(const Coefficients& model, double last)
{
    Coefficients next(model);
    for (std::size_t i = 0; i < model.size(); ++i)
        next[i] -= last * model[model.size() - 1 - i];
    next.push_back(last);
    return next;
}

/// The model with the least corrected information criterion, by Burg's method.
Coefficients burgModel(const std::vector<double>& x)
{
    const std::size_t n = x.size();
    const auto count = static_cast<double>(n);
    std::vector<double> forward(x);
    std::vector<double> backward(x);
    Coefficients model;
    Coefficients best;
    double least = 0;
    double error = 1; // relative to the variance
    for (std::size_t order = 1; order <= std::clamp(n / 10, kLeastOrder, kMostOrder) && order + 2 < n;
         ++order) {
        double product = 0;
        double power = 0;
        for (std::size_t t = order; t < n; ++t) {
            product += forward[t] * backward[t - 1];
            power += forward[t] * forward[t] + backward[t - 1] * backward[t - 1];
        }
        const double reflection = power > 0 ? 2 * product / power : 0;
        model = extended(model, reflection);
        error *= 1 - reflection * reflection;
        if (error <= 0)
            return model;
        for (std::size_t t = n - 1; t >= order; --t) {
            const double ahead = forward[t];
            forward[t] = ahead - reflection * backward[t - 1];
            backward[t] = backward[t - 1] - reflection * ahead;
        }
        const auto used = static_cast<double>(order);
        const double criterion = count * std::log(error) + 2 * used * count / (count - used - 2);
        if (order <= kLeastOrder || criterion < least) {
            best = model;
            least = criterion;
        }
    }
    return best;
}

/// The reflection coefficients of a model; empty if it is not stationary.
std::vector<double> reflectionsOf(Coefficients model)
{
    std::vector<double> reflections(model.size());
    for (std::size_t order = model.size(); order > 0; --order) {
        const double last = model[order - 1];
        if (std::abs(last) >= kNearlyConstant)
            return {};
        reflections[order - 1] = last;
        Coefficients lower(order - 1);
        for (std::size_t i = 0; i + 1 < order; ++i)
            lower[i] = (model[i] + last * model[order - 2 - i]) / (1 - last * last);
        model = std::move(lower);
    }
    return reflections;
}

/// Autocorrelations of a model from lag 0 to `most`; empty if it is not stationary.
std::vector<double> autocorrelationsOf(const Coefficients& model, std::size_t most)
{
    const std::vector<double> reflections = reflectionsOf(model);
    if (reflections.size() != model.size())
        return {};
    std::vector<double> correlations{1};
    Coefficients lower;
    double error = 1;
    for (std::size_t lag = 1; lag <= most; ++lag) {
        double correlation = 0;
        if (lag <= reflections.size()) {
            correlation = reflections[lag - 1] * error;
            for (std::size_t i = 0; i < lower.size(); ++i)
                correlation += lower[i] * correlations[lag - 1 - i];
            error *= 1 - reflections[lag - 1] * reflections[lag - 1];
            lower = extended(lower, reflections[lag - 1]);
        } else {
            for (std::size_t i = 0; i < model.size(); ++i)
                correlation += model[i] * correlations[lag - 1 - i];
        }
        correlations.push_back(correlation);
    }
    return correlations;
}

/// The correlation of the signs of two normal values whose ranks have this correlation.
double correlationOfSigns(double ofRanks)
{
    const double ofValues = std::clamp(2 * std::sin(M_PI / 6 * std::clamp(ofRanks, -1.0, 1.0)), -1.0, 1.0);
    return 2 / M_PI * std::asin(ofValues);
}

double firstAutocorrelation(const std::vector<double>& x)
{
    double product = 0;
    double power = 0;
    for (std::size_t t = 0; t < x.size(); ++t) {
        power += x[t] * x[t];
        product += t > 0 ? x[t] * x[t - 1] : 0;
    }
    return power > 0 ? product / power : 0;
}

} // namespace

double effectiveNumber(std::span<const double> series)
{
    constexpr double kOnePerCent = 2.326; // of a standard normal value, from above
    constexpr double kMostGain = 4;       // alternating steps are not trusted further
    constexpr std::size_t kMostLags = 2000;
    constexpr double kBias =
        3; // three times Kendall's: an underestimate makes an interval wrong, an overestimate wide
    const std::size_t n = series.size();
    const auto count = static_cast<double>(n);
    if (n < kFewestRanks)
        return count;
    std::vector<double> x = ranksOf(series);
    for (double& rank : x)
        rank -= (count + 1) / 2;
    const bool isLong = n >= kFewestForCorrelation;
    if (!isLong && firstAutocorrelation(x) < kOnePerCent / std::sqrt(count))
        return count;
    Coefficients model = burgModel(x);
    if (model.empty())
        return 1;
    const double sum = std::accumulate(model.begin(), model.end(), 0.0);
    model.front() += std::min(0.99, sum + kBias * (1 + 3 * sum) / count) - sum;
    const std::vector<double> correlations = autocorrelationsOf(model, std::min(n - 1, kMostLags));
    if (correlations.empty())
        return 1;
    double factor = 1;
    for (std::size_t lag = 1; lag < correlations.size(); ++lag)
        factor += 2 * correlationOfSigns(correlations[lag]);
    return std::clamp(count / std::max(factor, 1 / kMostGain), 1.0, isLong ? kMostGain * count : count);
}

} // namespace tilescope::analysis
