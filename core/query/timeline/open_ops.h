#pragma once

#include "core/model/events.h"
#include "core/store/run_reader.h"

#include <functional>
#include <vector>

namespace tilescope::query {

/// The ops that a thread was in at a moment, the outermost first.
std::vector<Op> openOps(const store::RunReader& reader, RunId run, ThreadId thread, Timestamp at);

/// What a thread launched within [from, to), in the order in which it started.
///
/// A launch may run long after: reading goes on until the device has come to what was launched later, and
/// some way further, as streams are not in step.
/// \param take  false ends it early
void eachLaunched(const store::RunReader& reader, RunId run, ThreadId thread, Timestamp from, Timestamp to,
                  const std::function<bool(const DeviceEvent&)>& take);

} // namespace tilescope::query
