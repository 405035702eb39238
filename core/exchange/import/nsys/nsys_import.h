#pragma once

#include "core/exchange/import/import_progress.h"
#include "core/exchange/import/nsys/nsys_collectives.h"
#include "core/exchange/import/nsys/nsys_file.h"
#include "core/exchange/import/nsys/nsys_topology.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>

namespace tilescope::exchange {

/// What the parts of an import share. One thread.
struct NsysImport {
    const NsysFile& file;
    TraceBuilder& builder;
    NsysTopology& topology;
    NsysCollectives& collectives;
    ImportProgress& progress;
    std::int64_t graphLaunches = 0; ///< stored as one activity each
    std::int64_t ranges = 0;
    std::int64_t ops = 0;
};

/// Kernels, copies, memsets, and launches of CUDA graphs that were recorded as a whole.
void readNsysActivities(NsysImport& import);
/// Calls of the CUDA runtime and driver, waits, and overheads. After the activities.
void readNsysCalls(NsysImport& import);
/// NVTX ranges, and the ops that PyTorch marks by them.
void readNsysRanges(NsysImport& import);
/// Counts what the other functions do not read, and what the profiler reports to have dropped.
void countNsysLosses(NsysImport& import);

} // namespace tilescope::exchange
