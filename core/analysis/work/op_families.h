#pragma once

#include "core/analysis/kernels/kernel_families.h"

#include <string_view>

namespace tilescope::analysis {

/// The family of the work that an op does, by its name: `aten::mm`, `AddmmBackward0`, `aten::gelu_`.
///
/// The rules that count work (ruleOf) decide where they know the op; an in-place op, a backward op and a node
/// of the backward graph belong to the family of the op that they are named after. Views and names that
/// nothing is known of are Other. This is the only place that tells what an op is for: the timeline, the
/// overview, Compare, the roofline and the answers all ask here.
/// O(length + log rules).
KernelFamily familyOfOp(std::string_view op);

} // namespace tilescope::analysis
