#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QWidget>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// Widgets that are handled one after another, for some milliseconds in each turn of the event loop. GUI thread.
class WidgetTurns {
public:
    WidgetTurns() = default;
    explicit WidgetTurns(std::vector<QPointer<QWidget>> widgets) : widgets_(std::move(widgets)) {}

    /// Calls `act` with the next widgets, in order, until the turn is over. Deleted widgets are left out.
    /// \return  whether all widgets were handled
    template <class Act> bool take(const Act& act)
    {
        QElapsedTimer turn;
        turn.start();
        for (; next_ < widgets_.size() && turn.elapsed() < kTurnMs; ++next_)
            if (widgets_[next_] != nullptr)
                act(*widgets_[next_]);
        return next_ == widgets_.size();
    }

private:
    static constexpr int kTurnMs = 12;

    std::vector<QPointer<QWidget>> widgets_;
    std::size_t next_ = 0;
};

/// A widget and all in it, inner ones first: a widget that is styled styles what is in it.
WidgetTurns innerWidgetsFirst(QWidget& widget);

/// Leaves hidden widgets out of the next change of style, which then takes less time. Qt styles each of them when it
/// is shown. GUI thread.
void leaveOutHiddenWidgets();

/// Styles all visible widgets again in short turns of the event loop. Until the end, visible windows keep their picture.
/// Qt styles all widgets in one turn, which takes long in a window with many. Hidden widgets are styled when they are
/// shown.
///
/// Deleting it ends the work; the windows are painted again. GUI thread.
class GradualStyle : public QObject {
    Q_OBJECT
public:
    /// \param steps  what changes the style, each in a turn of its own; meanwhile no widget is styled
    /// \param done   called once all widgets are styled, before the windows are painted
    GradualStyle(std::vector<std::function<void()>> steps, std::function<void()> done);
    ~GradualStyle() override;

private:
    void takeTurn();
    static void takeStep(const std::function<void()>& step);

    std::vector<std::function<void()>> steps_;
    std::function<void()> done_;
    std::vector<QPointer<QWidget>> windows_; ///< whose painting waits
    WidgetTurns leftOut_;                    ///< widgets that Qt must not style in the steps
    WidgetTurns styled_;                     ///< the same widgets
    std::size_t step_ = 0;
};

} // namespace tilescope::ui
