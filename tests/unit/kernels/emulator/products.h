#pragma once

#include <cstdint>
#include <vector>

/// wgmma for TF32, as PTX ISA 9.0 (9.7.15.5) describes operands, descriptors and accumulators. Nothing here
/// is taken from kernels/cuda/hopper/layout.h, which it is to judge.
namespace tilescope::kernels::emulator {

/// One instruction: 64 x `columns` x 8.
struct Product {
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
