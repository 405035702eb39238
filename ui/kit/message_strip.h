#pragma once

#include "ui/theme/icons.h"

#include <QFrame>

#include <functional>

class QHBoxLayout;
class QLabel;
class QProgressBar;
class QPushButton;

namespace tilescope::ui {

class SentenceLabel;

/// A strip above the pages with a sentence and buttons. It is deleted when the user dismisses it.
class MessageStrip : public QFrame {
    Q_OBJECT
public:
    enum class Kind { Information, Warning, Error };

    explicit MessageStrip(QWidget* parent = nullptr);

    /// Shows the sentence, without a progress bar and buttons of an earlier one.
    void tell(Kind kind, const QString& sentence);
    /// Shows the share done, 0 to 1.
    void setProgress(const QString& sentence, double done);
    /// Shows the last sentence of the strip, with a button that deletes it. An earlier strip beside it that ended
    /// with the same sentence is deleted.
    void conclude(Kind kind, const QString& sentence);
    QPushButton* addButton(const QString& text, const std::function<void()>& does);
    /// Adds a button that deletes the strip.
    void addDismiss();

protected:
    SentenceLabel& words() { return *words_; }

private:
    void dress();

    Kind kind_ = Kind::Information;
    bool isConcluded_ = false;
    QLabel* sign_;
    SentenceLabel* words_;
    QProgressBar* bar_;
    QHBoxLayout* buttons_;
};

} // namespace tilescope::ui
