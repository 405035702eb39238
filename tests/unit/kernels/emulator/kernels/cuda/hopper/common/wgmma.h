#pragma once

/// Stands in for kernels/cuda/hopper/common/wgmma.h in the emulator, for TF32 and bf16.

#include "kernels/cuda/hopper/common/layout.h"
#include "kernels/cuda/hopper/common/ptx.h"
#include "tests/unit/kernels/emulator/products.h"

namespace tilescope::kernels::hopper {

inline void fenceProducts() {}
inline void commitProducts()
{
    emulator::commit();
}
template <int Pending> void waitProducts()
{
    emulator::awaitProducts(Pending);
}
template <class T, int Count> void pin(T (&)[Count]) {}

template <class Element> struct Instruction;
template <> struct Instruction<float> {
    static constexpr int kDepth = 8;
    static constexpr auto kKind = emulator::Operands::Tf32;
};
template <> struct Instruction<__nv_bfloat16> {
    static constexpr int kDepth = 16;
    static constexpr auto kKind = emulator::Operands::Bf16;
};

template <class Element, int Count>
void product(float (&d)[Count], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    emulator::issue({Instruction<Element>::kKind, false, false, d, 2 * Count, nullptr, a, b, accumulate});
}
template <class Element, int Count>
void productOfTransposed(float (&d)[Count], std::uint64_t a, std::uint64_t b, bool accumulate)
{
    emulator::issue({Instruction<Element>::kKind, true, true, d, 2 * Count, nullptr, a, b, accumulate});
}
template <class Element, int Count>
void productFromRegisters(float (&d)[Count], const std::uint32_t* a, std::uint64_t b, bool accumulate = true)
{
    constexpr auto kKind = Instruction<Element>::kKind;
    emulator::issue({kKind, false, kKind == emulator::Operands::Bf16, d, 2 * Count, a, 0, b, accumulate});
}

} // namespace tilescope::kernels::hopper
