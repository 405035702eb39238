// Sums over ranks, and barriers between ranks, on GPUs that can access each other's memory.
//
// A sum is bound by the link: each rank adds up its part of a message and reads the same part of the others' memory.
// Each thread has its own ring of asynchronous copies in shared memory, because the latency of the link is long. A thread
// block reads 14 GB/s over NVLink (H100), so the link needs many; products run on the other multiprocessors meanwhile.
#include "kernels/cuda/common/device.h"
#include "kernels/cuda/common/ptx.h"
#include "kernels/include/ranks.h"

#include <cuda/atomic>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace tilescope::kernels::ranks {

namespace {

constexpr int kBlocks = 32; ///< of 4 to 96, ddp and fsdp of xl-2026 are fastest with 32 on an H100
constexpr int kMaxThreads = 512;
constexpr int kWarp = 32;
constexpr int kGroup = 8;  ///< vectors that a thread adds up at once
constexpr int kGroups = 3; ///< groups of which the other ranks' vectors are in flight
constexpr int kVectorBytes = 16;

/// The type in which elements are added up.
template <class T> using SumType = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T> constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));
template <class T> struct alignas(kVectorBytes) Vector {
    T values[kWidth<T>];
};

/// Adds the vector of a rank.
template <class T> __device__ void add(SumType<T> (&sums)[kWidth<T>], uint4 raw, bool isFirst)
{
    const auto& vector = reinterpret_cast<const Vector<T>&>(raw);
#pragma unroll
    for (int i = 0; i < kWidth<T>; ++i) {
        const auto value = static_cast<SumType<T>>(vector.values[i]);
        sums[i] = isFirst ? value : sums[i] + value;
    }
}

template <class T> __device__ uint4 rounded(const SumType<T> (&sums)[kWidth<T>])
{
    Vector<T> vector;
#pragma unroll
    for (int i = 0; i < kWidth<T>; ++i)
        vector.values[i] = static_cast<T>(sums[i]);
    return reinterpret_cast<const uint4&>(vector);
}

/// A thread's vectors of the other ranks, on their way to shared memory.
class Ring {
public:
    __device__ Ring(const SumOfRanks& sum, std::int64_t vectors) : sum_(sum), vectors_(vectors) {}

    /// The thread's vector `i` of a round; may be beyond the last.
    __device__ std::int64_t index(int round, int i) const
    {
        return (blockIdx.x + std::int64_t{round * kGroup + i} * gridDim.x) * blockDim.x + threadIdx.x;
    }

    __device__ void request(int round) const
    {
        for (int i = 0; i < kGroup; ++i)
            if (const std::int64_t at = index(round, i); at < vectors_)
                for (int rank = 0; rank < sum_.ranks; ++rank)
                    if (rank != sum_.rank)
                        ptx::copyAsync16(ptx::sharedAddress(slot(round, i, rank)),
                                         static_cast<const uint4*>(sum_.from[rank]) + at, true);
        ptx::commitCopies();
    }

    __device__ uint4* slot(int round, int i, int rank) const
    {
        extern __shared__ uint4 slots[];
        const int number = round % kGroups * kGroup + i;
        const int other = rank < sum_.rank ? rank : rank - 1;
        return slots + (number * (sum_.ranks - 1) + other) * static_cast<int>(blockDim.x) + threadIdx.x;
    }

private:
    const SumOfRanks& sum_;
    std::int64_t vectors_;
};

template <class T> __device__ void addVectors(const SumOfRanks& sum, std::int64_t vectors)
{
    const Ring ring(sum, vectors);
    for (int round = 0; round < kGroups; ++round)
        ring.request(round);
    for (int round = 0; ring.index(round, 0) < vectors; ++round) {
        uint4 own[kGroup];
#pragma unroll
        for (int i = 0; i < kGroup; ++i)
            if (const std::int64_t at = ring.index(round, i); at < vectors)
                own[i] = __ldcg(static_cast<const uint4*>(sum.from[sum.rank]) + at);
        ptx::waitCopies<kGroups - 1>();
#pragma unroll
        for (int i = 0; i < kGroup; ++i)
            if (const std::int64_t at = ring.index(round, i); at < vectors) {
                SumType<T> sums[kWidth<T>];
                for (int rank = 0; rank < sum.ranks; ++rank) {
                    if (rank == sum.rank)
                        add<T>(sums, own[i], rank == 0);
                    else
                        add<T>(sums, *ring.slot(round, i, rank), rank == 0);
                }
                static_cast<uint4*>(sum.to)[at] = rounded<T>(sums);
            }
        ring.request(round + kGroups);
    }
}

