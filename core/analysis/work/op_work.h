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

/// What the shapes of an op do not tell.
struct WorkContext {
    int elementBytes = 4; ///< of tensors whose type was not recorded
    bool causal = false;  ///< whether fused attention hides later keys
};

/// What op_table.h says about an op whose work is counted.
struct OpRule {
    KernelFamily family = KernelFamily::Other;
    bool moves = true; ///< false: a view, which computes nothing and moves nothing
};

/// How the work of an op (aten::mm) is counted; none if it is not. O(log rules).
std::optional<OpRule> ruleOf(std::string_view op);

/// The names of all ops with a rule, sorted.
std::vector<std::string_view> opsWithRules();

/// What an op computes and moves, from the shapes of its tensors; resources/help/analysis.md has the rules.
///
/// Matmuls and attention count two per multiply-add, as PyTorch's FlopCounterMode does; fused attention
/// counts only the pairs that a causal mask leaves, and in backward the scores that it computes again. Other
/// ops count each arithmetic operation and each elementary function as one. Bytes are the operands once and
/// the result once; a tensor that was expanded counts in full, because shapes do not tell strides.
/// \return  none where there is no rule, or the shapes do not fit it
/// O(length of shapes).
std::optional<Work> workOfOp(std::string_view op, std::string_view shapes, const WorkContext& context);

} // namespace tilescope::analysis
