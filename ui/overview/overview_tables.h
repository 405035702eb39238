#pragma once

#include "ui/kit/run_columns.h"
#include "ui/overview/overview_figures.h"

namespace tilescope::ui {

/// Whether all runs cover a whole recording, of which steps are a part.
bool coversRecordings(const OverviewData& data);

/// Families by time a step, or by time in the whole recording or the time span: kernels on a GPU, ops' self time on a
/// CPU; two runs side by side.
TableData familyShareRows(const OverviewData& data);

/// Ranges below the step by wall time a step, or in the time span.
TableData rangeShareRows(const OverviewData& data);

/// What is allocated at the peak by where it was allocated, all layers of a model as one; the largest first.
TableData allocationRows(const OverviewData& data);

/// Three or more runs, one per row: step time with its interval, speedup over the first, peak memory.
TableData runRows(const std::vector<NamedRun>& runs);

} // namespace tilescope::ui
