#pragma once

#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/trace_builder.h"

#include <filesystem>

namespace tilescope::exchange {

/// Turns what importers collected into a run: one numbering, one time axis, nested host events, steps, launches,
/// paths. TraceBuilder::finish() describes the result. Consumes the trace.
/// \throws Error  there are no events, the output cannot be written, or the watch cancelled; `output` has no
///                new run then
RunId assembleRun(ForeignTrace& trace, const ForeignHeader& header, const std::filesystem::path& output,
                  const ImportWatch& watch);

} // namespace tilescope::exchange
