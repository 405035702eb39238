#pragma once

#include "tests/unit/kernels/emulator/copies.h"
#include "tests/unit/kernels/emulator/machine.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector_functions.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilescope::kernels {

using std::max;
using std::min;

} // namespace tilescope::kernels

/// Stands in for kernels/cuda/common/ptx.h in the emulator: what the Hopper and decode kernels use of it.
namespace tilescope::kernels::ptx {

inline std::uint32_t sharedAddress(const void* pointer)
{
    return emulator::Machine::here().address(pointer);
}
inline void copyAsync16(std::uint32_t to, const void* from, bool valid)
{
    emulator::startCopy16(to, from, valid);
}
inline void commitCopies()
{
    emulator::commitCopies();
}
template <int Pending> void waitCopies()
{
    emulator::awaitCopies(Pending);
}
inline float exp2Approximate(float x)
{
    return std::exp2(x);
}
inline std::uint32_t packBf16(float low, float high)
{
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    std::uint32_t word = 0;
    std::memcpy(&word, &pair, sizeof(word));
    return word;
}
inline std::uint32_t packFp16(float low, float high)
{
    const __half2 pair = __floats2half2_rn(low, high);
    std::uint32_t word = 0;
    std::memcpy(&word, &pair, sizeof(word));
    return word;
}

/// To nearest, ties away from zero. Infinities and NaN do not change.
inline std::uint32_t roundTf32(std::uint32_t bits)
{
    return (bits & 0x7f800000U) == 0x7f800000U ? bits : (bits + 0x1000U) & ~0x1fffU;
}

void loadMatrices(std::uint32_t (&to)[4], std::uint32_t rowAddress);
void loadMatricesTransposed(std::uint32_t (&to)[4], std::uint32_t rowAddress);
void multiplyBf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void multiplyTf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void multiplyFp16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);

} // namespace tilescope::kernels::ptx
