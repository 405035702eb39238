#pragma once

#include "core/predict/target_device.h"
#include "core/store/run_reader.h"

namespace tilescope::query {

/// The device on which a run was executed, from its recorded facts: the GPU or, without one, the CPU. Its
/// name and id are those of its ceilings. The capacity is that of the GPU, and unknown for a CPU.
predict::TargetDevice deviceOfRun(const store::RunReader& reader, const store::RunRecord& run);

} // namespace tilescope::query
