#pragma once

#include "core/model/memory.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace tilescope::engine {

/// Called for each tensor that is kept, with its category and name: layers.3/ffn/down, tokens. Undefined
/// tensors are ignored; of several tensors that share a storage, the first counts.
using HoldVisitor = std::function<void(MemoryCategory, const std::string& name, const at::Tensor&)>;

} // namespace tilescope::engine
