#pragma once

#include <QStackedWidget>

namespace tilescope::ui {

class SentenceLabel;

/// What a page shows: a message, which is the first widget, or its content.
class MessageStack : public QStackedWidget {
    Q_OBJECT
public:
    explicit MessageStack(QWidget* parent = nullptr);

    void showMessage(const QString& text);
    bool isShowingMessage() const { return currentIndex() == 0; }
    /// Shows the widget behind the message.
    void showContent() { setCurrentIndex(1); }

private:
    SentenceLabel* message_;
};

} // namespace tilescope::ui
