#pragma once

#include "core/model/memory.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace tilescope::engine {

/// Told of each tensor that somebody holds, what for, and its name: layers.3/ffn/down, tokens. Undefined ones
/// do not count, and of several that share a storage the first does.
using HoldVisitor = std::function<void(MemoryCategory, const std::string& name, const at::Tensor&)>;

} // namespace tilescope::engine
