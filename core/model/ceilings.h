#pragma once

#include "core/model/run.h"

#include <optional>
#include <span>
#include <string_view>

namespace tilescope {

/// The kind of ceiling that records how long a thread waited for a CPU during a measurement, in % of the
/// time. It is not a rate; it indicates how reliable the others are.
inline constexpr std::string_view kHostWaiting = "host_waiting";

/// Bytes per second that a GPU sends to another: copied in a measurement, and of its NVLinks by NVML.
inline constexpr std::string_view kPeerCopy = "peer_copy";
inline constexpr std::string_view kNvlink = "nvlink";

/// From this share of the time on that a thread waits for a CPU, a host counts as busy.
inline constexpr double kBusyHostShare = 0.02;

/// The host waiting among `all` that belongs to the measurement of `one`, as a share of the time; none if the
/// program did not record it.
std::optional<double> hostWaitingAt(std::span<const Ceiling> all, const Ceiling& one);

/// Whether it is known that other programs took CPUs away while it was measured.
bool isFromBusyHost(std::span<const Ceiling> all, const Ceiling& one);

} // namespace tilescope
