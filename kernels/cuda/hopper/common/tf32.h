#pragma once

#include "kernels/include/attention.h"

namespace tilescope::kernels::hopper {

/// Whether wgmma does a problem of fp32 inputs rounded to TF32, in tensors that the copy engine can map:
/// forward and backward alike. The copy engine rounds ties to even, the mma.sync kernels round them away from
/// zero, and a backward whose scores are not those of the log-sum-exp misses the error rule where scores are
/// large.
///
/// For few keys the mma.sync kernels keep P's rounding out of the output, and so of delta (kernels/NOTES.md);
/// few queries fill no tile.
constexpr bool knowsTf32(const AttentionProblem& problem)
{
    constexpr int kFewKeys = 512;
    constexpr int kFewQueries = 64;
    const AttentionShape& shape = problem.shape;
    return problem.type == ElementType::Float32 && problem.fp32 == Fp32Mode::Tf32 && shape.headDim % 4 == 0 &&
           shape.headDim <= 128 && shape.keys > kFewKeys && shape.keys < (1 << 30) &&
           shape.queries > kFewQueries && shape.queries < (1 << 30);
}

} // namespace tilescope::kernels::hopper
