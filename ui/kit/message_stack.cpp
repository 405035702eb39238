#include "ui/kit/message_stack.h"

#include "ui/kit/controls.h"

namespace tilescope::ui {

MessageStack::MessageStack(QWidget* parent) : QStackedWidget(parent), message_(makeMessage())
{
    addWidget(message_);
}

void MessageStack::showMessage(const QString& text)
{
    message_->setText(text);
    setCurrentIndex(0);
}

} // namespace tilescope::ui
