#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace tilescope::kernels {

/// The tensors that a node of tilescope::attention saved for backward; none for other ops.
/// \throws c10::Error  if they were already freed
std::optional<std::vector<at::Tensor>> savedByAttention(torch::autograd::Node& node);

} // namespace tilescope::kernels
