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

/// Statistics of a set of measurements, in the unit of its values.
struct Statistics {
    std::int64_t n = 0;
    double mean = 0;
    std::optional<double> standardDeviation = {}; ///< of the sample (n - 1); none for a single value
    double median = 0;
    double min = 0;
    double max = 0;
    double p95 = 0; ///< linear between order statistics, like numpy's default
    /// The number of independent values whose median is as uncertain: effectiveNumber().
    double effective = 0;
    /// Of the median; none for fewer than kFewestForInterval values, or effective values.
    std::optional<ConfidenceInterval> ci95 = {};
    /// There are too few values to show how they are correlated: the interval holds if they are independent.
    bool assumesIndependence = false;

    bool operator==(const Statistics&) const = default;
};

/// With fewer values, even the range from the smallest to the largest contains the median with less than 95 %
/// probability.
inline constexpr std::int64_t kFewestForInterval = 6;

/// The statistics of `values`; none if there are no values.
///
/// The interval is interpolated between order statistics (Hettmansperger and Sheather, 1986). For independent
/// values of any distribution its coverage is within half a per cent of 95 %. It is an interval of the
/// median, because step times have a long right tail caused by the host. Correlation from value to value widens it:
/// it is that of the effective number of values, and covers 93 to 97 % from kFewestForCorrelation values on.
/// \param values  in the order of time
/// \throws Error  a value is not finite
/// O(n log n)
std::optional<Statistics> summarise(std::span<const double> values);

/// The `fraction` quantile of sorted values, linear between order statistics (type 7 of Hyndman and Fan).
/// \param sorted  ascending, not empty
double quantile(std::span<const double> sorted, double fraction);

/// The arithmetic mean; 0 if there are no values.
double meanOf(std::span<const double> values);

/// The median; for an even number of values the mean of the two middle ones. `values` must not be empty.
/// O(n).
double median(std::span<const double> values);

} // namespace tilescope::analysis
