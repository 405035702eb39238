#pragma once

namespace tilescope {

/// Counters of a recorded program and the processes that it started, as percentages of the time: processor time of all
/// threads, of the thread that had most of it since the reading before, and, of the threads that ran a tenth as long as that one,
/// the longest wait for a core, and the time in which at least one of them waited, if they waited independently.
inline constexpr const char* kCpuUseCounter = "CPU use";
inline constexpr const char* kOneThreadCounter = "CPU use of one thread";
inline constexpr const char* kWaitingCounter = "Waiting for a core";
inline constexpr const char* kSomeWaitingCounter = "Some thread waiting for a core";

} // namespace tilescope
