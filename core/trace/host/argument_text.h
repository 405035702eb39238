#pragma once

#include <string_view>

namespace at {
struct RecordFunction;
}

namespace tilescope::trace {

/// The inputs of an operator in their order, as analysis::parseArguments() reads them:
/// `bf16[4, 128, 768] f32[768, 768]{1, 768} =0.125 =none (f32[2] f32[3])`. Tensors have strides unless they are
/// contiguous; other inputs follow an equals sign, `=?` if a text cannot hold them. Empty if no input is a tensor, or if a
/// tensor has no sizes.
///
/// Valid until the next call in this thread.
std::string_view argumentsOf(const at::RecordFunction& function) noexcept;

} // namespace tilescope::trace
