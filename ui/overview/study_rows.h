#pragma once

#include "core/report/document.h"
#include "ui/kit/table_model.h"

#include <vector>

namespace tilescope::ui {

/// Whether a figure is a timeline, not a chart.
bool isTimeline(const report::Figure& figure);

std::vector<const report::Figure*> chartsOf(const report::Section& section);

/// One row per study: its question, its first finding and its state; the id is the index of the section.
/// \param hasCharts  adds a first column with room for a chart, and its caption as text
TableData studyRows(const report::Document& document, bool hasCharts = false);

} // namespace tilescope::ui
