#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace tilescope::trace {

/// `f32`, `bf16`; LibTorch's own name of a type that no experiment has.
std::string dtypeText(at::ScalarType type);
/// `[4, 128, 768]`
std::string shapeText(const at::Tensor& tensor);

} // namespace tilescope::trace
