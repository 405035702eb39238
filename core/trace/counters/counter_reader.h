#pragma once

#include "core/model/run.h"
#include "core/trace/counters/counter_api.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::trace {

class Tracer;

/// The result of reading counters.
struct CounterReading {
    std::vector<CounterValue> values;
    std::string whyNot; ///< one sentence; empty if they were read
};

/// Reads hardware counters of every range of a step, in separate steps: one that records which range launches
/// what, then as many as the metrics need, in which each kernel runs alone. Session thread.
/// \param tracer  provides the ranges; it must not be recording
/// \param step    runs a step and leaves the device idle; must run the same kernels in the same order each
///                time
CounterReading readCounters(std::span<const std::string> counters, Tracer& tracer,
                            const std::function<void()>& step, CounterApi& api = realCounters());

} // namespace tilescope::trace
