#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilescope {

/// The rates of a collective in 10^9 bytes per second, as nccl-tests defines them (its doc/PERFORMANCE.md).
/// Algorithm bandwidth is the size of the operation divided by its time. Bus bandwidth is algorithm bandwidth
/// times a factor that makes it comparable to the bandwidth of the link for any number of ranks n.
///
/// | op | size | factor |
/// |---|---|---|
/// | all_reduce | message of a rank | 2 (n - 1) / n |
/// | all_gather | n x what a rank contributes | (n - 1) / n |
/// | reduce_scatter | what a rank contributes, n shards | (n - 1) / n |
/// | all_to_all | what a rank sends | (n - 1) / n |
/// | broadcast, reduce | message of a rank | 1 |
struct Bandwidth {
    double algorithm = 0;
    double bus = 0;
};

/// \param op     all_reduce, …
/// \param bytes  what one rank contributes
/// \param ranks  size of the group
/// \param time   transfer time
/// \return       none for other ops, and where a figure is not positive
std::optional<Bandwidth> bandwidthOf(std::string_view op, std::int64_t bytes, std::int32_t ranks,
                                     Nanoseconds time);

} // namespace tilescope
