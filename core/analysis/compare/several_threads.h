#pragma once

namespace tilescope::analysis {

/// TimedRun::threads of a recorded program that computes its steps by several threads on a CPU. Where they wait for each
/// other, one that waits for a core can hold up all of them in every step of a run, or in none: to the deviation between
/// such runs 0.50 times the logarithm of the factor is added by which waiting made them longer, or 0.20 times with five
/// repeats of each.
inline constexpr int kSeveralThreads = -1;

} // namespace tilescope::analysis
