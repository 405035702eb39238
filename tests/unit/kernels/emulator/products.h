#pragma once

#include <cstdint>
#include <vector>

/// wgmma for TF32 and bf16, as PTX ISA 9.0 (9.7.15.5) describes operands, descriptors and accumulators.
/// Nothing here is taken from kernels/cuda/hopper/common/layout.h, which it is to judge.
namespace tilescope::kernels::emulator {

enum class Operands : unsigned char { Tf32, Bf16 };

/// One instruction: 64 x `columns` x 8 (TF32) or 16 (bf16).
struct Product {
    Operands kind;
    bool acrossDepth;    ///< how the rows of `second` run, of bf16
    float* accumulators; ///< of this thread
    int columns;
    const std::uint32_t* fromRegisters; ///< of this thread: the first operand; null: `first` describes it
    std::uint64_t first;
    std::uint64_t second;
    bool accumulate;
};

/// Products go from issued to committed to done; all lanes of a warp at once.
void issue(const Product& product);
void commit();
void awaitProducts(int pending);

/// Operands that had more bits than TF32, which the instruction does not look at, since the last question.
std::uint64_t takeUnroundedOperands();

} // namespace tilescope::kernels::emulator
