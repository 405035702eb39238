#pragma once

#include "core/exchange/export/export_options.h"
#include "core/query/tables/call_tree.h"

#include <iosfwd>
#include <string_view>

namespace tilescope::exchange {

// Stacks in the formats of flame graph tools. Values are nanoseconds of GPU time, or of the self time of ops in a run
// without a GPU; stacks of 0 ns are left out, except in pprof, which also counts activities.

/// The time of a whole run by what took it, with names as exporters write them.
struct ExportedTree {
    query::CallTree tree;
    bool onGpu = true; ///< otherwise the self time of ops
};

/// \throws Error  the run has neither GPU activities nor ops
ExportedTree exportedStacks(const store::RunReader& reader, const store::RunRecord& run,
                            const ExportOptions& options = {});

/// Folded stacks, a line each: `step;forward;layers.3;aten::mm;gemm 123`. In names `:` stands for `;`, and a space
/// for control characters.
void writeFolded(std::ostream& out, const ExportedTree& exported);

/// A profile of speedscope (speedscope.app), type sampled.
/// \param name  of the profile
void writeSpeedscope(std::ostream& out, const ExportedTree& exported, std::string_view name);

/// A profile of pprof (profile.proto), compressed. Sample types: gpu_time in nanoseconds and activities; without a GPU
/// op_time and ops.
/// \param startedUnixNs  of the run
void writePprof(std::ostream& out, const ExportedTree& exported, std::int64_t startedUnixNs);

} // namespace tilescope::exchange
