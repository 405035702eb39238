#include "ui/jobs/thread_order.h"

#include <QCoreApplication>

namespace tilescope::ui {

namespace {

QEvent::Type letterType()
{
    static const auto type = QEvent::Type(QEvent::registerEventType());
    return type;
}

} // namespace

std::atomic<unsigned>& ThreadOrder::counter()
{
    static std::atomic<unsigned> counter{0};
    return counter;
}

CallQueue::QueuedCall::QueuedCall() : QEvent(letterType()) {}

void CallQueue::send(QueuedCall* letter)
{
    ThreadOrder::give();
    QCoreApplication::postEvent(this, letter); // which deletes it
}

bool CallQueue::event(QEvent* event)
{
    ThreadOrder::take();
    if (event->type() != letterType())
        return QObject::event(event);
    static_cast<QueuedCall*>(event)->open();
    return true;
}

} // namespace tilescope::ui
