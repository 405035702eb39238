#pragma once

#include "core/model/rank_seat.h"

#include <memory>

namespace tilescope::engine {

class Ranks;

/// Joins ranks that are processes of one host and communicate through POSIX shared memory; their tensors are
/// on the CPU. Returns when all ranks of the meeting have joined. Sums are in the order of the ranks; types: f32 and f64.
/// \throws LostRank  a rank has ended or does not join in time
/// \throws Error (Environment)  there is no shared memory
std::unique_ptr<Ranks> joinThroughSharedMemory(const RankSeat& seat);

} // namespace tilescope::engine
