#pragma once

#include "core/report/document.h"
#include "core/report/study_runs.h"
#include "core/report/template.h"

namespace tilescope::report {

/// A table of a study. One unit a column; what ran out of memory, was skipped or failed says so in its field
/// and why in a note.
Table makeTable(const TableTemplate& wanted, const StudyRuns& study);

} // namespace tilescope::report
