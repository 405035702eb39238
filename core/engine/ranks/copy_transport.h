#pragma once

#include "core/model/rank_info.h"

#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <string>

namespace tilescope::engine {

class Board;
class Transport;

/// Moves data between the GPUs of one host without NCCL, whose kernels take multiprocessors from concurrent
/// products. Copy engines move data that is only copied. Data to be added up is read from the memory of the other
/// GPUs by a kernel of few thread blocks. Sums are formed in the order of the ranks, so all ranks get the same bits.
///
/// At each collective, the ranks exchange the addresses of their tensors through the board. So a rank waits
/// on the host until all others have reached the collective, too.
///
/// Returns when all ranks have called it.
/// \param needsNvlink  whether GPUs must be connected by NVLink
/// \param why          set to the reason if one of the ranks cannot connect; all ranks then return null
/// \throws LostRank  like Board::meet()
std::unique_ptr<Transport> connectByCopies(const RankInfo& rankInfo, Board& board, c10::Device device,
                                           c10::cuda::CUDAStream stream, bool needsNvlink, std::string& why);

} // namespace tilescope::engine
