#pragma once

#include "core/model/spec.h"

#include <algorithm>
#include <cstdint>

namespace tilescope {

/// Whether compile: fused computes activations and the head in bf16.
inline bool isIn16Bits(Precision precision)
{
    return precision == Precision::Bf16 || precision == Precision::Fp8;
}

/// The number of tokens in a chunk for which compile: fused computes head and cross entropy. 0: all tokens at
/// once; their logits, up to 512 MiB, are kept for backward.
inline std::int64_t fusedLossRows(const ExperimentSpec& spec)
{
    constexpr std::int64_t kMostLogitBytes = 512LL << 20;
    constexpr std::int64_t kMultiple = 128; // rows of a tile of products
    const std::int64_t bytes = spec.vocab * (isIn16Bits(spec.precision) ? 2 : 4);
    const bool fits = spec.batch * spec.context * bytes <= kMostLogitBytes;
    if (fits || spec.mode == Mode::Forward || spec.loss != LossKind::CrossEntropy)
        return 0;
    return std::max(kMultiple, kMostLogitBytes / bytes / kMultiple * kMultiple);
}

} // namespace tilescope
