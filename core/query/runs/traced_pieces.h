#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/model/spec.h"
#include "core/query/runs/run_tables.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A kernel of a traced step; on a CPU an op with its self time.
struct Piece {
    std::string_view path; ///< from step down
    std::string_view phase;
    std::string_view op; ///< that launched it; empty where that is not known
    std::string name;    ///< short
    std::string does;
    analysis::KernelFamily family = analysis::KernelFamily::Other;
    Nanoseconds time{0};
};

/// What the traced steps of a run were made of; the views live as long as the reader.
struct TracedPieces {
    std::vector<Piece> pieces;
    std::int64_t steps = 0;
    bool onGpu = false;
};

/// \throws Error  from the reader
TracedPieces tracedPieces(const store::RunReader& reader, RunId run);

/// The spec that a run was made with; none, and why, where this program does not understand it.
std::optional<ExperimentSpec> specOf(const store::RunRecord& run, std::string& why);

} // namespace tilescope::query
