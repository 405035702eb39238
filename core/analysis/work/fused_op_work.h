#pragma once

#include "core/analysis/work/op_work.h"

#include <optional>
#include <string_view>

namespace tilescope::analysis {

/// The work of a fused op of the language model's step (kernels/include/lm.h), such as
/// `tilescope::add_rms_norm`: the ops with OpKind::Fused.
///
/// Counts each operand, result and tensor changed in place once. The parts of a norm's weight gradient count
/// in the op that sums them.
/// \return  none if the shapes do not fit the op, or a required number was not recorded: the heads of
///          rotate_heads_, the vocabulary of embedding_backward
/// O(arguments).
std::optional<Work> workOfFusedOp(std::string_view op, const OpArguments& arguments,
                                  const WorkContext& context);

} // namespace tilescope::analysis
