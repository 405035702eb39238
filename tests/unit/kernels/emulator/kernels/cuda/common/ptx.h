#pragma once

#include <cstdint>

/// What kernels/cuda/common/ptx.h is on a device, as far as the kernels need it that run in the emulator.
namespace tilescope::kernels::ptx {

/// To nearest, ties away from zero; what is not finite stays what it is.
inline std::uint32_t roundTf32(std::uint32_t bits)
{
    return (bits & 0x7f800000U) == 0x7f800000U ? bits : (bits + 0x1000U) & ~0x1fffU;
}

void loadMatrices(std::uint32_t (&to)[4], std::uint32_t rowAddress);
void multiplyBf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void multiplyFp16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);

} // namespace tilescope::kernels::ptx
