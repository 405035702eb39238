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
    Bytes allocated{};       ///< by them: what the allocator counted then
    Bytes reserved{};
    Bytes unknown{}; ///< of `allocated`, in no block that the run knows: one block stands for it
    /// The run knows no segments (a CPU's allocator has none): each block stands in one of its own.
    bool madeUpSegments = false;
    std::int64_t inconsistent = 0; ///< events that did not fit the segments
};

/// Writes a run's memory as the pickle that torch.cuda.memory._dump_snapshot writes, for PyTorch's
/// memory_viz: segments with their blocks at that moment, and the allocation events until then. Frames are
/// the op and the ranges around it, each with the C++ function, file and line that opened it where the run
/// knows them; user_metadata is the memory's category. A CPU's memory is shown as device
/// 0's.
///
/// Ranges of a run that is an imported snapshot are its stacks again.
/// \throws Error  the run has no allocation events; the stream cannot be written
SnapshotFigures writeSnapshot(std::ostream& out, const store::RunReader& reader, RunId run,
                              const SnapshotMoment& moment = {});

} // namespace tilescope::exchange
