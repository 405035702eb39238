#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/spec.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>

namespace tilescope::engine {

/// The keys and values of the tokens so far, for all layers and sequences. Of fixed size: context + new_tokens - 1
/// tokens, because nothing reads those of the last token. Session thread.
class KvCache {
public:
    virtual ~KvCache() = default;

    /// Writes keys and values (batch, kvHeads, n, d) of the positions from `first` on.
    virtual void write(std::int64_t layer, std::int64_t first, const at::Tensor& keys,
                       const at::Tensor& values) = 0;
    /// Keys and values (batch, kvHeads, length, d) of the positions before `length`; rows are contiguous. A view, or a
    /// copy where the cache keeps them in another order.
    virtual std::array<at::Tensor, 2> read(std::int64_t layer, std::int64_t length) = 0;
    /// Visits the tensors that are kept between steps.
    virtual void visitHeld(const HoldVisitor& visit) const = 0;
};

/// \param options  dtype and device of keys and values
std::unique_ptr<KvCache> makeKvCache(const ExperimentSpec& spec, at::TensorOptions options);

} // namespace tilescope::engine
