#pragma once

#include "ui/overview/overview_figures.h"

namespace tilescope::ui {

/// Whether the runs are shown as generation of text: each has iterations of decode or prefill, and no time filter applies.
bool showsGeneration(const OverviewData& data);

/// Time to first token (of a server: prefill iterations), time per output token, tokens a second, GPU busy in decode iterations, use of
/// the memory's bandwidth.
/// \pre showsGeneration()
std::vector<KeyFigure> generationFigures(const OverviewData& data);

/// The type of the iterations that figures are of: decode, or prefill where no run decodes.
/// \pre showsGeneration()
QString iterationWord(const OverviewData& data);

/// What a mean iteration of that type is made of, a bar for each run.
/// \pre showsGeneration()
std::vector<StepBar> decodeBars(const OverviewData& data);

} // namespace tilescope::ui
