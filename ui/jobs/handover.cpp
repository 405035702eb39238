#include "ui/jobs/handover.h"

#include <QCoreApplication>

namespace tilescope::ui {

namespace {

QEvent::Type letterType()
{
    static const auto type = QEvent::Type(QEvent::registerEventType());
    return type;
}

} // namespace

std::atomic<unsigned>& Handover::counter()
{
    static std::atomic<unsigned> counter{0};
    return counter;
}

Inbox::Letter::Letter() : QEvent(letterType()) {}

void Inbox::send(Letter* letter)
{
    Handover::give();
    QCoreApplication::postEvent(this, letter); // which deletes it
}

bool Inbox::event(QEvent* event)
{
    Handover::take();
    if (event->type() != letterType())
        return QObject::event(event);
    static_cast<Letter*>(event)->open();
    return true;
}

} // namespace tilescope::ui
