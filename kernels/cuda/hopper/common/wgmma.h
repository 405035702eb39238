#pragma once

#include "kernels/cuda/hopper/common/layout.h"
#include "kernels/cuda/hopper/common/ptx.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <type_traits>

/// wgmma, Hopper's asynchronous warpgroup matrix multiply (PTX ISA 9.0, 9.7.15): 64 x N x 16 products of bf16
/// or fp16 (64 x N x 8 of TF32, 64 x N x 32 of FP8), accumulated in fp32 registers.
///
/// Four warps issue together. Accumulator element i of a thread is in row 16 * warp + lane / 4 + 8 * (i / 2 %
/// 2) and column 8 * (i / 4) + 2 * (lane % 4) + i % 2. The A operand in registers has the same layout after
/// packing pairs, so that P = exp(S) becomes the operand of the next product without leaving its thread.
namespace tilescope::kernels::hopper {

/// Orders register accesses of this warpgroup before the products that follow.
__device__ inline void fenceProducts()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commitProducts()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `Pending` committed groups are unfinished.
template <int Pending> __device__ inline void waitProducts()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Prevents the compiler from moving accesses to registers that products in flight use.
template <class T, int Count> __device__ inline void pin(T (&registers)[Count])
{
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        if constexpr (std::is_same_v<T, float>)
            asm volatile("" : "+f"(registers[i])::"memory");
        else
            asm volatile("" : "+r"(registers[i])::"memory");
    }
}

/// Parts of the instruction's name and operands for an element type. Operands of 2-byte elements may be
/// K-major or MN-major (rows along or across the depth); TF32's and FP8's must be K-major.
template <class Element> struct Instruction;
template <> struct Instruction<__nv_bfloat16> {
    static constexpr int kDepth = 16;
    static constexpr char kKind[] = "k16.f32.bf16.bf16";
    static constexpr char kAlongDepth[] = ", 0, 0";
    static constexpr char kAcrossDepth[] = ", 1, 1";
    static constexpr char kFromRegisters[] = ", 1";
};
template <> struct Instruction<__half> {
    static constexpr int kDepth = 16;
    static constexpr char kKind[] = "k16.f32.f16.f16";
    static constexpr char kAlongDepth[] = ", 0, 0";
    static constexpr char kAcrossDepth[] = ", 1, 1";
    static constexpr char kFromRegisters[] = ", 1";
};
/// fp32 in memory, rounded to TF32 before.
template <> struct Instruction<float> {
    static constexpr int kDepth = 8;
    static constexpr char kKind[] = "k8.f32.tf32.tf32";
    static constexpr char kAlongDepth[] = "";
    static constexpr char kFromRegisters[] = "";
};

template <> struct Instruction<__nv_fp8_e4m3> {
    static constexpr int kDepth = 32;
    static constexpr char kKind[] = "k32.f32.e4m3.e4m3";
    static constexpr char kAlongDepth[] = "";
    static constexpr char kFromRegisters[] = "";
};

// The accumulator in an instruction: names of registers d[0], d[1], …, and the registers from d[i] on.
#define TILESCOPE_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define TILESCOPE_NAMES_16 TILESCOPE_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define TILESCOPE_NAMES_32                                                                                   \
    TILESCOPE_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TILESCOPE_NAMES_40 TILESCOPE_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TILESCOPE_NAMES_64                                                                                   \
    TILESCOPE_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55"    \
                       ", %56, %57, %58, %59, %60, %61, %62, %63"
#define TILESCOPE_REGISTERS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TILESCOPE_REGISTERS_8(i) TILESCOPE_REGISTERS_4(i), TILESCOPE_REGISTERS_4(i + 4)
#define TILESCOPE_REGISTERS_16(i) TILESCOPE_REGISTERS_8(i), TILESCOPE_REGISTERS_8(i + 8)
#define TILESCOPE_REGISTERS_32(i) TILESCOPE_REGISTERS_16(i), TILESCOPE_REGISTERS_16(i + 16)
#define TILESCOPE_REGISTERS_40(i) TILESCOPE_REGISTERS_32(i), TILESCOPE_REGISTERS_8(i + 32)
#define TILESCOPE_REGISTERS_64(i) TILESCOPE_REGISTERS_32(i), TILESCOPE_REGISTERS_32(i + 32)

