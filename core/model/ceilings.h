#pragma once

#include "core/model/run.h"

#include <optional>
#include <span>
#include <string_view>

namespace tilescope {

/// The figure among the ceilings of one measurement that tells how long a thread waited for a CPU meanwhile,
/// in % of the time. No rate: it says how far the others can be trusted.
inline constexpr std::string_view kHostWaiting = "host_waiting";

/// From this share of the time on that a thread waits for a CPU, a host counts as busy.
inline constexpr double kBusyHostShare = 0.02;

/// What `all` tells of the host while `one` of them was measured, as a share of the time; none for a file of
/// a program that did not record it.
std::optional<double> hostWaitingAt(std::span<const Ceiling> all, const Ceiling& one);

/// Whether it is known that other programs took CPUs away while it was measured.
bool isFromBusyHost(std::span<const Ceiling> all, const Ceiling& one);

} // namespace tilescope
