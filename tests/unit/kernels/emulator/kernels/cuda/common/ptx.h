#pragma once

#include <cstdint>

/// Stands in for kernels/cuda/common/ptx.h in the emulator: what the Hopper kernels use of it.
namespace tilescope::kernels::ptx {

/// To nearest, ties away from zero. Infinities and NaN do not change.
inline std::uint32_t roundTf32(std::uint32_t bits)
{
    return (bits & 0x7f800000U) == 0x7f800000U ? bits : (bits + 0x1000U) & ~0x1fffU;
}

void loadMatrices(std::uint32_t (&to)[4], std::uint32_t rowAddress);
void multiplyBf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void multiplyFp16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);

} // namespace tilescope::kernels::ptx