/// \param vectors  of 16 bytes, from the beginning; the rest is added up one by one
template <class T>
__global__ void __launch_bounds__(kMaxThreads)
    sumKernel(const __grid_constant__ SumOfRanks sum, std::int64_t vectors)
{
    addVectors<T>(sum, vectors);
    const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t i = vectors * kWidth<T> + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
         i < sum.count; i += stride) {
        auto total = static_cast<SumType<T>>(static_cast<const T*>(sum.from[0])[i]);
        for (int rank = 1; rank < sum.ranks; ++rank)
            total += static_cast<SumType<T>>(static_cast<const T*>(sum.from[rank])[i]);
        static_cast<T*>(sum.to)[i] = static_cast<T>(total);
    }
}

/// One thread per rank.
__global__ void __launch_bounds__(kMaxPeers) meetKernel(const __grid_constant__ RankBarrier barrier)
{
    using Word = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;
    const int peer = static_cast<int>(threadIdx.x);
    if (peer >= barrier.ranks || peer == barrier.rank)
        return;
    Word(barrier.words[peer][barrier.rank]).store(barrier.value, cuda::memory_order_release);
    const Word seen(barrier.own[peer]);
    while (static_cast<std::int32_t>(seen.load(cuda::memory_order_acquire) - barrier.value) < 0)
        __nanosleep(100);
}

bool isAligned(const void* address)
{
    return reinterpret_cast<std::uintptr_t>(address) % kVectorBytes == 0;
}

void require(cudaError_t status, const char* kernel)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(status));
}

template <class T> void launchSum(const SumOfRanks& sum, CudaStream stream)
{
    constexpr const char* kName = "the sum of ranks";
    const int ringOfThread = kGroups * kGroup * std::max(sum.ranks - 1, 1) * kVectorBytes;
    const int shared = currentDeviceProperties().sharedMemoryBytes;
    const int threads = std::min(kMaxThreads, shared / ringOfThread / kWarp * kWarp);
    if (threads == 0)
        throw std::runtime_error("this GPU cannot add up so many ranks");
    const bool areAligned =
        isAligned(sum.to) && std::all_of(sum.from.begin(), sum.from.begin() + sum.ranks, isAligned);
    const std::int64_t vectors = areAligned ? sum.count / kWidth<T> : 0;
    const std::int64_t pieces = std::max(vectors, sum.count - vectors * kWidth<T>);
    const auto blocks =
        static_cast<unsigned>(std::clamp<std::int64_t>((pieces + threads - 1) / threads, 1, kBlocks));
    require(allowSharedMemory<sumKernel<T>>(shared), kName);
    sumKernel<T><<<blocks, threads, threads * ringOfThread, stream>>>(sum, vectors);
    require(cudaGetLastError(), kName);
}

} // namespace

} // namespace tilescope::kernels::ranks

namespace tilescope::kernels {

void sumOfRanksCuda(ElementType type, const SumOfRanks& sum, CudaStream stream)
{
    if (sum.count == 0)
        return;
    switch (type) {
    case ElementType::Float32:
        return ranks::launchSum<float>(sum, stream);
    case ElementType::Float64:
        return ranks::launchSum<double>(sum, stream);
    case ElementType::Float16:
        return ranks::launchSum<__half>(sum, stream);
    case ElementType::BFloat16:
        return ranks::launchSum<__nv_bfloat16>(sum, stream);
    }
}

void meetCuda(const RankBarrier& barrier, CudaStream stream)
{
    ranks::meetKernel<<<1, kMaxPeers, 0, stream>>>(barrier);
    ranks::require(cudaGetLastError(), "the barrier of ranks");
}

} // namespace tilescope::kernels
