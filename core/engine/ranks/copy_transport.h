#pragma once

#include "core/model/rank_seat.h"

#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <string>

namespace tilescope::engine {

class Board;
class Transport;

/// Moves data between the GPUs of one host without NCCL, whose kernels take multiprocessors from the products that run
/// beside them. Copy engines move what need not be added up, and a kernel of few thread blocks reads what must from the
/// memory of the other GPUs. Sums are in the order of the ranks, the same bits on each of them.
///
/// At each collective the ranks tell each other at the board where their tensors are, so a rank waits on the host until
/// all others have reached it too.
///
/// Returns when all ranks have called it.
/// \param needsNvlink  whether GPUs that reach each other otherwise do not count
/// \param why  if it is not possible for one of the ranks, which returns null on all of them
/// \throws LostRank  like Board::meet()
std::unique_ptr<Transport> connectByCopies(const RankSeat& seat, Board& board, c10::Device device,
                                           c10::cuda::CUDAStream stream, bool needsNvlink, std::string& why);

} // namespace tilescope::engine
