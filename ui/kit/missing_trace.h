#pragma once

#include "core/query/file_session.h"

#include <QString>

namespace tilescope::ui {

/// Whether the spec of the run asks for traced steps.
bool wantsTrace(const query::RunSummary& run);

/// The page that explains a run best: timeline if it has traced steps, otherwise overview.
QString explainingPage(const query::RunSummary& run);

/// Why a run has no trace, for reasons other than its keys: "The run ended before a step was traced: error, timed out
/// after 600 s.", "The run was skipped: …". Empty if the run does not request a trace, ended normally or still runs.
QString whyTraceIsMissing(const query::RunSummary& run);

/// A part of a trace that a run lacks.
enum class MissingPart { Work, Shapes, Memory };

/// What to do for the part to be there, as a sentence: a key of the spec, or an option of the recorder or profiler for a
/// recording of another program.
QString remedyFor(MissingPart part, const query::RunSummary& run);

/// Why the activities of a run's GPU were not recorded; empty if they were.
QString whyGpuIsMissing(const query::RunSummary& run);

} // namespace tilescope::ui
