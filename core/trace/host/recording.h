#pragma once

#include <cstdint>

namespace tilescope::trace {

/// The purpose of a recording.
enum class Recording : std::uint8_t {
    Events, ///< everything that the options request goes to the sink
    /// One step with everything enabled that Events uses, so that one-time costs precede the steps that
    /// count. Records what a single step suffices for: shapes of ops if requested, the step's allocations
    /// with their ops (Tracer::referenceAllocations), and how often the host makes calls that are not stored.
    /// Nothing goes to the sink before the next Events.
    ReferenceStep,
    /// During the capture of CUDA graphs: the range and the op of each node, and the allocations made for them
    /// (Tracer::captured). Nothing goes to the sink before the next Events, which hands on the ops of the nodes.
    Capture,
    /// One step, recording only the order of its kernel launches. Nothing goes to the sink.
    Launches,
};

} // namespace tilescope::trace
