#pragma once

namespace tilescope {

/// Counters of a recorded program and the processes that it started, as percentages of the time: processor time of all
/// threads, of the thread that had most of it since the reading before, and the longest wait for a core among the threads
/// that ran a tenth as long as that one.
inline constexpr const char* kCpuUseCounter = "CPU use";
inline constexpr const char* kOneThreadCounter = "CPU use of one thread";
inline constexpr const char* kWaitingCounter = "Waiting for a core";

} // namespace tilescope
