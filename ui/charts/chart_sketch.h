#pragma once

#include "ui/charts/chart_recipe.h"

#include <QWidget>

#include <functional>
#include <optional>
#include <utility>

namespace tilescope::ui {

/// A chart without words, small enough for a row of a table: lines, points, markers of runs out of memory, and up to
/// three panels. On white paper, as the whole chart. The chart is made when it is first painted. GUI thread.
class ChartSketch : public QWidget {
    Q_OBJECT
public:
    using Drawn = std::pair<Chart, ChartRecipe>;

    explicit ChartSketch(std::function<Drawn()> make, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::function<Drawn()> make_;
    std::optional<Drawn> drawn_;
};

} // namespace tilescope::ui
