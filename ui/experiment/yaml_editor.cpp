#include "ui/experiment/yaml_editor.h"

#include "ui/theme/theme.h"

#include <QPainter>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QTextBlock>

#include <algorithm>

namespace tilescope::ui {

namespace {

// Keys dim, values plain, comments dim and slanted: values differ between specs.
class YamlColours : public QSyntaxHighlighter {
public:
    using QSyntaxHighlighter::QSyntaxHighlighter;

protected:
    void highlightBlock(const QString& text) override
    {
        static const QRegularExpression key(QStringLiteral(R"((^|[{,])[\s-]*([\w-]+:))"));
        static const QRegularExpression comment(QStringLiteral(R"((^|\s)#.*$)"));
        QTextCharFormat dim;
        dim.setForeground(colours().dimText);
        for (auto found = key.globalMatch(text); found.hasNext();) {
            const QRegularExpressionMatch match = found.next();
            setFormat(int(match.capturedStart(2)), int(match.capturedLength(2)), dim);
        }
        const QRegularExpressionMatch match = comment.match(text);
        if (match.hasMatch()) {
            dim.setFontItalic(true);
            setFormat(int(match.capturedStart()), int(match.capturedLength()), dim);
        }
    }
};

} // namespace

class YamlEditor::Numbers : public QWidget {
public:
    explicit Numbers(YamlEditor* editor) : QWidget(editor), editor_(editor) {}

protected:
    void paintEvent(QPaintEvent* event) override { editor_->paintNumbers(event); }

private:
    YamlEditor* editor_;
};

YamlEditor::YamlEditor(QWidget* parent) : QPlainTextEdit(parent), numbers_(new Numbers(this))
{
    setAcceptDrops(false); // a file that is dropped is opened by the window
    setFrameShape(QFrame::NoFrame);
    setLineWrapMode(QPlainTextEdit::NoWrap);
    setTabChangesFocus(true);
    document()->setDocumentMargin(sizes().of(6));
    auto* highlighter = new YamlColours(document());
    connect(&Theme::instance(), &Theme::changed, highlighter, &QSyntaxHighlighter::rehighlight);
    connect(&Theme::instance(), &Theme::changed, this, &YamlEditor::dress);
    connect(this, &QPlainTextEdit::blockCountChanged, this, &YamlEditor::placeNumbers);
    connect(this, &QPlainTextEdit::updateRequest, numbers_, [this](const QRect& rect, int scrolled) {
        if (scrolled != 0)
            numbers_->scroll(0, scrolled);
        else
            numbers_->update(0, rect.y(), numbers_->width(), rect.height());
    });
    connect(this, &QPlainTextEdit::cursorPositionChanged, this, [this] {
        const int line = textCursor().blockNumber() + 1;
        if (line != std::exchange(cursorLine_, line) && hasFocus())
            emit lineEntered(line);
    });
    dress();
}

void YamlEditor::dress()
{
    setFont(Theme::instance().mono());
    setTabStopDistance(2 * QFontMetricsF(font()).horizontalAdvance(QLatin1Char(' ')));
    placeNumbers();
    showMarks();
}

// Tab moves to the next field; Return indents.
void YamlEditor::keyPressEvent(QKeyEvent* event)
{
    const bool isReturn = event->key() == Qt::Key_Return && event->modifiers() == Qt::NoModifier;
    const QString line = textCursor().block().text().left(textCursor().positionInBlock());
    QPlainTextEdit::keyPressEvent(event);
    if (!isReturn)
        return;
    const auto spaces =
        std::ranges::find_if(line, [](QChar c) { return c != QLatin1Char(' '); }) - line.begin();
    const bool opens = line.trimmed().endsWith(QLatin1Char(':'));
    textCursor().insertText(QString(spaces + (opens ? 2 : 0), QLatin1Char(' ')));
}

void YamlEditor::replaceText(const QString& text)
{
    const QString now = toPlainText();
    if (now == text)
        return;
    const auto [from, unused] = std::ranges::mismatch(now, text);
    qsizetype start = from - now.begin();
    qsizetype tail = 0;
    while (tail < std::min(now.size(), text.size()) - start &&
           now[now.size() - 1 - tail] == text[text.size() - 1 - tail])
        ++tail;
    QTextCursor cursor(document());
    cursor.setPosition(int(start));
    cursor.setPosition(int(now.size() - tail), QTextCursor::KeepAnchor);
    cursor.insertText(text.mid(start, text.size() - tail - start));
}

void YamlEditor::markError(int line)
{
    errorLine_ = line;
    showMarks();
}

void YamlEditor::markLit(int line)
{
    litLine_ = line;
    showMarks();
}

void YamlEditor::showMarks()
{
    QList<QTextEdit::ExtraSelection> marks;
    const auto mark = [&](int line, const QColor& colour) {
        const QTextBlock block = document()->findBlockByNumber(line - 1);
        if (line < 1 || !block.isValid())
            return;
        QTextEdit::ExtraSelection selection;
        selection.cursor = QTextCursor(block);
        selection.format.setBackground(colour);
        selection.format.setProperty(QTextFormat::FullWidthSelection, true);
        marks << selection;
    };
    mark(litLine_, colours().selectedRow);
    mark(errorLine_, blend(colours().error, colours().surface, 0.14));
    setExtraSelections(marks);
    numbers_->update();
}

void YamlEditor::placeNumbers()
{
    const int digits = int(QString::number(std::max(10, blockCount())).size());
    const int width = fontMetrics().horizontalAdvance(QLatin1Char('0')) * digits + sizes().of(20);
    setViewportMargins(width, 0, 0, 0);
    const QRect inside = contentsRect();
    numbers_->setGeometry(inside.left(), inside.top(), width, inside.height());
}

void YamlEditor::resizeEvent(QResizeEvent* event)
{
    QPlainTextEdit::resizeEvent(event);
    placeNumbers();
}

void YamlEditor::paintNumbers(QPaintEvent* event)
{
    QPainter painter(numbers_);
    painter.fillRect(event->rect(), colours().surface);
    painter.setFont(font());
    for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
        const QRectF box = blockBoundingGeometry(block).translated(contentOffset());
        if (box.top() > event->rect().bottom())
            break;
        const bool wrong = block.blockNumber() + 1 == errorLine_;
        painter.setPen(wrong ? colours().error : colours().strongLine);
        painter.drawText(QRectF(0, box.top(), numbers_->width() - sizes().of(8), box.height()),
                         Qt::AlignRight | Qt::AlignVCenter, QString::number(block.blockNumber() + 1));
    }
}

} // namespace tilescope::ui
