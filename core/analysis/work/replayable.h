#pragma once

#include "core/analysis/work/tensor_shape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::analysis {

/// Why an op cannot be measured alone, in a clause; none if it can. An op is replayable if it belongs to ATen or
/// Tilescope, has a rule (op_table.h), changes none of its arguments and needs only what the recorded call contains.
std::optional<std::string> whyNotReplayable(std::string_view op);

/// The exclusive upper limit of integers in the tensors of an op: its integers index rows of a table, or classes.
/// O(arguments).
std::int64_t indexLimit(std::string_view op, const OpArguments& arguments);

} // namespace tilescope::analysis
