#pragma once

#include <QStyle>
#include <QWidget>

namespace tilescope::ui {

/// Changes the kind of a widget, by which the style sheet chooses its look: "dim", "error".
inline void setKind(QWidget* widget, const char* kind)
{
    widget->setProperty("kind", kind);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

} // namespace tilescope::ui
