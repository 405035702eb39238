#pragma once

#include <string>
#include <string_view>

namespace tilescope::exchange {

/// The facts in the name of a kernel or call of a library for communication. Views point into the name or are literals.
struct CollectiveName {
    std::string_view op = {};    ///< all_reduce; empty if the name has none
    std::string_view dtype = {}; ///< f32, bf16, …; empty if the name has none
};

/// Whether a kernel is a collective: of NCCL or RCCL, `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`, or one that
/// another library communicates with, `vllm::cross_device_reduce_1stage<…>(…)`. O(length).
bool isCollectiveKernel(std::string_view name);

/// Whether such a kernel cannot end on one rank before it has begun on all: not if it only sends and receives,
/// nor the exchange of tokens between experts, whose kernels may return before the tokens arrive.
bool waitsForAllRanks(std::string_view name);

/// \param name  of such a kernel
CollectiveName collectiveOfKernel(std::string_view name);

/// The op of a call: `ncclAllReduce` is all_reduce. Empty for other calls, also for ncclGroupStart.
std::string_view collectiveOfCall(std::string_view name);

} // namespace tilescope::exchange
