#pragma once

#include "core/model/spec.h"
#include "core/predict/ops.h"
#include "core/predict/target_device.h"

#include <array>
#include <memory>
#include <vector>

namespace tilescope::predict {

/// One attention call, as far as its memory hangs on it.
struct AttentionShape {
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t kvHeads = 1;
    std::int64_t queries = 1;
    std::int64_t keys = 1;
    std::int64_t headDim = 64;
    bool isCausal = true;
    bool isScaled = true; ///< scores are multiplied by a factor that is not in q
    Type type = Type::Float32;
    bool isTf32 = false;
    bool needsGradient = false;
    bool isDeterministic = false;
    std::int64_t tileQ = 64;
    std::int64_t tileK = 64;

    std::int64_t rows() const { return batch * heads * queries; }
    std::int64_t queryCount() const { return rows() * headDim; }
    std::int64_t keyCount() const { return batch * kvHeads * keys * headDim; }
    std::int64_t scoreCount() const { return rows() * keys; }
    /// Pairs of a query and a key that it sees, of all heads. Causal is aligned bottom right.
    double visiblePairs() const;
    /// Queries that see no key.
    std::int64_t blankRows() const { return isCausal && keys < queries ? queries - keys : 0; }
};

AttentionShape attentionOfLm(const ExperimentSpec& spec);
AttentionShape attentionAlone(const ExperimentSpec& spec);

/// The memory and time of an attention backend of core/engine.
class AttentionMemory {
public:
    virtual ~AttentionMemory() = default;
    /// o from q, k and v.
    virtual Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) = 0;
};

/// \param ops  outlives it
std::unique_ptr<AttentionMemory> makeAttention(Backend backend, const AttentionShape& shape,
                                               const TargetDevice& device, Ops& ops);

std::unique_ptr<AttentionMemory> makeNaiveAttention(const AttentionShape& shape, Ops& ops);
std::unique_ptr<AttentionMemory> makeTiledAttention(const AttentionShape& shape, Ops& ops);
std::unique_ptr<AttentionMemory> makeFlashAttention(const AttentionShape& shape, const TargetDevice& device,
                                                    Ops& ops);
std::unique_ptr<AttentionMemory> makeSdpaAttention(Backend backend, const AttentionShape& shape,
                                                   const TargetDevice& device, Ops& ops);

} // namespace tilescope::predict
