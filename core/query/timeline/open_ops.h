#pragma once

#include "core/model/events.h"
#include "core/store/run_reader.h"

#include <functional>
#include <vector>

namespace tilescope::query {

/// The ops that a thread is executing at a moment, outermost first.
std::vector<Op> openOps(const store::RunReader& reader, RunId run, ThreadId thread, Timestamp at);

/// The activities that a thread launched within [from, to), by start.
///
/// An activity may start long after its launch: reading continues until the device reaches later launches,
/// plus a margin because streams are not synchronized.
/// \param take  returns false to stop
void eachLaunched(const store::RunReader& reader, RunId run, ThreadId thread, Timestamp from, Timestamp to,
                  const std::function<bool(const DeviceEvent&)>& take);

} // namespace tilescope::query
