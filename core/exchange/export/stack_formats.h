#pragma once

#include "core/exchange/export/export_options.h"
#include "core/exchange/tables/columns.h"
#include "core/query/calls/call_tree.h"

#include <iosfwd>
#include <string>
#include <string_view>

namespace tilescope::exchange {

// Stacks in the formats of flame graph tools. Values are nanoseconds of GPU time, or of the self time of ops in a run
// without a GPU, or another weight of call trees; stacks of 0 are left out, except in pprof, which also counts activities.

/// The time of a whole run by what took it, with names as exporters write them.
struct ExportedTree {
    query::CallTree tree;
    query::CallWeight weight = query::CallWeight::Time;
    bool onGpu = true; ///< otherwise the self time of ops
};

/// The names of values in these formats.
struct ExportedWords {
    std::string title;  ///< GPU time
    const char* key;    ///< gpu_time
    const char* unit;   ///< nanoseconds
    const char* counts; ///< activities
    Unit shown;         ///< for messages
};
ExportedWords wordsOf(const ExportedTree& exported);

/// Idle time is that of the steps; all other weights are of the whole recording.
/// \throws Error  the run has none of it
ExportedTree exportedStacks(const store::RunReader& reader, const store::RunRecord& run,
                            const ExportOptions& options = {});

/// Folded stacks, a line each: `step;forward;layers.3;aten::mm;gemm 123`. In names `:` stands for `;`, and a space
/// for control characters.
void writeFolded(std::ostream& out, const ExportedTree& exported);

/// A profile of speedscope (speedscope.app), type sampled.
/// \param name  of the profile
void writeSpeedscope(std::ostream& out, const ExportedTree& exported, std::string_view name);

/// A profile of pprof (profile.proto), compressed. Sample types: those of wordsOf().
/// \param startedUnixNs  of the run
void writePprof(std::ostream& out, const ExportedTree& exported, std::int64_t startedUnixNs);

} // namespace tilescope::exchange
