#pragma once

#include <cstdint>

#include <cuda.h>

/// Hopper's PTX instructions that the kernels use, one function for each (PTX ISA 9.0, sections in brackets).
///
/// Addresses of shared memory are 32-bit, as the instructions require.
namespace tilescope::kernels::hopper {

__device__ inline std::uint32_t sharedAddress(const void* pointer)
{
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- mbarrier: counts arrivals and bytes, waits by phase [9.7.13.15] -----------------------------

using Barrier = std::uint64_t;

__device__ inline void initBarrier(Barrier& barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(&barrier)), "r"(arrivals));
}

/// Makes initialised barriers visible to TMA.
__device__ inline void fenceBarrierInit()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void arrive(Barrier& barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(&barrier)) : "memory");
}

/// One arrival; the phase ends only after TMA has written `bytes` more.
__device__ inline void arriveExpecting(Barrier& barrier, std::uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(&barrier)),
                 "r"(bytes)
                 : "memory");
}

/// Waits for the end of the phase with this parity.
__device__ inline void wait(Barrier& barrier, std::uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\n"
                 "bra again;\n"
                 "over:\n"
                 "}\n" ::"r"(sharedAddress(&barrier)),
                 "r"(parity)
                 : "memory");
}

/// The same for a thread that expects a long wait. It polls rarely, because each poll accesses shared memory.
__device__ inline void waitLong(Barrier& barrier, std::uint32_t parity)
{
    constexpr std::uint32_t kNanoseconds = 20000;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n"
                 "@done bra over;\n"
                 "bra again;\n"
                 "over:\n"
                 "}\n" ::"r"(sharedAddress(&barrier)),
                 "r"(parity), "r"(kNanoseconds)
                 : "memory");
}

// --- TMA: asynchronous copies of boxes of a tensor [9.7.9.27] ------------------------------------

/// Loads the box at (column, row, head, batch). Elements outside the tensor are zeros and count as bytes.
__device__ inline void loadBox(const CUtensorMap& map, void* destination, Barrier& barrier, int column,
                               int row, int head, int batch)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
        "%6}], [%2];" ::"r"(sharedAddress(destination)),
        "l"(&map), "r"(sharedAddress(&barrier)), "r"(column), "r"(row), "r"(head), "r"(batch)
        : "memory");
}

/// Prefetches the box at (column, row, head, batch) into L2.
__device__ inline void prefetchBox(const CUtensorMap& map, int column, int row, int head, int batch)
{
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global [%0, {%1, %2, %3, %4}];" ::"l"(&map),
                 "r"(column), "r"(row), "r"(head), "r"(batch)
                 : "memory");
}

/// Stores the box at (column, row, head, batch), except for elements outside the tensor.
__device__ inline void storeBox(const CUtensorMap& map, const void* source, int column, int row, int head,
                                int batch)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
        "r"(sharedAddress(source)), "r"(column), "r"(row), "r"(head), "r"(batch)
        : "memory");
}

/// Loads `bytes`. Size and both addresses are multiples of 16.
__device__ inline void loadBytes(void* destination, const void* source, std::uint32_t bytes, Barrier& barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            sharedAddress(destination)),
        "l"(source), "r"(bytes), "r"(sharedAddress(&barrier))
        : "memory");
}

/// Adds `bytes` of floats to global memory. Size and both addresses are multiples of 16.
__device__ inline void addFloats(float* destination, const float* source, std::uint32_t bytes)
{
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(destination),
        "r"(sharedAddress(source)), "r"(bytes)
        : "memory");
}

/// Adds four floats to global memory (16-byte address).
__device__ inline void addFourFloats(float* destination, float a, float b, float c, float d)
{
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(destination), "f"(a),
                 "f"(b), "f"(c), "f"(d)
                 : "memory");
}

/// Load with acquire semantics: later reads see what was written before the matching release.
__device__ inline unsigned loadAcquire(const unsigned* from)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ inline void commitStores()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until the committed stores have read their shared memory. They may not have reached global memory
/// yet.
__device__ inline void waitStoresRead()
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/// Waits until the committed stores and additions have been made in global memory.
__device__ inline void waitStoresDone()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Orders this thread's reads and writes of shared memory before later accesses by TMA or wgmma.
__device__ inline void fenceAsyncProxy()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Loads 4 bytes. Volatile, so that the compiler does not move it up to where registers are scarce.
__device__ inline std::uint32_t loadWord(const void* from)
{
    std::uint32_t word;
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
    return word;
}

/// Stores four 8 x 8 matrices of 2-byte elements, one per register. Lane l gives the address of row l % 8 of
/// matrix l / 8 and holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 [9.7.14.5.16].
__device__ inline void storeMatrices(std::uint32_t address, std::uint32_t first, std::uint32_t second,
                                     std::uint32_t third, std::uint32_t fourth)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(first), "r"(second), "r"(third), "r"(fourth)
                 : "memory");
}

// --- programmatic dependent launch [9.7.13.13] ---------------------------------------------------

/// Allows the next kernel of the stream to begin if launchOverlapping() launched it. It must wait before it reads
/// this kernel's results.
__device__ inline void launchDependents()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
/// Waits for the results of the previous kernel.
__device__ inline void waitForPreviousKernel()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// --- warpgroups ----------------------------------------------------------------------------------

template <int Registers> __device__ inline void acquireRegisters()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> __device__ inline void releaseRegisters()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

/// Named barriers 1 to 15 (0 is __syncthreads). `threads` includes those that only arrive.
__device__ inline void namedWait(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ inline void namedArrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// --- arithmetic ----------------------------------------------------------------------------------

/// 2^x by the special-function unit; 2^-inf = 0.
__device__ inline float exp2Approximate(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// --- FP8 (E4M3) [9.7.9.21, 9.7.14.5] ---------------------------------------------------------------

/// Four numbers rounded to E4M3, the first in the lowest byte. Numbers beyond 448 become 448.
__device__ inline std::uint32_t packFp8(float first, float second, float third, float fourth)
{
    std::uint32_t result;
    asm("{ .reg .b16 low, high; cvt.rn.satfinite.e4m3x2.f32 low, %2, %1; "
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3; mov.b32 %0, {low, high}; }"
        : "=r"(result)
        : "f"(first), "f"(second), "f"(third), "f"(fourth));
    return result;
}

/// c += a b, 16 x 8, depth 32, by one warp.
__device__ inline void multiplyFp8(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

} // namespace tilescope::kernels::hopper
