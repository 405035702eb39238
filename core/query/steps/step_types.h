#pragma once

#include "core/model/step_name.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <map>
#include <utility>

namespace tilescope::query {

/// What the steps of a run do, by the number of their process in the run (-1: the only one) and their own. A step whose name
/// says nothing trains if an optimizer's step, or a backward pass, is among its ranges, otherwise it is what its phases are: prefill,
/// decode, or generate if both are there. Reads the ranges of the run.
using StepTypes = std::map<std::pair<std::int32_t, std::int32_t>, StepType>;
StepTypes stepTypes(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
