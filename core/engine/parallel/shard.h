#pragma once

#include "core/model/weight_shards.h"

#include <ATen/core/Tensor.h>

namespace tilescope::engine {

/// The elements of a dense tensor as a vector, in the order of memory. Shares the memory.
at::Tensor flatView(const at::Tensor& tensor);

/// `flat` itself if the layout is even, otherwise a copy padded with zeros.
at::Tensor padded(const at::Tensor& flat, const ShardLayout& layout);
/// A rank's part of a padded() vector. Shares the memory.
at::Tensor partOf(const at::Tensor& padded, const ShardLayout& layout, int rank);

} // namespace tilescope::engine
