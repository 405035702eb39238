#pragma once

#include "core/store/run_reader.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// Which moment of a run a snapshot shows.
struct SnapshotMoment {
    bool peak = false;                  ///< when most was allocated, instead of the end
    std::optional<Nanoseconds> at = {}; ///< from the run's first event
};

/// What was written.
struct SnapshotFigures {
    std::int64_t events = 0;
    std::int64_t segments = 0;
    std::int64_t blocks = 0; ///< allocated ones
    Bytes allocated{};       ///< the allocator's count at that moment
    Bytes reserved{};
    Bytes unknown{}; ///< part of `allocated` in no known block; one block represents it
    /// The run has no segments (a CPU's allocator has none): each block gets its own segment.
    bool madeUpSegments = false;
    std::int64_t inconsistent = 0; ///< events that did not fit the segments
};

/// Writes a run's memory as a pickle like that of torch.cuda.memory._dump_snapshot, for PyTorch's memory_viz:
/// segments with their blocks at that moment, and the allocation events until then. Frames are the op and its
/// ranges, each with the C++ function, file and line that opened it if known; user_metadata is the memory's
/// category. A CPU's memory is written as device 0's.
///
/// The ranges of an imported snapshot are converted back to stacks.
/// \throws Error  the run has no allocation events; the stream cannot be written
SnapshotFigures writeSnapshot(std::ostream& out, const store::RunReader& reader, RunId run,
                              const SnapshotMoment& moment = {});

} // namespace tilescope::exchange
