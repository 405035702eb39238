#pragma once

#include "core/model/spec.h"
#include "core/store/run_writer.h"

namespace tilescope::session {

/// The data that a file stores about a point before it runs.
/// \param point  its position in the whole sweep
store::RunHeader runHeader(const ExperimentSpec& spec, std::int64_t point);

} // namespace tilescope::session
