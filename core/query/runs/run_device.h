#pragma once

#include "core/predict/target_device.h"
#include "core/store/run_reader.h"

namespace tilescope::query {

/// The device on which a run was executed, by its recorded facts: the GPU, or the CPU of a run without one. Its name and id
/// are those of its ceilings. The capacity is that of the GPU; it is unknown for a CPU.
predict::TargetDevice deviceOfRun(const store::RunReader& reader, const store::RunRecord& run);

} // namespace tilescope::query
