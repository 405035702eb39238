#pragma once

#include "core/model/rank_info.h"

#include <memory>

namespace tilescope::engine {

class Device;
class Ranks;

/// What moves the data of collectives between GPUs.
enum class CollectiveMeans {
    Auto, ///< Copies if all ranks are on one host and connected by NVLink; otherwise NCCL
    Nccl,
    Copies, ///< copy engines, and kernels that read the memory of other GPUs
};

/// The value of the environment variable TILESCOPE_COLLECTIVES: auto, nccl or copy.
/// \throws Error  the variable has another value
CollectiveMeans chosenMeans();

/// Joins ranks that are processes with a GPU each. Returns when all ranks of the group have joined. Collectives run on
/// a stream of high priority. The ranks also use a Board: to begin, for barriers, and to find out which rank
/// does not take part in a collective.
/// \param device  the GPU of this rank; must be the current device of each thread that calls the ranks
/// \throws LostRank     a rank has ended or does not join in time
/// \throws Unsupported  there is no NCCL, or `means` is Copies and the GPUs cannot access each other
/// \throws Error (Environment)  the ranks cannot meet, or NCCL cannot connect the GPUs
std::unique_ptr<Ranks> joinOnGpus(const RankInfo& rankInfo, const Device& device, CollectiveMeans means);

} // namespace tilescope::engine
