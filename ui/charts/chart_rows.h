#pragma once

#include "ui/charts/chart_recipe.h"
#include "ui/kit/table_model.h"

#include <QColor>

#include <functional>

namespace tilescope::ui {

/// The colour of the line of that place; none if rows have no swatch.
using LineColour = std::function<QColor(std::size_t)>;

/// The values behind a chart: one row per series, one column per x.
TableData chartRows(const Chart& chart, const LineColour& colour = {});

/// The same for a file: each x with error bars is followed by its ends.
TableData chartFileRows(const Chart& chart);

/// Its fits, with their predictions at the largest x of the chart; no rows if there are none.
TableData fitRows(const Chart& chart, const LineColour& colour = {});

} // namespace tilescope::ui
