#pragma once

#include "kernels/include/attention.h"

namespace tilescope::kernels::hopper {

/// Whether the wgmma kernels compute a problem of fp32 inputs rounded to TF32, if TMA can map its tensors.
///
/// Forward and backward must use the same kernels: TMA rounds ties to even, the mma.sync kernels round them
/// away from zero, and where scores are large, a backward with other scores than those of the log-sum-exp
/// exceeds the error bound. For few keys the mma.sync kernels exclude P's rounding from the output, and so
/// from delta (kernels/NOTES.md). Few queries do not fill a tile.
constexpr bool supportsTf32(const AttentionProblem& problem)
{
    constexpr int kFewKeys = 512;
    constexpr int kFewQueries = 64;
    const AttentionShape& shape = problem.shape;
    return problem.type == ElementType::Float32 && problem.fp32 == Fp32Mode::Tf32 && shape.headDim % 4 == 0 &&
           shape.headDim <= 128 && shape.keys > kFewKeys && shape.keys < (1 << 30) &&
           shape.queries > kFewQueries && shape.queries < (1 << 30);
}

} // namespace tilescope::kernels::hopper
