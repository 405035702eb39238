#pragma once

#include <cstdint>

namespace tilescope::trace {

/// What a recording is for.
enum class Recording : std::uint8_t {
    Events, ///< everything the options ask for goes to the sink
    /// One step under all that Events switches on, so that what happens but once is behind the steps that
    /// count. Takes what one step suffices for: shapes of ops if wanted, the step's allocations
    /// (Tracer::rehearsedAllocations) with the ops that made them, and how often the host calls what is not
    /// stored. Nothing goes to the sink before the next Events.
    Rehearsal,
    /// While CUDA graphs are captured: which range each of their nodes was made in, and what was allocated
    /// for them (Tracer::captured). Nothing goes to the sink.
    Capture,
    /// One step of which only the order of its kernel launches is kept. Nothing goes to the sink.
    Launches,
};

} // namespace tilescope::trace
