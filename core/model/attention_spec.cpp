#include "core/model/attention_spec.h"

#include <algorithm>
#include <cmath>

namespace tilescope {

AttentionSpec attentionOf(const ExperimentSpec& spec)
{
    AttentionSpec attention;
    attention.batch = spec.batch;
    attention.heads = spec.heads;
    attention.allowTf32 = spec.precision == Precision::Tf32;
    attention.needsGrad = (spec.mode != Mode::Forward && spec.mode != Mode::Generate) || spec.grad;
    attention.annotate = spec.annotateAttention;
    attention.deterministic = spec.deterministic;
    attention.tileQ = spec.tileQ;
    attention.tileK = spec.tileK;
    if (spec.workload == Workload::Lm) {
        attention.kvHeads = spec.mode == Mode::Generate ? spec.kvHeads : spec.heads;
        attention.queries = attention.keys = spec.context;
        attention.headDim = spec.dModel / spec.heads;
    } else {
        attention.kvHeads = spec.kvHeads;
        attention.queries = spec.seqLen;
        attention.keys = spec.kvLen;
        attention.headDim = spec.headDim;
        attention.causal = spec.causal;
        attention.scale = 1 / std::sqrt(static_cast<double>(spec.headDim));
    }
    return attention;
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
