#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace tilescope::kernels {

/// What a node of tilescope::attention saved for its backward; none of another op's.
/// \throws c10::Error  where it was freed already
std::optional<std::vector<at::Tensor>> savedByAttention(torch::autograd::Node& node);

} // namespace tilescope::kernels
