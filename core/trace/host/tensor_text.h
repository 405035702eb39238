#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace at {
struct RecordFunction;
}

// Also part of the recorder's plug-in, which is compiled on the user's machine: C++17, LibTorch from 2.0 on.
namespace tilescope::trace {

/// `f32`, `bf16`; LibTorch's own name of a type that no experiment has.
const char* dtypeText(at::ScalarType type);
/// `[4, 128, 768]`
std::string shapeText(const at::Tensor& tensor);

/// `bf16[4, 128, 768] bf16[768, 768]`: types and shapes of the tensors among the inputs of an operator, in their order;
/// lists of tensors unfolded. Empty if a tensor has no sizes.
///
/// Valid until the next call in this thread: the text is written once per operator of a recorded program, without an
/// allocation.
std::string_view shapesOf(const at::RecordFunction& function) noexcept;

} // namespace tilescope::trace
