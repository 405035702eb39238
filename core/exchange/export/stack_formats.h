#pragma once

#include "core/exchange/export/export_options.h"
#include "core/query/tables/call_tree.h"

#include <iosfwd>
#include <string_view>

namespace tilescope::exchange {

// Stacks in the formats of flame graph tools. Values are nanoseconds of GPU time; stacks of 0 ns are left out,
// except in pprof, which also counts activities.

/// The GPU time of a whole run by what launched it, with names as exporters write them.
/// \throws Error  the run has no GPU activities
query::CallTree exportedStacks(const store::RunReader& reader, const store::RunRecord& run,
                               const ExportOptions& options = {});

/// Folded stacks, a line each: `step;forward;layers.3;aten::mm;gemm 123`. In names `:` stands for `;`, and a space
/// for control characters.
void writeFolded(std::ostream& out, const query::CallTree& stacks);

/// A profile of speedscope (speedscope.app), type sampled.
/// \param name  of the profile
void writeSpeedscope(std::ostream& out, const query::CallTree& stacks, std::string_view name);

/// A profile of pprof (profile.proto), compressed. Sample types: gpu_time in nanoseconds and activities.
/// \param startedUnixNs  of the run
void writePprof(std::ostream& out, const query::CallTree& stacks, std::int64_t startedUnixNs);

} // namespace tilescope::exchange
