#pragma once

#include "core/analysis/stats/statistics.h"

#include <QString>

namespace tilescope::ui {

/// The 95 % interval of a step time's median with the number of steps, in the unit of the median: "117 to 122
/// (10)"; "n 3" below six steps, which have no interval.
/// \param ms  in milliseconds
QString intervalWords(const analysis::Statistics& ms);

/// The interval alone, for narrow places: "117–122"; "n 3" below six steps.
QString shortInterval(const analysis::Statistics& ms);

/// The median with its interval: "119 ms, 117 to 122 (10)".
QString medianWords(const analysis::Statistics& ms);

} // namespace tilescope::ui
