#include "ui/theme/gradual_style.h"

#include <QApplication>
#include <QEvent>
#include <QStyle>
#include <QTimer>

#include <algorithm>

namespace tilescope::ui {

namespace {

void leaveOut(QWidget& widget)
{
    widget.style()->unpolish(&widget);
    widget.setAttribute(Qt::WA_WState_Polished, false);
}

void style(QWidget& widget)
{
    if (widget.testAttribute(Qt::WA_WState_Polished))
        return; // it was shown in the meantime
    widget.setAttribute(Qt::WA_WState_Polished);
    widget.style()->polish(&widget);
    QEvent changed(QEvent::StyleChange);
    QCoreApplication::sendEvent(&widget, &changed);
}

} // namespace

WidgetTurns innerWidgetsFirst(QWidget& widget)
{
    std::vector<QPointer<QWidget>> all{&widget};
    for (QWidget* inner : widget.findChildren<QWidget*>())
        all.emplace_back(inner);
    std::reverse(all.begin(), all.end());
    return WidgetTurns(std::move(all));
}

// Qt styles the widgets that it knows as polished, and others when they are shown.
void leaveOutHiddenWidgets()
{
    for (QWidget* widget : QApplication::allWidgets())
        if (!widget->isVisible())
            widget->setAttribute(Qt::WA_WState_Polished, false);
}

GradualStyle::GradualStyle(std::vector<std::function<void()>> steps, std::function<void()> done)
    : steps_(std::move(steps)), done_(std::move(done))
{
    for (QWidget* window : QApplication::topLevelWidgets())
        if (window->isVisible() && window->updatesEnabled()) {
            window->setUpdatesEnabled(false);
            windows_.emplace_back(window);
        }
    leaveOutHiddenWidgets();
    std::vector<QPointer<QWidget>> widgets;
    for (QWidget* widget : QApplication::allWidgets())
        if (widget->testAttribute(Qt::WA_WState_Polished))
            widgets.emplace_back(widget);
    leftOut_ = WidgetTurns(widgets);
    styled_ = WidgetTurns(std::move(widgets));
    QTimer::singleShot(0, this, &GradualStyle::takeTurn);
}

GradualStyle::~GradualStyle()
{
    for (const QPointer<QWidget>& window : windows_)
        if (window != nullptr)
            window->setUpdatesEnabled(true);
}

// Qt notifies every widget without its own style of a change of style. Here, each is notified when it is
// styled.
void GradualStyle::takeStep(const std::function<void()>& step)
{
    std::vector<QWidget*> quiet;
    for (QWidget* widget : QApplication::allWidgets())
        if (!widget->testAttribute(Qt::WA_SetStyle)) {
            widget->setAttribute(Qt::WA_SetStyle);
            quiet.push_back(widget);
        }
    step();
    for (QWidget* widget : quiet)
        widget->setAttribute(Qt::WA_SetStyle, false);
}

void GradualStyle::takeTurn()
{
    if (leftOut_.take(leaveOut)) {
        if (step_ < steps_.size()) {
            takeStep(steps_[step_++]);
        } else if (styled_.take(style)) {
            const std::function<void()> done = std::move(done_); // it may delete this
            return done();
        }
    }
    QTimer::singleShot(0, this, &GradualStyle::takeTurn);
}

} // namespace tilescope::ui
