#include "ui/theme/gradual_polish.h"

#include <QElapsedTimer>

namespace tilescope::ui {

namespace {

constexpr int kPolishMs = 12;

} // namespace

GradualPolish::GradualPolish(QWidget& hidden)
{
    left_.emplace_back(&hidden);
    for (QWidget* widget : hidden.findChildren<QWidget*>())
        left_.emplace_back(widget);
}

bool GradualPolish::takeTurn()
{
    QElapsedTimer turn;
    turn.start();
    // Inner ones first: a widget styles all that is in it.
    for (; !left_.empty() && turn.elapsed() < kPolishMs; left_.pop_back())
        if (left_.back() != nullptr)
            left_.back()->ensurePolished();
    return left_.empty();
}

} // namespace tilescope::ui