// One function per shape: 64 x N x kDepth, where N is twice the number of registers of d. a and b are matrix
// descriptors of operands in shared memory.

/// d (+)= a b', 64 x 32; b is 32 rows in shared memory.
template <class Element, const char* Layout = Instruction<Element>::kAlongDepth>
__device__ inline void product(float (&d)[16], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %18, 0; "
                 "wgmma.mma_async.sync.aligned.m64n32%19 {" TILESCOPE_NAMES_16
                 "}, %16, %17, accumulate, 1, 1%20; }"
                 : TILESCOPE_REGISTERS_16(0)
                 : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind), "C"(Layout));
}

/// d (+)= a b', 64 x 64; b is 64 rows in shared memory.
template <class Element, const char* Layout = Instruction<Element>::kAlongDepth>
__device__ inline void product(float (&d)[32], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %34, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64%35 {" TILESCOPE_NAMES_32
                 "}, %32, %33, accumulate, 1, 1%36; }"
                 : TILESCOPE_REGISTERS_32(0)
                 : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind), "C"(Layout));
}

/// d (+)= a b', 64 x 80; b is 80 rows in shared memory.
template <class Element, const char* Layout = Instruction<Element>::kAlongDepth>
__device__ inline void product(float (&d)[40], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %42, 0; "
                 "wgmma.mma_async.sync.aligned.m64n80%43 {" TILESCOPE_NAMES_40
                 "}, %40, %41, accumulate, 1, 1%44; }"
                 : TILESCOPE_REGISTERS_40(0)
                 : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind), "C"(Layout));
}

/// d (+)= a b', 64 x 128; b is 128 rows in shared memory.
template <class Element, const char* Layout = Instruction<Element>::kAlongDepth>
__device__ inline void product(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %66, 0; "
                 "wgmma.mma_async.sync.aligned.m64n128%67 {" TILESCOPE_NAMES_64
                 "}, %64, %65, accumulate, 1, 1%68; }"
                 : TILESCOPE_REGISTERS_64(0)
                 : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind), "C"(Layout));
}

/// d (+)= a' b; a is 16 rows of 64, b 16 rows of N in shared memory, in two panels if N is 128.
template <class Element, int Count>
__device__ inline void productOfTransposed(float (&d)[Count], std::uint64_t a, std::uint64_t b,
                                           bool accumulate)
{
    product<Element, Instruction<Element>::kAcrossDepth>(d, a, b, accumulate);
}

/// d += a b, 64 x 16, a in registers; b is kDepth rows of 16 in shared memory (TF32: 16 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[8], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n16%13 {" TILESCOPE_NAMES_8
                 "}, {%8, %9, %10, %11}, %12, 1, 1, 1%14;"
                 : TILESCOPE_REGISTERS_8(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

/// d += a b, 64 x 32, a in registers; b is kDepth rows of 32 in shared memory (TF32: 32 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[16], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n32%21 {" TILESCOPE_NAMES_16
                 "}, {%16, %17, %18, %19}, %20, 1, 1, 1%22;"
                 : TILESCOPE_REGISTERS_16(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

/// d += a b, 64 x 64, a in registers; b is kDepth rows of 64 in shared memory (TF32: 64 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[32], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64%37 {" TILESCOPE_NAMES_32
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1%38;"
                 : TILESCOPE_REGISTERS_32(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

/// d (+)= a b, 64 x 64, a in registers, as above.
template <class Element>
__device__ inline void productFromRegisters(float (&d)[32], const std::uint32_t* a, std::uint64_t b,
                                            bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %37, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64%38 {" TILESCOPE_NAMES_32
                 "}, {%32, %33, %34, %35}, %36, accumulate, 1, 1%39; }"
                 : TILESCOPE_REGISTERS_32(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)),
                   "C"(Instruction<Element>::kKind), "C"(Instruction<Element>::kFromRegisters));
}

/// d += a b, 64 x 128, a in registers; b is kDepth rows of 128 in shared memory (TF32: 128 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[64], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128%69 {" TILESCOPE_NAMES_64
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1%70;"
                 : TILESCOPE_REGISTERS_64(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

} // namespace tilescope::kernels::hopper
