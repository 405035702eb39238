#pragma once

#include "core/model/rank_seat.h"

#include <memory>

namespace tilescope::engine {

class Device;
class Ranks;

/// Joins ranks that are processes with a GPU each and communicate through NCCL. Returns when all ranks of
/// the meeting have joined. Collectives run on a stream of high priority. The ranks also meet at a Board:
/// to begin, at barriers, and to find out which rank does not take part in a collective.
/// \param device  of this rank; the current one of each thread that calls the ranks
/// \throws LostRank     a rank has ended or does not join in time
/// \throws Unsupported  there is no NCCL
/// \throws Error (Environment)  the ranks cannot meet, or NCCL cannot connect the GPUs
std::unique_ptr<Ranks> joinThroughNccl(const RankSeat& seat, const Device& device);

} // namespace tilescope::engine
