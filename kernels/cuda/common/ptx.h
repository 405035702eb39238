#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

/// The PTX instructions of compute capability 8.0 that the kernels use, one function for each. Hopper's are
/// in kernels/cuda/hopper/common/ptx.h. No other file contains PTX, except wgmma.h there.
namespace tilescope::kernels::ptx {

__device__ inline std::uint32_t sharedAddress(const void* pointer)
{
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- asynchronous copies, global to shared -------------------------------------------------------

/// Copies 16 bytes, or zeros if `valid` is false.
__device__ inline void copyAsync16(std::uint32_t to, const void* from, bool valid)
{
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ inline void commitCopies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `Pending` of this thread's committed groups are unfinished.
template <int Pending> __device__ inline void waitCopies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// --- matrices of 8 rows of 16 bytes, shared to registers -----------------------------------------

/// Loads four matrices. Lane l gives the address of row l % 8 of matrix l / 8 and receives 4 bytes of row l /
/// 4 of each matrix.
__device__ inline void loadMatrices(std::uint32_t (&to)[4], std::uint32_t rowAddress)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(rowAddress)
                 : "memory");
}
/// Loads matrices of 16-bit elements and transposes each.
__device__ inline void loadMatricesTransposed(std::uint32_t (&to)[4], std::uint32_t rowAddress)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(rowAddress)
                 : "memory");
}

// --- matrix products, accumulators in fp32 -------------------------------------------------------

__device__ inline void multiplyBf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void multiplyFp16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void multiplyTf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// --- conversions and functions -------------------------------------------------------------------

/// Rounds fp32 bits to the nearest TF32, ties away from zero. Without it the hardware truncates, with a bias.
__device__ inline std::uint32_t roundTf32(std::uint32_t bits)
{
    std::uint32_t result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(__uint_as_float(bits)));
    return result;
}
/// 2^x with an error of about 2 ulp; 2^-infinity is 0.
__device__ inline float exp2Approximate(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

__device__ inline std::uint32_t packBf16(float low, float high)
{
    std::uint32_t result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}
__device__ inline std::uint32_t packFp16(float low, float high)
{
    std::uint32_t result;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

// --- global memory shared by thread blocks -------------------------------------------------------

/// Adds two adjacent floats (8-byte aligned).
__device__ inline void addGlobal2(float* to, float first, float second)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
#else
    atomicAdd(to, first);
    atomicAdd(to + 1, second);
#endif
}
__device__ inline int loadAcquire(const int* from)
{
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}
__device__ inline void storeRelease(int* to, int value)
{
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

} // namespace tilescope::kernels::ptx
