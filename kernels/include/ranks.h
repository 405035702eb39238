#pragma once

#include "kernels/include/attention.h"

#include <array>
#include <cstdint>

/// Kernels for sums over, and barriers between, ranks on GPUs of one host. They read and write the memory of
/// other GPUs. Plain C++: neither LibTorch nor CUDA headers.
namespace tilescope::kernels {

inline constexpr int kMaxPeers = 16; ///< ranks, this one included

/// to[i] = from[0][i] + from[1][i] + …, added up in this order; bf16 and fp16 in fp32.
struct SumOfRanks {
    int ranks = 0;
    int rank = 0; ///< this one, whose memory is that of the current device
    std::int64_t count = 0;
    std::array<const void*, kMaxPeers> from{}; ///< `to` may be one of them
    void* to = nullptr;
};

/// A barrier of ranks: each writes `value` to the others' memory and waits until all have written it to its own.
/// Values grow from barrier to barrier, by less than 2^31 in all between any two that are compared.
struct RankBarrier {
    int ranks = 0;
    int rank = 0;
    std::uint32_t value = 0;
    std::uint32_t* own = nullptr;                  ///< a word per rank, in the memory of this rank's GPU
    std::array<std::uint32_t*, kMaxPeers> words{}; ///< the words of each rank; this rank's entry is not used
};

/// Uses few multiprocessors, because products run beside it. Launched on the current device; asynchronous.
/// \throws std::runtime_error  if the launch fails
void sumOfRanksCuda(ElementType type, const SumOfRanks& sum, CudaStream stream);
/// Makes earlier work of the stream visible to the other ranks, and their earlier work visible to later work of the stream.
void meetCuda(const RankBarrier& barrier, CudaStream stream);

} // namespace tilescope::kernels
