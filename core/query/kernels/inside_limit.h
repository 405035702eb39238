#pragma once

#include "core/query/kernels/inside_table.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// What limits a kernel, by its samples.
struct InsideLimit {
    double issued = 0;       ///< share of the samples at which the scheduler issued an instruction
    std::string reason = {}; ///< the stall by which the most issue slots stay empty; empty: none
    double share = 0;        ///< of the kernel's samples in that state
    double empty = 0;        ///< of the kernel's samples: in that state, and nothing was issued
};

/// \param kernel   full name
/// \param reasons  of all kernels, by reason
/// \return         none: the kernel has no samples
std::optional<InsideLimit> insideLimit(const InsideTable& reasons, const std::string& kernel);

/// The limit in words: "In 21.4 % of the samples the warp waits at a barrier. 73.2 % of the issue slots are used; 9.4 % stay
/// empty because of it, and the tensor pipe is active 39.0 % of the time."
/// \param tensorActive  percent, by metrics; none: not sampled
std::string limitSentence(const InsideLimit& limit, std::optional<double> tensorActive);

} // namespace tilescope::query
