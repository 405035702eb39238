#pragma once

#include "ui/overview/overview_figures.h"

namespace tilescope::ui {

/// Why the overview has no traced step of these runs: they are being written, they ended before they traced
/// one, or they were not asked to. One sentence a run; one for both where it is the same.
QString whyNoSteps(const OverviewData& data);

/// The same of what is allocated at the peak.
QString whyNoAllocations(const OverviewData& data);

/// "not traced", "not traced yet" or "not reached": the same in the corner of a card.
QString noStepWords(const query::RunSummary& run);

} // namespace tilescope::ui
