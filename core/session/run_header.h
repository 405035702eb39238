#pragma once

#include "core/model/spec.h"
#include "core/store/run_writer.h"

namespace tilescope::session {

/// What a file keeps of a point before it runs.
store::RunHeader runHeader(const ExperimentSpec& spec);

} // namespace tilescope::session
