#pragma once

#include <QColor>

#include <optional>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// A stretch of a column of pixels: from `top` to before `bottom`, in logical pixels.
struct ColumnBand {
    int top = 0;
    int bottom = 0;
};

/// Fills one stretch of each column from `left` on. On screen as rectangles, which a raster painter fills ten
/// times as fast as a polygon of as many corners; in a file as one polygon.
void fillBands(QPainter& painter, int left, const std::vector<ColumnBand>& bands, const QColor& colour);

/// Fills with diagonal lines, over `ground` if given.
void hatchBands(QPainter& painter, int left, const std::vector<ColumnBand>& bands, const QColor& lines,
                const std::optional<QColor>& ground = {});

} // namespace tilescope::ui
