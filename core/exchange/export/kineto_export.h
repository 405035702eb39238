#pragma once

#include "core/exchange/export/export_options.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tilescope::exchange {

/// The numbers of events that were written.
struct KinetoFigures {
    std::vector<std::filesystem::path> files = {};
    std::int64_t gpuEvents = 0;  ///< kernels, copies and memsets
    std::int64_t hostEvents = 0; ///< ops, ranges, API calls and frames
    std::int64_t launches = 0;   ///< calls that stand for launches of which only the time was recorded
    std::int64_t memory = 0;     ///< allocations and frees
    std::int64_t waits = 0;
    std::int64_t readings = 0; ///< of clocks, power and other counters
    std::int64_t leftOut = 0;  ///< events of segments and of the allocator that the format does not have
};

/// Writes a run as the Chrome trace that PyTorch's profiler (Kineto) writes.
///
/// Each process becomes a file. A run of one process is written to `path`. For several processes, the names of the
/// files end in the rank, `x_rank0.json` for `x.json`, or in `_process0` if there are no distinct ranks: PyTorch
/// writes one trace per rank, and HolisticTraceAnalysis reads such files. A file whose name ends in .gz is compressed.
///
/// Times are exact: decimal microseconds with three digits, after baseTimeNanoseconds. Steps are named
/// `ProfilerStep#3`. Counters are events of phase C with the unit as the key; those of a GPU are in its process.
/// If only the time of an activity's launch was recorded, a call `cudaLaunchKernel` of 0 ns is added at that time.
///
/// Either all files are written or none, unless the disk fails at the end. Besides a few texts, memory holds
/// the collectives and 4 bytes per API call with a correlation id.
/// \param path  not a recording; existing files are replaced
/// \throws Error  the run has no events; the files cannot be written
KinetoFigures writeKineto(const std::filesystem::path& path, const store::RunReader& reader,
                          const store::RunRecord& run, const ExportOptions& options = {});

} // namespace tilescope::exchange
