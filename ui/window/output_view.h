#pragma once

#include <QPlainTextEdit>
#include <QString>
#include <QStringDecoder>

namespace tilescope::ui {

/// Shows the last lines of a program's terminal output, without colours. A carriage return starts the line
/// again, as for progress bars. GUI thread.
class OutputView : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit OutputView(QWidget* parent = nullptr);

    void restart();
    void add(const QByteArray& output);

private:
    void addText(QStringView text);

    QStringDecoder decoder_{QStringDecoder::Utf8};
    QString escape_;           ///< the beginning of a control sequence
    bool isLineBegun_ = false; ///< again, by a carriage return
};

} // namespace tilescope::ui
