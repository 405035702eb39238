#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace tilescope::kernels {

/// The name of the autograd node of tilescope::attention. Those of PyTorch's own operators end in a digit.
inline constexpr std::string_view kAttentionNode = "AttentionBackward";

/// The tensors that a node of tilescope::attention saved for backward; none for other ops.
/// \throws c10::Error  if they were already freed
std::optional<std::vector<at::Tensor>> savedByAttention(torch::autograd::Node& node);

} // namespace tilescope::kernels
