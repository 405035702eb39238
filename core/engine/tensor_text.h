#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace tilescope::engine {

/// `f32`, `bf16`: as shapes of ops say it.
std::string dtypeText(at::ScalarType type);
/// `[4, 128, 768]`
std::string shapeText(const at::Tensor& tensor);

} // namespace tilescope::engine
