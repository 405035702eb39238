#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

// Converts stacks of frames to paths of ranges: a component is `file:line:function`, the outermost first. A
// slash in a name would separate components, so it is replaced by U+2215, which looks the same.

struct SnapshotFrame {
    std::string name;
    std::string file;
    std::int64_t line = 0;
};

/// \param file  everything up to site-packages/ or dist-packages/ is removed, because it depends on the
///              installation
std::string frameText(std::string_view name, std::string_view file, std::int64_t line);

/// Whether a frame is not informative: part of the stack's own unwinding, the allocator, Python's interpreter
/// or the dispatcher's wrappers. In stacks with C++ frames (PyTorch's default) these are the majority.
bool isMachinery(const SnapshotFrame& frame);

/// The frames of such a path, the innermost first. A component in another format becomes a frame's name.
std::vector<SnapshotFrame> framesOf(std::string_view path);

/// The op of a C++ frame: `aten::mm` of `at::_ops::mm::call(at::Tensor const&, at::Tensor const&)`; empty for
/// others.
std::string opOfFrame(std::string_view name);

} // namespace tilescope::exchange
