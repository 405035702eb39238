#pragma once

#include <QColor>
#include <QIcon>
#include <QRectF>

class QPainter;

namespace tilescope::ui {

/// The icons, drawn as lines on a grid of 24 units.
enum class Icon {
    Overview,
    Experiment,
    Timeline,
    Flame,
    Kernels,
    Memory,
    Compare,
    Charts,
    Query,
    Machine,
    Waiting,
    Help,
    Search,
    ChevronDown,
    ChevronRight,
    ChevronLeft,
    Back,
    Forward,
    Swap,
    Check,
    Warning,
    Error,
    Info,
    Running,
    Skipped,
    Cancelled,
    Close,
    Plus,
    Down, ///< filled triangle: less
    Up,   ///< filled triangle: more
};

/// Draws `icon` into `rect` (square) with lines of one colour.
void paintIcon(QPainter& painter, Icon icon, const QRectF& rect, const QColor& colour);

/// The icon as a QIcon of `size` pixels, sharp on any screen.
QIcon makeIcon(Icon icon, const QColor& colour, int size);

} // namespace tilescope::ui
