#pragma once

#include <cstdint>
#include <vector>

namespace tilescope::ui {

/// Counts of values in bins of one width.
struct Histogram {
    double from = 0;  ///< left edge of the first bin
    double width = 1; ///< of a bin
    std::vector<std::int64_t> counts;
};

/// Bins at round widths (1, 2, 5 times a power of ten), about `bins` of them, that hold every value.
Histogram histogramOf(const std::vector<std::int64_t>& values, int bins);

/// The data of a histogram of durations.
struct Durations {
    Histogram histogram; ///< empty without values
    double mean = 0;
    double median = 0;
};

/// Sums up lengths in nanoseconds, given in any order. O(n).
Durations durationsOf(std::vector<std::int64_t> lengths);

} // namespace tilescope::ui
