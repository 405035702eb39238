#pragma once

#include "core/exchange/tables/stack_frames.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// A frame as a component of a path (stack_frames.h).
/// \param file  everything before site-packages/ or dist-packages/ is removed, because it depends on the
///              installation; PyTorch's own files start with torch/
std::string frameText(std::string_view name, std::string_view file, std::int64_t line);

/// Whether a frame is not informative: part of the stack's own unwinding, the allocator, Python's interpreter
/// or the dispatcher's wrappers. In stacks with C++ frames (PyTorch's default) these are the majority.
bool isMachinery(const SnapshotFrame& frame);

/// The op of a C++ frame: `aten::mm` of `at::_ops::mm::call(at::Tensor const&, at::Tensor const&)`; empty for
/// others.
std::string opOfFrame(std::string_view name);

} // namespace tilescope::exchange
