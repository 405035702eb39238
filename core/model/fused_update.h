#pragma once

#include "core/model/fused_loss.h"
#include "core/model/spec.h"

#include <cstdint>

namespace tilescope {

/// Whether compile: fused updates weights of products in the kernel that computes their gradients
/// (tilescope::adamw_product_), so that these gradients are never in memory. With more tokens cuBLAS' product
/// and AdamW after it are as fast (kernels/NOTES.md).
/// \param computeMajor  compute capability of the GPU; 0: a CPU
inline bool updatesWithGradients(const ExperimentSpec& spec, int computeMajor)
{
    constexpr int kHopper = 9;
    constexpr std::int64_t kMostTokens = 2048;
    return computeMajor == kHopper && spec.mode == Mode::Train && isIn16Bits(spec.precision) &&
           spec.timing == StepTiming::Step && spec.parallel == Parallel::None &&
           spec.batch * spec.context <= kMostTokens;
}

/// Whether the kernel takes a weight with so many inputs and outputs.
inline bool canUpdateWithGradient(std::int64_t in, std::int64_t out)
{
    constexpr std::int64_t kVector = 8;
    return in % kVector == 0 && out % kVector == 0;
}

} // namespace tilescope
