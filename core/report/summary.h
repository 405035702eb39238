#pragma once

#include "core/report/document.h"

#include <vector>

namespace tilescope::report {

/// The findings and figures that fit on the first page.
inline constexpr std::size_t kMostHighlights = 6;
inline constexpr std::size_t kMostSummaryFigures = 4;

/// The strongest findings, largest effect first: for each study, the conclusive finding with the largest
/// effect, or its first finding if none compares two configurations. A single study has as many findings as
/// fit. Skips long findings. O(n log n).
std::vector<Highlight> highlightsOf(const std::vector<Section>& sections);

/// Figures of the document's highlights, each once. Of a study whose finding is shown by a timeline, which is
/// unreadable at that size, its first chart; without any chart the first timeline.
std::vector<const Figure*> summaryFigures(const Document& document);

} // namespace tilescope::report
