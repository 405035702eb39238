#pragma once

#include "core/report/document.h"
#include "core/report/study_runs.h"
#include "core/report/template.h"

namespace tilescope::report {

/// Makes a table of a study with one unit per column. The cell of a run that ran out of memory, was skipped
/// or failed contains its status; a note gives the reason. A row of skipped runs says so once, in its first such
/// cell. Columns without any result are left out; the caption names them.
Table makeTable(const TableTemplate& wanted, const StudyRuns& study);

} // namespace tilescope::report
