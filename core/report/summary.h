#pragma once

#include "core/report/document.h"

#include <vector>

namespace tilescope::report {

/// The findings and figures that fit on the first page.
inline constexpr std::size_t kMostHighlights = 6;
inline constexpr std::size_t kMostSummaryFigures = 4;

/// The strongest findings: of each study the conclusive one with the largest effect, or its first one if none compares
/// two configurations; those with the largest effect first. A single study has as many as fit. Long findings
/// are passed over. O(n log n).
std::vector<Highlight> highlightsOf(const std::vector<Section>& sections);

/// Figures of the document's highlights, each once. Of a study whose finding is shown by a timeline, which is
/// unreadable at that size, its first chart; without any chart the first timeline.
std::vector<const Figure*> summaryFigures(const Document& document);

} // namespace tilescope::report
