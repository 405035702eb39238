#pragma once

#include "core/model/rank_info.h"

#include <c10/cuda/CUDAStream.h>

#include <memory>

namespace tilescope::engine {

class Board;
class Transport;

/// Connects GPUs of one host or several through NCCL. Returns when all ranks have called it.
/// \throws Unsupported          there is no NCCL
/// \throws LostRank             like Board::meet()
/// \throws Error (Environment)  NCCL cannot connect the GPUs
std::unique_ptr<Transport> connectByNccl(const RankInfo& rankInfo, Board& board,
                                         c10::cuda::CUDAStream stream);

} // namespace tilescope::engine
