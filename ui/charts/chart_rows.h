#pragma once

#include "ui/charts/chart_recipe.h"
#include "ui/kit/table_model.h"

#include <QColor>

#include <cstddef>
#include <functional>
#include <limits>

namespace tilescope::ui {

/// The colour of the line of that place; none if rows have no swatch.
using LineColour = std::function<QColor(std::size_t)>;

/// The values behind a chart: one row per series, one column per x. Nothing if the chart is empty.
/// \param most  of the columns with an x; the first ones
TableData chartRows(const Chart& chart, const LineColour& colour = {},
                    std::size_t most = std::numeric_limits<std::size_t>::max());

/// The same for a file: each x with error bars is followed by its ends.
TableData chartFileRows(const Chart& chart);

/// Its fits, with their predictions at the largest x of the chart; no rows if there are none.
TableData fitRows(const Chart& chart, const LineColour& colour = {});

} // namespace tilescope::ui
