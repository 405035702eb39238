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

// One function per shape: 64 x N x kDepth, where N is twice the number of registers of d. a and b are matrix
// descriptors of operands in shared memory.

/// d (+)= a b', 64 x 32; b is 32 rows in shared memory.
template <class Element>
__device__ inline void product(float (&d)[16], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %18, 0; "
                 "wgmma.mma_async.sync.aligned.m64n32%19 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
                 "}, %16, %17, accumulate, 1, 1%20; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15])
                 : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kAlongDepth));
}

/// d (+)= a b', 64 x 64; b is 64 rows in shared memory.
template <class Element>
__device__ inline void product(float (&d)[32], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile(
        "{ .reg .pred accumulate; setp.ne.b32 accumulate, %34, 0; wgmma.mma_async.sync.aligned.m64n64%35 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, accumulate, 1, 1%36; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind),
          "C"(Instruction<Element>::kAlongDepth));
}

/// d (+)= a b', 64 x 80; b is 80 rows in shared memory.
template <class Element>
__device__ inline void product(float (&d)[40], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile(
        "{ .reg .pred accumulate; setp.ne.b32 accumulate, %42, 0; wgmma.mma_async.sync.aligned.m64n80%43 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
        "%38, %39"
        "}, %40, %41, accumulate, 1, 1%44; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
        : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind),
          "C"(Instruction<Element>::kAlongDepth));
}

/// d (+)= a b', 64 x 128; b is 128 rows in shared memory.
template <class Element>
__device__ inline void product(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile(
        "{ .reg .pred accumulate; setp.ne.b32 accumulate, %66, 0; wgmma.mma_async.sync.aligned.m64n128%67 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, accumulate, 1, 1%68; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind),
          "C"(Instruction<Element>::kAlongDepth));
}

/// d (+)= a' b, 64 x 64; a is 16 rows of 64, b 16 rows of 64 in shared memory.
template <class Element>
__device__ inline void productOfTransposed(float (&d)[32], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile(
        "{ .reg .pred accumulate; setp.ne.b32 accumulate, %34, 0; wgmma.mma_async.sync.aligned.m64n64%35 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, accumulate, 1, 1%36; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind),
          "C"(Instruction<Element>::kAcrossDepth));
}

/// The same, 64 x 128; b is 16 rows of 128, in two panels.
template <class Element>
__device__ inline void productOfTransposed(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    asm volatile(
        "{ .reg .pred accumulate; setp.ne.b32 accumulate, %66, 0; wgmma.mma_async.sync.aligned.m64n128%67 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
        "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
        "%42, %43, "
        "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, accumulate, 1, 1%68; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(a), "l"(b), "r"(int(accumulate)), "C"(Instruction<Element>::kKind),
          "C"(Instruction<Element>::kAcrossDepth));
}

/// d += a b, 64 x 16, a in registers; b is kDepth rows of 16 in shared memory (TF32: 16 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[8], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n16%13 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7"
                 "}, {%8, %9, %10, %11}, %12, 1, 1, 1%14;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

/// d += a b, 64 x 32, a in registers; b is kDepth rows of 32 in shared memory (TF32: 32 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[16], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n32%21 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
                 "}, {%16, %17, %18, %19}, %20, 1, 1, 1%22;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

/// d += a b, 64 x 64, a in registers; b is kDepth rows of 64 in shared memory (TF32: 64 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[32], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64%37 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1%38;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}

/// d (+)= a b, 64 x 64, a in registers, as above.
template <class Element>
__device__ inline void productFromRegisters(float (&d)[32], const std::uint32_t* a, std::uint64_t b,
                                            bool accumulate)
{
    asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, %37, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64%38 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, {%32, %33, %34, %35}, %36, accumulate, 1, 1%39; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)),
                   "C"(Instruction<Element>::kKind), "C"(Instruction<Element>::kFromRegisters));
}

/// d += a b, 64 x 128, a in registers; b is kDepth rows of 128 in shared memory (TF32: 128 rows, b').
template <class Element>
__device__ inline void productFromRegisters(float (&d)[64], const std::uint32_t* a, std::uint64_t b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128%69 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
                 "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
                 "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1%70;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                   "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                   "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
                   "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
                   "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                   "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
                   "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "C"(Instruction<Element>::kKind),
                   "C"(Instruction<Element>::kFromRegisters));
}
} // namespace tilescope::kernels::hopper
