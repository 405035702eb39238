#pragma once

#include <cstdint>
#include <vector>

/// wgmma for TF32 and bf16, after the operands, descriptors and accumulators in PTX ISA 9.0 (9.7.15.5). It
/// shares no code with kernels/cuda/hopper/common/layout.h, which it tests.
namespace tilescope::kernels::emulator {

enum class Operands : unsigned char { Tf32, Bf16 };

/// One instruction: 64 x `columns` x 8 (TF32) or 16 (bf16).
struct Product {
    Operands kind;
    bool firstAcross;    ///< bf16: whether the rows of `first` run across the depth
    bool secondAcross;   ///< the same of `second`
    float* accumulators; ///< of this thread
    int columns;
    const std::uint32_t*
        fromRegisters; ///< this thread's part of the first operand; null: `first` describes it
    std::uint64_t first;
    std::uint64_t second;
    bool accumulate;
};

/// Products are issued, committed and executed by all lanes of a warp at once.
void issue(const Product& product);
void commit();
void awaitProducts(int pending);

/// Number of operands since the last call that had more bits than TF32, which the instruction ignores.
std::uint64_t takeUnroundedOperands();

} // namespace tilescope::kernels::emulator
