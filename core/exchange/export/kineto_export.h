#pragma once

#include "core/exchange/export/export_options.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tilescope::exchange {

/// What was written.
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
/// A process becomes a file. A run of one process is written to `path`; of several, to files beside it that end in
/// the rank, `x_rank0.json` for `x.json`, or in `_process0` if there are no distinct ranks: PyTorch writes one
/// trace for each rank, and HolisticTraceAnalysis reads those. A name that ends in .gz is compressed.
///
/// Times are exact: decimal microseconds with three digits, after baseTimeNanoseconds. Steps are called
/// `ProfilerStep#3`. Counters are events of phase C: of a GPU in its process, with the unit as the key. An activity whose launch call was not recorded, but the call's time, gets a call `cudaLaunchKernel`
/// of 0 ns there.
///
/// All files appear or none, except if the disk fails at the end. Besides a few texts, memory holds 4 bytes
/// for each API call with a correlation id, and the collectives.
/// \param path  not a recording; existing files are replaced
/// \throws Error  the run has no events; the files cannot be written
KinetoFigures writeKineto(const std::filesystem::path& path, const store::RunReader& reader,
                          const store::RunRecord& run, const ExportOptions& options = {});

} // namespace tilescope::exchange
