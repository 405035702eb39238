#include "ui/window/output_view.h"

#include "ui/theme/theme.h"

#include <QScrollBar>
#include <QTextBlock>
#include <QTextCursor>

namespace tilescope::ui {

namespace {

constexpr int kMostLines = 5000;
constexpr qsizetype kLongestEscape = 64;
constexpr QChar kEscape{u'\x1b'};

// Whether a control sequence is whole: ESC and a letter, ESC [ … letter, or ESC ] … BEL.
bool isWhole(const QString& sequence)
{
    if (sequence.size() < 2)
        return false;
    const QChar kind = sequence[1];
    const QChar last = sequence.back();
    if (kind == QLatin1Char('['))
        return sequence.size() > 2 && last >= QLatin1Char('@') && last <= QLatin1Char('~');
    if (kind == QLatin1Char(']'))
        return last == QChar(7);
    return true;
}

} // namespace

OutputView::OutputView(QWidget* parent) : QPlainTextEdit(parent)
{
    setReadOnly(true);
    setUndoRedoEnabled(false);
    setMaximumBlockCount(kMostLines);
    setLineWrapMode(QPlainTextEdit::WidgetWidth);
    setFont(Theme::instance().mono());
    connect(&Theme::instance(), &Theme::changed, this, [this] { setFont(Theme::instance().mono()); });
}

void OutputView::restart()
{
    clear();
    decoder_ = QStringDecoder(QStringDecoder::Utf8);
    escape_.clear();
    isLineBegun_ = false;
}

void OutputView::add(const QByteArray& output)
{
    QScrollBar& bar = *verticalScrollBar();
    const bool isAtEnd = bar.value() == bar.maximum();
    const QString text = decoder_.decode(output);
    qsizetype from = 0;
    const auto flush = [&](qsizetype to) {
        if (to > from)
            addText(QStringView(text).mid(from, to - from));
        from = to + 1;
    };
    for (qsizetype i = 0; i < text.size(); ++i) {
        const QChar c = text[i];
        if (!escape_.isEmpty()) {
            escape_ += c;
            if (isWhole(escape_) || escape_.size() > kLongestEscape)
                escape_.clear();
            from = i + 1;
        } else if (c == kEscape) {
            flush(i);
            escape_ = c;
        } else if (c == QLatin1Char('\r')) {
            flush(i);
            isLineBegun_ = true;
        } else if (c == QLatin1Char('\n')) {
            flush(i);
            isLineBegun_ = false; // \r\n ends a line
            QTextCursor end(document());
            end.movePosition(QTextCursor::End);
            end.insertBlock();
        } else if (c < QLatin1Char(' ') && c != QLatin1Char('\t')) {
            flush(i);
        }
    }
    if (escape_.isEmpty())
        flush(text.size());
    if (isAtEnd)
        bar.setValue(bar.maximum());
}

void OutputView::addText(QStringView text)
{
    QTextCursor end(document());
    end.movePosition(QTextCursor::End);
    if (std::exchange(isLineBegun_, false))
        end.movePosition(QTextCursor::StartOfBlock, QTextCursor::KeepAnchor);
    end.insertText(text.toString());
}

} // namespace tilescope::ui
