#pragma once

#include <QPainter>

namespace tilescope::ui {

/// Fills a box with diagonal lines.
inline void fillHatched(QPainter& painter, const QRectF& box, const QColor& lines, const QColor& ground)
{
    painter.fillRect(box, ground);
    painter.fillRect(box, QBrush(lines, Qt::BDiagPattern));
}

} // namespace tilescope::ui
