#include "ui/theme/restyling.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QStyle>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kTurnMs = 12;

bool isStyled(const QWidget& widget)
{
    return widget.testAttribute(Qt::WA_WState_Polished);
}

// Qt leaves out widgets that it does not know as styled.
void leaveOut(QWidget& widget)
{
    widget.setAttribute(Qt::WA_WState_Polished, false);
}

void styleAgain(QWidget& widget)
{
    widget.setAttribute(Qt::WA_WState_Polished);
    widget.style()->polish(&widget);
    QEvent changed(QEvent::StyleChange);
    QCoreApplication::sendEvent(&widget, &changed);
}

// Calls `act` with the widgets from `next` on until the turn ends. Returns whether all widgets were processed.
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

void Restyling::styleWhenShown(QWidget& page)
{
    std::erase_if(pages_, [](const Page& known) { return known.widget == nullptr; });
    pages_.push_back({&page, {}});
    page.installEventFilter(this);
}

void Restyling::leaveOutHiddenPages()
{
    for (Page& page : pages_) {
        if (page.widget == nullptr || page.widget->isVisible())
            continue;
        for (const QPointer<QWidget>& widget : widgetsOf(*page.widget))
            if (isStyled(*widget)) {
                leaveOut(*widget);
                page.waiting.push_back(widget);
            }
    }
}

bool Restyling::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Show) {
        const auto page = std::ranges::find(pages_, watched, [](const Page& each) { return each.widget; });
        if (page != pages_.end())
            for (const QPointer<QWidget>& widget : std::exchange(page->waiting, {}))
                if (widget != nullptr)
                    styleAgain(*widget);
    }
    return QObject::eventFilter(watched, event);
}

void Restyling::start(std::vector<std::function<void()>> steps, std::function<void()> done)
{
    stop();
    isUnderWay_ = true;
    steps_ = std::move(steps);
    done_ = std::move(done);
    for (QWidget* window : QApplication::topLevelWidgets())
        if (window->isVisible() && window->updatesEnabled()) {
            window->setUpdatesEnabled(false);
            windows_.emplace_back(window);
        }
    for (QWidget* widget : QApplication::allWidgets())
        if (isStyled(*widget))
            widgets_.emplace_back(widget);
    left_ = step_ = styled_ = 0;
    QTimer::singleShot(0, this, [this, work = ++work_] {
        if (work == work_)
            takeTurn();
    });
}

void Restyling::stop()
{
    ++work_;
    isUnderWay_ = false;
    steps_.clear();
    done_ = nullptr;
    widgets_.clear();
    for (const QPointer<QWidget>& window : std::exchange(windows_, {}))
        if (window != nullptr)
            window->setUpdatesEnabled(true);
}

// Qt notifies every widget without its own style of a change of style. Here, each is notified when it is styled.
void Restyling::takeStep(const std::function<void()>& step)
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

void Restyling::takeTurn()
{
    const auto unpolish = [](QWidget& widget) {
        widget.style()->unpolish(&widget);
        leaveOut(widget);
    };
    if (eachInTurn(widgets_, left_, unpolish)) {
        if (step_ < steps_.size()) {
            takeStep(steps_[step_++]);
        } else if (eachInTurn(widgets_, styled_, styleAgain)) {
            const unsigned work = work_;
            if (const std::function<void()> done = std::exchange(done_, nullptr))
                done(); // it may start other work
            if (work == work_)
                stop();
            return;
        }
    }
    QTimer::singleShot(0, this, [this, work = work_] {
        if (work == work_)
            takeTurn();
    });
}

std::vector<QPointer<QWidget>> Restyling::widgetsOf(QWidget& hidden)
{
    std::vector<QPointer<QWidget>> all{&hidden};
    for (QWidget* widget : hidden.findChildren<QWidget*>())
        all.emplace_back(widget);
    return all;
}

bool Restyling::polishSome(std::vector<QPointer<QWidget>>& left)
{
    QElapsedTimer turn;
    turn.start();
    // Inner ones first: a widget styles all that is in it.
    for (; !left.empty() && turn.elapsed() < kTurnMs; left.pop_back())
        if (left.back() != nullptr)
            left.back()->ensurePolished();
    return left.empty();
}

} // namespace tilescope::ui
