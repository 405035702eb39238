#pragma once

#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/trace_builder.h"

#include <filesystem>

namespace tilescope::exchange {

/// Turns the records that importers collected into a run: assigns numbers, places times on one axis, nests host
/// events, and finds steps, launches and paths. TraceBuilder::finish() describes the result. Consumes the trace.
/// \throws Error  there are no events, the output cannot be written, or the watch cancelled; `output` has no
///                new run then
RunId assembleRun(ForeignTrace& trace, const ForeignHeader& header, const std::filesystem::path& output,
                  const ImportWatch& watch);

} // namespace tilescope::exchange
