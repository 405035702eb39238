#pragma once

#include "ui/charts/chart_recipe.h"

#include <optional>

namespace tilescope::ui {

/// The parts of the axes that all panels of a chart show.
struct ChartRanges {
    double xLow = 0;
    double xHigh = 0;
    double yLow = 0;
    double yHigh = 0;
};

/// Ranges that hold all points with their error bars and some space around them. A linear y axis begins at 0.
/// None without points.
std::optional<ChartRanges> rangesOf(const Chart& chart, const ChartRecipe& recipe);

} // namespace tilescope::ui
