#include "ui/window/first_paint.h"

#include <QEvent>
#include <QGuiApplication>
#include <QTimer>

#include <utility>

namespace tilescope::ui {

namespace {

class FirstPaint : public QObject {
public:
    FirstPaint(QWidget& window, std::function<void()> then) : QObject(&window), then_(std::move(then))
    {
        window.installEventFilter(this);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        // A window is painted with all that is in it and handed over before the next event.
        if (event->type() == QEvent::Paint && !painted_) {
            painted_ = true;
            QTimer::singleShot(0, this, [this] {
                QGuiApplication::sync();
                const std::function<void()> then = std::move(then_);
                deleteLater();
                then();
            });
        }
        return QObject::eventFilter(watched, event);
    }

private:
    std::function<void()> then_;
    bool painted_ = false;
};

} // namespace

void whenPainted(QWidget& window, std::function<void()> then)
{
    new FirstPaint(window, std::move(then)); // the window owns it
}

} // namespace tilescope::ui
