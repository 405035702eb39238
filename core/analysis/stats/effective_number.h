#pragma once

#include <cstddef>
#include <span>

namespace tilescope::analysis {

/// The fewest values in time order that show their correlation well enough for an interval to follow from it.
inline constexpr std::size_t kFewestForCorrelation = 300;

/// The number of independent values whose median is as uncertain as that of these values, which may be correlated from
/// one to the next.
///
/// An autoregressive model of the ranks, which outliers of a busy host do not hide (Burg's method, order by the
/// corrected criterion of Hurvich and Tsai, 1989; coefficients corrected for the bias of short series after Kendall,
/// 1954), gives the autocorrelations. The uncertainty of a median depends on those of the signs about it, which for
/// normal values follow by the arcsine law. Fewer than kFewestForCorrelation values count as independent unless their
/// first autocorrelation is significant at 1 %.
/// \param series  in the order of time
/// \return        1 to four times the number of values; the number itself for fewer than six
/// O(n log n).
double effectiveNumber(std::span<const double> series);

} // namespace tilescope::analysis
