#pragma once

#include "ui/charts/chart_recipe.h"
#include "ui/kit/workspace.h"

namespace tilescope::ui {

/// The command that draws a chart of these runs, with its values as CSV, into `folder`. The recipe is a word of it.
/// The command names the runs, unless they are all runs of their files.
QString chartCommand(ChartRecipe recipe, const std::vector<SelectedRun>& runs, const QString& folder);

} // namespace tilescope::ui
