#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

#include <cstddef>
#include <functional>
#include <vector>

namespace tilescope::ui {

/// Styles all widgets again in short turns of the event loop. Until the end, visible windows keep their picture. Qt
/// styles all widgets in one turn, which takes long in a window with many.
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
    bool leaveOut();
    bool style();

    std::vector<std::function<void()>> steps_;
    std::function<void()> done_;
    std::vector<QPointer<QWidget>> windows_; ///< whose painting waits
    std::vector<QPointer<QWidget>> widgets_; ///< that were styled before
    std::size_t left_ = 0;                   ///< how many of them are not styled now
    std::size_t step_ = 0;
    std::size_t styled_ = 0;
};

} // namespace tilescope::ui
