#pragma once

#include <QPlainTextEdit>
#include <QString>
#include <QStringDecoder>

namespace tilescope::ui {

/// What a program writes to its terminal: the last lines, without colours. A carriage return starts the line again, as
/// progress bars do. GUI thread.
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
