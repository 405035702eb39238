#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

/// An op as PyTorch's emit_nvtx writes it into the name of a range:
/// `aten::addmm, seq = 12, op_id = 345, sizes = [[768], [512, 768], [768, 768]]`.
struct NvtxOp {
    std::string_view name; ///< points into the text
    std::int64_t sequence = -1;
    std::string shapes = {}; ///< "[768] [512, 768] [768, 768]"; empty: not recorded
    bool isBackward = false; ///< isBackwardOp()
};

/// The shapes in a list of sizes, `[[768], [512, 768], []]`, as a recording writes them. O(length).
std::string shapesOfSizes(std::string_view list);

/// Whether a name is that of a node of the backward pass, AddmmBackward0, or of its evaluation (autograd_op.h).
bool isBackwardOp(std::string_view name);

/// Parses the name of a range. None if it is not an op. O(length).
std::optional<NvtxOp> parseNvtxOp(std::string_view text);

} // namespace tilescope
