#pragma once

#include "core/analysis/work/op_work.h"

#include <optional>
#include <string_view>

namespace tilescope::analysis {

/// The work of a fused op of the language model's step (kernels/include/lm.h): rows of `tilescope::add_rms_norm` and the
/// others of OpKind::Fused.
///
/// Bytes are those that the kernel reads and writes once: operands, results, and what it changes in place. The parts of a
/// norm's weight gradient count where they are summed.
/// \return  none if the shapes do not fit the op, or a number that it needs was not recorded: the heads of rotate_heads_,
///          the vocabulary of embedding_backward
/// O(arguments).
std::optional<Work> workOfFusedOp(std::string_view op, const OpArguments& arguments,
                                  const WorkContext& context);

} // namespace tilescope::analysis
