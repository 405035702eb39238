#include "ui/theme/gradual_style.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QStyle>
#include <QTimer>

#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kTurnMs = 12;

// Calls `act` with the widgets from `next` on until the time slice ends. Returns whether all widgets were
// processed.
template <class Act>
bool eachInTurn(const std::vector<QPointer<QWidget>>& widgets, std::size_t& next, const Act& act)
{
    QElapsedTimer turn;
    turn.start();
    for (; next < widgets.size() && turn.elapsed() < kTurnMs; ++next)
        if (widgets[next] != nullptr)
            act(*widgets[next]);
    return next == widgets.size();
}

} // namespace

GradualStyle::GradualStyle(std::vector<std::function<void()>> steps, std::function<void()> done)
    : steps_(std::move(steps)), done_(std::move(done))
{
    for (QWidget* window : QApplication::topLevelWidgets())
        if (window->isVisible() && window->updatesEnabled()) {
            window->setUpdatesEnabled(false);
            windows_.emplace_back(window);
        }
    for (QWidget* widget : QApplication::allWidgets())
        if (widget->testAttribute(Qt::WA_WState_Polished))
            widgets_.emplace_back(widget);
    QTimer::singleShot(0, this, &GradualStyle::takeTurn);
}

GradualStyle::~GradualStyle()
{
    for (const QPointer<QWidget>& window : windows_)
        if (window != nullptr)
            window->setUpdatesEnabled(true);
}

// Qt leaves out widgets that it does not know as polished.
bool GradualStyle::leaveOut()
{
    return eachInTurn(widgets_, left_, [](QWidget& widget) {
        widget.style()->unpolish(&widget);
        widget.setAttribute(Qt::WA_WState_Polished, false);
    });
}

bool GradualStyle::style()
{
    return eachInTurn(widgets_, styled_, [](QWidget& widget) {
        widget.setAttribute(Qt::WA_WState_Polished);
        widget.style()->polish(&widget);
        QEvent changed(QEvent::StyleChange);
        QCoreApplication::sendEvent(&widget, &changed);
    });
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
    if (leaveOut()) {
        if (step_ < steps_.size()) {
            takeStep(steps_[step_++]);
        } else if (style()) {
            const std::function<void()> done = std::move(done_); // it may delete this
            return done();
        }
    }
    QTimer::singleShot(0, this, &GradualStyle::takeTurn);
}

} // namespace tilescope::ui
