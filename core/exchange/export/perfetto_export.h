#pragma once

#include "core/exchange/export/export_options.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <iosfwd>

namespace tilescope::exchange {

/// What was written.
struct PerfettoFigures {
    std::int64_t gpuEvents = 0;  ///< kernels, copies and memsets
    std::int64_t slices = 0;     ///< ranges, ops, API calls and frames of threads
    std::int64_t launches = 0;   ///< instants for launches whose call was not recorded
    std::int64_t flows = 0;      ///< arrows from a launch to what ran on a device
    std::int64_t counters = 0;   ///< values of memory
    std::int64_t readings = 0;   ///< of clocks, power and other counters
    std::int64_t moreTracks = 0; ///< tracks besides the first of a thread, for slices that overlap
};

/// Writes a run as a native trace of Perfetto (a sequence of TracePacket).
///
/// Kernels, copies and memsets are GpuRenderStageEvents, one hardware queue for each stream. What threads did are
/// TrackEvents; a slice that overlaps another one without lying in it goes to a further track of the same name.
/// Allocated and reserved bytes are counter tracks, one pair for each device, and so are the counters read during the run. A launch points to what it started by
/// the extension GpuCorrelation; if the run recorded only the time of the launch, an instant `launch` does.
/// Times are those of the recording, moved if they would be negative.
///
/// Reads the run in intervals; besides them, memory holds 8 bytes for each device event that has a launch, and
/// the collectives.
/// \throws Error  the run has no events
PerfettoFigures writePerfetto(std::ostream& out, const store::RunReader& reader, const store::RunRecord& run,
                              const ExportOptions& options = {});

} // namespace tilescope::exchange
