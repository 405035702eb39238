#pragma once

#include "core/query/file_session.h"

#include <QString>

namespace tilescope::ui {

/// Whether the spec of the run asks for traced steps.
bool wantsTrace(const query::RunSummary& run);

/// The page that explains a run best: timeline if it has traced steps, otherwise overview.
QString explainingPage(const query::RunSummary& run);

/// Why a run has no trace that giving it other keys would not add: "The run ended before a step was traced: error, timed out
/// after 600 s.", "The run was skipped: …". Empty if it does not want a trace, has ended well or goes on.
QString whyTraceIsMissing(const query::RunSummary& run);

/// What kept the activities of a run's GPU from being recorded; empty if nothing did.
QString whyGpuIsMissing(const query::RunSummary& run);

} // namespace tilescope::ui
