#pragma once

#include "core/model/spec.h"

#include <cstdint>

namespace tilescope {

/// One attention call as a spec describes it: its sizes and how to compute it. The kernels have an interface of
/// their own, AttentionProblem.
///
/// Causal is aligned bottom right: query i sees key j if j <= i + keys - queries. The output of a query that
/// sees no key is 0, and it has no gradient.
struct AttentionSpec {
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t kvHeads = 1; ///< divides heads
    std::int64_t queries = 1;
    std::int64_t keys = 1;
    std::int64_t headDim = 64;
    bool causal = true;
    double scale = 1; ///< of the scores
    bool allowTf32 = false;
    bool needsGrad = false;
    bool annotate = false; ///< ranges scores, softmax, output
    bool deterministic = false;
    std::int64_t tileQ = 64;
    std::int64_t tileK = 64;

    std::int64_t rows() const { return batch * heads * queries; }
    std::int64_t queryCount() const { return rows() * headDim; }
    std::int64_t keyCount() const { return batch * kvHeads * keys * headDim; }
    std::int64_t scoreCount() const { return rows() * keys; }
    /// Queries that see no key.
    std::int64_t blankRows() const { return causal && keys < queries ? queries - keys : 0; }
};

/// The attention of a spec of the workloads attention and lm. An lm folds the scale of the scores into the
/// rotation of q.
AttentionSpec attentionOf(const ExperimentSpec& spec);

/// Pairs of a query and a key that it sees. O(1).
std::int64_t visiblePairs(std::int64_t queries, std::int64_t keys, bool causal);

} // namespace tilescope
