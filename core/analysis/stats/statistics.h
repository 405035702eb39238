#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tilescope::analysis {

struct ConfidenceInterval {
    double low = 0;
    double high = 0;

    bool operator==(const ConfidenceInterval&) const = default;
};

/// What a set of measurements says, in the unit of its values.
struct Statistics {
    std::int64_t n = 0;
    double mean = 0;
    std::optional<double> standardDeviation = {}; ///< of the sample (n - 1); none for one value
    double median = 0;
    double min = 0;
    double max = 0;
    double p95 = 0;                              ///< linear between order statistics, as numpy's default
    std::optional<ConfidenceInterval> ci95 = {}; ///< of the median; none below kFewestForInterval values

    bool operator==(const Statistics&) const = default;
};

/// The smallest and the largest of fewer values do not hold the median with a probability of 95 %.
inline constexpr std::int64_t kFewestForInterval = 6;

/// The statistics of `values`; none where there are none.
///
/// The interval lies between order statistics, interpolated to 95 % (Hettmansperger and Sheather, 1986): it
/// covers the median of independent values of any distribution with a probability within half a per cent of
/// that. Medians, because step times have a long right tail that is the host's, not the program's.
/// \throws Error  if a value is not finite
/// O(n log n)
std::optional<Statistics> summarise(std::span<const double> values);

/// The `fraction` quantile of sorted values, linear between order statistics (type 7 of Hyndman and Fan).
/// \param sorted  ascending, not empty
double quantile(std::span<const double> sorted, double fraction);

/// The median; the mean of the two middle values where their number is even. `values` not empty. O(n).
double median(std::span<const double> values);

} // namespace tilescope::analysis
