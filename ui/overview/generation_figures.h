#pragma once

#include "ui/overview/overview_figures.h"

namespace tilescope::ui {

/// Whether the runs are shown as generation of text: each has decode iterations, and no time filter applies.
bool showsGeneration(const OverviewData& data);

/// Time to first token (of a server: prefill iterations), time per output token, tokens a second, GPU busy in decode iterations, use of
/// the memory's bandwidth.
/// \pre showsGeneration()
std::vector<KeyFigure> generationFigures(const OverviewData& data);

/// What a mean decode iteration is made of, a bar for each run.
/// \pre showsGeneration()
std::vector<StepBar> decodeBars(const OverviewData& data);

} // namespace tilescope::ui
