#pragma once

#include "ui/models/overview_figures.h"

namespace tilescope::ui {

/// Families by time a step: kernels on a GPU, ops' own time on a CPU; two runs side by side.
TableData familyShareRows(const OverviewData& data);

/// Ranges below the step by wall time a step.
TableData rangeShareRows(const OverviewData& data);

/// What is allocated at the peak by where it was allocated, all layers of a model as one; the largest first.
TableData allocationRows(const OverviewData& data);

} // namespace tilescope::ui
