#pragma once

#include "core/model/rank_info.h"

#include <memory>

namespace tilescope::engine {

class Ranks;

/// Joins ranks whose tensors are on the CPU. They communicate through a Board: through shared memory on one
/// host, through the hub on several, with the same results. Returns when all ranks of the group have
/// joined. Sums are formed in the order of the ranks. Elements must be floating-point numbers.
/// \throws LostRank  a rank has ended or does not join in time
/// \throws Error (Environment)  there is no shared memory, or the hub cannot be reached
std::unique_ptr<Ranks> joinOnCpu(const RankInfo& rankInfo);

} // namespace tilescope::engine
