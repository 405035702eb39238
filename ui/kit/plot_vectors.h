#pragma once

class QCustomPlot;
class QPainter;
class QSize;

namespace tilescope::ui {

/// Draws a plot as shapes and text into the logical rectangle (0, 0, size) of any painter.
void drawPlot(QCustomPlot& plot, QPainter& painter, const QSize& size);

} // namespace tilescope::ui
