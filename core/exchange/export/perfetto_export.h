#pragma once

#include "core/exchange/export/export_options.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <iosfwd>

namespace tilescope::exchange {

/// The numbers of events that were written.
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
/// Kernels, copies and memsets are GpuRenderStageEvents, with one hardware queue per stream. Events of threads are
/// TrackEvents; a slice that partly overlaps another goes to an additional track of the same name. Allocated and
/// reserved bytes are counter tracks, one pair per device; counters read during the run are counter tracks, too. The
/// extension GpuCorrelation connects a launch to the activity that it started. If only the time of the launch was
/// recorded, an instant `launch` represents it. Times are those of the recording, shifted if they would be negative.
///
/// Reads the run in intervals. Besides one interval, memory holds the collectives and 8 bytes per device
/// event with a launch.
/// \throws Error  the run has no events
PerfettoFigures writePerfetto(std::ostream& out, const store::RunReader& reader, const store::RunRecord& run,
                              const ExportOptions& options = {});

} // namespace tilescope::exchange
