#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

#include <cstddef>
#include <functional>
#include <vector>

namespace tilescope::ui {

/// Styles widgets in short turns of the event loop. Qt styles all widgets in one turn, which takes long in a window with
/// many. One for the process, owned by the theme. GUI thread.
class Restyling : public QObject {
    Q_OBJECT
public:
    /// Leaves out `page` and the widgets in it while they are hidden during a change; they are styled when the page is
    /// shown again.
    void styleWhenShown(QWidget& page);
    /// A change of style is about to begin: hidden pages are left out of it.
    void leaveOutHiddenPages();

    /// Styles all other widgets again. Until the end, visible windows keep their picture.
    /// \param steps  what changes the style, each in a turn of its own; meanwhile no widget is styled
    /// \param done   called once all widgets are styled, before the windows are painted
    void start(std::vector<std::function<void()>> steps, std::function<void()> done);
    bool isUnderWay() const { return isUnderWay_; }
    /// Ends the work under way; the windows are painted again.
    void stop();

    /// The widgets in a hidden one, for polishSome().
    static std::vector<QPointer<QWidget>> widgetsOf(QWidget& hidden);
    /// Styles some of the widgets of a hidden one for the first time, as Qt does when it is shown, and removes them from
    /// the list.
    /// \return  whether all are styled
    static bool polishSome(std::vector<QPointer<QWidget>>& left);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void takeTurn();
    static void takeStep(const std::function<void()>& step);

    struct Page {
        QPointer<QWidget> widget;
        std::vector<QPointer<QWidget>> waiting; ///< in it, styled when it is shown
    };
    std::vector<Page> pages_;
    bool isUnderWay_ = false;
    unsigned work_ = 0; ///< its number: a turn of earlier work does nothing
    std::vector<std::function<void()>> steps_;
    std::function<void()> done_;
    std::vector<QPointer<QWidget>> windows_; ///< whose painting waits
    std::vector<QPointer<QWidget>> widgets_; ///< that were styled before
    std::size_t left_ = 0;                   ///< how many of them are not styled now
    std::size_t step_ = 0;
    std::size_t styled_ = 0;
};

} // namespace tilescope::ui
