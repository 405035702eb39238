#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/analysis/work/work.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Properties of an op that its shapes do not contain.
struct WorkContext {
    int elementBytes = 4; ///< bytes of an element in tensors without a recorded type
    /// Whether fused attention is causal if the call does not say so; none: unknown, so its work is unknown, too.
    std::optional<bool> causal = false;
};

/// The entry in op_table.h of an op with known work.
struct OpRule {
    KernelFamily family = KernelFamily::Other;
    bool moves = true; ///< false: a view, which computes nothing and moves nothing
};

/// How the work of an op (aten::mm) is counted; none if it is not. An in-place op (aten::relu_) without a row of its own
/// counts as the op after which it is named. A kernel of TorchInductor (triton_poi_fused_…) has a rule, too.
/// O(log rules).
std::optional<OpRule> ruleOf(std::string_view op);

/// Whether an op only calls others, which are counted: aten::matmul, or a node of autograd such as AddmmBackward0.
bool callsOthers(std::string_view op);

/// The names of all ops with a rule, sorted.
std::vector<std::string_view> opsWithRules();

/// Why no rule can count an op, in a clause; empty if that is not known.
std::string_view whyNoRule(std::string_view op);

/// The FLOPs and bytes of an op, from the shapes of its tensors, by the rules in resources/help/analysis.md.
///
/// Matmuls and attention count two FLOPs per multiply-add, like PyTorch's FlopCounterMode. Fused attention
/// counts only the visible pairs under a causal mask, and in backward the recomputed scores. Other ops count
/// each arithmetic operation and each elementary function as one FLOP. Bytes count each operand and the
/// result once; an expanded tensor counts in full, because shapes do not contain strides.
/// \return  none if there is no rule, the shapes do not fit it, or it needs an argument that was not recorded
/// O(length of shapes).
std::optional<Work> workOfOp(std::string_view op, std::string_view shapes, const WorkContext& context);

} // namespace tilescope::analysis
