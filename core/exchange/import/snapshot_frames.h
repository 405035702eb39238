#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

// Stacks of frames as paths of ranges: a component is `file:line:function`, the outermost first. A slash in a
// name would end the component, so that it stands there as U+2215, which reads the same.

struct SnapshotFrame {
    std::string name;
    std::string file;
    std::int64_t line = 0;
};

/// \param file  everything up to site-packages/ or dist-packages/ goes: it says where Python is, not what ran
std::string frameText(std::string_view name, std::string_view file, std::int64_t line);

/// Whether a frame tells nothing of who asked for memory: it is of the stack's own unwinding, of the
/// allocator, of Python's interpreter or of the dispatcher's wrappers. Stacks with C++ frames (PyTorch's
/// default) have more of them than of others.
bool isMachinery(const SnapshotFrame& frame);

/// The frames of a path that is made of such texts, the innermost first. A component that is none is a
/// frame's name.
std::vector<SnapshotFrame> framesOf(std::string_view path);

/// The op of a C++ frame: `aten::mm` of `at::_ops::mm::call(at::Tensor const&, at::Tensor const&)`; empty for
/// others.
std::string opOfFrame(std::string_view name);

} // namespace tilescope::exchange
