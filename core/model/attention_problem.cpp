#include "core/model/attention_problem.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

AttentionProblem attentionOf(const ExperimentSpec& spec)
{
    AttentionProblem problem;
    problem.batch = spec.batch;
    problem.heads = spec.heads;
    problem.allowTf32 = spec.precision == Precision::Tf32;
    problem.needsGrad = spec.mode != Mode::Forward || spec.grad;
    problem.annotate = spec.annotateAttention;
    problem.deterministic = spec.deterministic;
    problem.tileQ = spec.tileQ;
    problem.tileK = spec.tileK;
    if (spec.workload == Workload::Lm) {
        problem.kvHeads = spec.heads;
        problem.queries = problem.keys = spec.context;
        problem.headDim = spec.dModel / spec.heads;
    } else {
        problem.kvHeads = spec.kvHeads;
        problem.queries = spec.seqLen;
        problem.keys = spec.kvLen;
        problem.headDim = spec.headDim;
        problem.causal = spec.causal;
        problem.scale = 1 / std::sqrt(static_cast<double>(spec.headDim));
    }
    return problem;
}

std::int64_t visiblePairs(std::int64_t queries, std::int64_t keys, bool causal)
{
    if (!causal)
        return queries * keys;
    // Query i sees keys 0 to i + keys - queries. Those that see none are left out.
    const std::int64_t seeing = std::min(queries, keys);
    const std::int64_t first = keys - seeing + 1;
    return (first + keys) * seeing / 2;
}

} // namespace tilescope
