#pragma once

#include "ui/experiment/sweep_progress.h"

#include <QString>
#include <QStringList>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// The points of a sweep as a table of its keys: one key down, the others across, nested.
struct PointGrid {
    QString rowKey;
    QStringList rows;                  ///< values of rowKey, in order
    QStringList columnKeys;            ///< the outermost first; none: one column
    std::vector<QStringList> columns;  ///< a value for each of columnKeys
    std::vector<std::ptrdiff_t> cells; ///< row by row: position of the point, -1 if there is none

    std::ptrdiff_t at(std::size_t row, std::size_t column) const
    {
        return cells[row * columns.size() + column];
    }
};

/// The grid of a sweep; null if a list is clearer: one point, points that differ in many keys, too many
/// cells, or mostly empty ones. O(points).
std::optional<PointGrid> gridOf(const std::vector<session::SweepPoint>& points);

/// The content of a cell, independent of its style.
struct GridCell {
    enum class Kind { Hole, Waiting, ExpectedOom, Running, Time, Oom, Skipped, Error, Cancelled, Stored };
    Kind kind = Kind::Hole;
    QString text;     ///< 12.3 ms, OOM, 62 %
    double shade = 0; ///< of a time: 0 the fastest of the sweep, 1 the slowest, by logarithm
};

/// A sweep prepared for display. The cost grows with its length: not for the GUI thread.
struct SweepPlan {
    SweepProgress progress; ///< nothing has run
    std::optional<PointGrid> grid;

    static std::shared_ptr<const SweepPlan> of(SweepProgress::Points points,
                                               std::optional<SweepForecast> forecast = {});
};

/// All cells of a grid, row by row. Each time has its unit: a slower point that ends later changes no other cell.
std::vector<GridCell> cellsOf(const PointGrid& grid, const SweepProgress& progress);

} // namespace tilescope::ui
