#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/spec.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

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
    /// Keys and values of a layer by pages, in place: pools (kvHeads, pages of all sequences, page, d), and the table
    /// (batch, pages of a sequence), int32. None where the cache has no pages.
    struct Pages {
        at::Tensor keys;
        at::Tensor values;
        at::Tensor table;
    };
    virtual std::optional<Pages> pages(std::int64_t /*layer*/) const { return {}; }
    /// Where the keys and values of one position go: (batch, kvHeads, d), or with rows, those rows of (kvHeads, rows, d).
    struct Place {
        at::Tensor keys;
        at::Tensor values;
        std::optional<at::Tensor> rows; ///< (batch), int64
    };
    virtual Place place(std::int64_t layer, std::int64_t position) const = 0;
    /// Visits the tensors that are kept between steps.
    virtual void visitHeld(const HoldVisitor& visit) const = 0;
};

/// \param options  dtype and device of keys and values
std::unique_ptr<KvCache> makeKvCache(const ExperimentSpec& spec, at::TensorOptions options);

} // namespace tilescope::engine
