#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_tables.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// The kernels of one name at one place in the traced steps; on a CPU the ops, with their self time.
struct Piece {
    std::string_view path; ///< begins with `step`
    std::string_view phase;
    bool isBatched = false; ///< a batched matrix product launched them, or they are one
    std::string name;       ///< short name
    std::string does;
    analysis::KernelFamily family = analysis::KernelFamily::Other;
    Nanoseconds time{0};
    std::int64_t instances = 0;
};

/// The kernels or ops of a run's traced steps. Views are valid as long as the reader.
struct TracedPieces {
    std::vector<Piece> pieces;
    std::int64_t steps = 0;
    bool onGpu = false;
};

/// Reads no events if the file has totals of the run's steps that suffice.
/// \param topology  only these processes and devices; empty: all
/// \throws Error  from the reader, or the run has no such process or device
TracedPieces tracedPieces(const store::RunReader& reader, RunId run, const ProcessQuery& topology = {});

} // namespace tilescope::query
