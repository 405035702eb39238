#pragma once

#include "core/analysis/work/tensor_shape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// Why an op cannot be measured alone, in a clause; none if it can. Replayable are ops of ATen and Tilescope that have a
/// rule (op_table.h), change none of their arguments and take only what a call alone provides.
std::optional<std::string> whyNotReplayable(std::string_view op);

/// What integer tensors among the arguments of an op must be below: they are rows of a table, or classes.
/// O(arguments).
std::int64_t indexLimit(std::string_view op, const OpArguments& arguments);

} // namespace tilescope::analysis
