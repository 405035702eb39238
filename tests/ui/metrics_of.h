#pragma once

#include "core/model/counter_track.h"
#include "core/model/events.h"
#include "core/model/strings.h"

#include <vector>

namespace tilescope::test {

/// Metrics of GPU 0 during a trace: samples of 100 us, each by the families of the kernels in it, with a hole of five.
std::vector<CounterTrack> metricsOf(const TraceBatch& batch, const StringTable& strings);

} // namespace tilescope::test
