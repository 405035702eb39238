#pragma once

#include "core/analysis/kernels/kernel_families.h"

#include <string_view>

namespace tilescope::analysis {

/// The family of the work that an op does, by its name: `aten::mm`, `AddmmBackward0`, `aten::gelu_`.
///
/// Ops in the table (op_table.h) have the family of their row. An in-place op, a backward op and a node of the
/// backward graph have the family of the op after which they are named. Views and unknown names are Other. The
/// timeline, the overview, Compare, the roofline and the answers all use this function.
/// O(length + log rules).
KernelFamily familyOfOp(std::string_view op);

} // namespace tilescope::analysis
