#pragma once

#include "core/model/memory.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <span>

namespace tilescope::query {

/// One activation of an lm's residual stream: its expected size, and the tensor that a norm saved.
struct ResidualStream {
    std::int64_t batch = 0;
    std::int64_t context = 0;
    std::int64_t dModel = 0;
    std::int64_t elementBytes = 0; ///< of the tensor that was seen
    SavedTensor measured = {};     ///< the first norm's input
    std::int64_t tensors = 0;      ///< distinct ones of that shape that norms hold before backward
    Bytes together{};

    /// batch x context x d_model x bytes of an element.
    Bytes formula() const { return {batch * context * dModel * elementBytes}; }
};

/// \param saved  the run's saved tensors
/// \return       none if the run is not an lm or its norms save no such tensor
std::optional<ResidualStream> residualStream(const store::RunRecord& run, std::span<const SavedTensor> saved);

} // namespace tilescope::query
