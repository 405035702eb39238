#pragma once

#include "ui/overview/overview_figures.h"

namespace tilescope::ui {

/// Why these runs have no traced step: they are being written, ended before, or were not asked to trace. One
/// sentence per run; one for both if it is the same.
/// \param what  that the steps of an imported or recorded run lack
QString whyNoSteps(const OverviewData& data, const QString& what = QStringLiteral("ranges"));

/// Why a panel about all events is empty, which needs no steps in a recording.
QString whyNoEvents(const OverviewData& data, const QString& what);

/// Why these runs have no bytes at the peak.
QString whyNoAllocations(const OverviewData& data);

/// The reason in short, for the corner of a card: "not traced", "not traced yet" or "not reached".
QString noStepWords(const query::RunSummary& run);

} // namespace tilescope::ui
