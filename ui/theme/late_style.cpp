#include "ui/theme/late_style.h"

#include "ui/theme/theme.h"

#include <QCoreApplication>
#include <QEvent>
#include <QStyle>

#include <utility>

namespace tilescope::ui {

LateStyle::LateStyle(QWidget& widget) : QObject(&widget), widget_(widget)
{
    widget.installEventFilter(this);
    connect(&Theme::instance(), &Theme::aboutToChange, this, &LateStyle::leaveOut);
}

// Qt styles the widgets that it knows as polished.
void LateStyle::leaveOut()
{
    if (widget_.isVisible())
        return;
    QList<QWidget*> all = widget_.findChildren<QWidget*>();
    all.prepend(&widget_);
    for (QWidget* each : all) {
        if (!each->testAttribute(Qt::WA_WState_Polished))
            continue;
        each->setAttribute(Qt::WA_WState_Polished, false);
        waiting_.emplace_back(each);
    }
}

void LateStyle::style()
{
    for (const QPointer<QWidget>& each : std::exchange(waiting_, {})) {
        if (each == nullptr)
            continue;
        each->setAttribute(Qt::WA_WState_Polished);
        each->style()->polish(each);
        QEvent changed(QEvent::StyleChange);
        QCoreApplication::sendEvent(each, &changed);
    }
}

bool LateStyle::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Show)
        style();
    return QObject::eventFilter(watched, event);
}

} // namespace tilescope::ui
