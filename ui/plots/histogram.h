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

} // namespace tilescope::ui
