#include "ui/kit/elided_text.h"

#include <QRegularExpression>

#include <vector>

namespace tilescope::ui {

namespace {

constexpr QChar kEllipsis(0x2026);

// Digits with their sign and separators, and a unit behind a thin space.
const QRegularExpression& number()
{
    static const QRegularExpression expression(
        QStringLiteral("[+−±<]?[0-9](?:[0-9.,]|\\x{2009}(?=[0-9]))*(?:\\x{2009}\\S+|[%×])?"));
    return expression;
}

} // namespace

QString elidedText(const QString& text, const QFontMetrics& metrics, Qt::TextElideMode mode, int width)
{
    const QString cut = metrics.elidedText(text, mode, width);
    if (cut == text)
        return text;
    const qsizetype at = mode == Qt::ElideRight  ? cut.lastIndexOf(kEllipsis)
                         : mode == Qt::ElideLeft ? cut.indexOf(kEllipsis)
                                                 : cut.indexOf(kEllipsis, cut.size() / 2 - 1);
    if (at < 0)
        return cut;                                       // not even the ellipsis fits
    qsizetype head = at;                                  // characters that stay at the left
    qsizetype tail = text.size() - (cut.size() - at - 1); // the first one that stays at the right
    std::vector<QRegularExpressionMatch> numbers;
    for (QRegularExpressionMatchIterator matches = number().globalMatch(text); matches.hasNext();)
        numbers.push_back(matches.next());
    for (const QRegularExpressionMatch& match : numbers)
        if (match.capturedStart() <= tail && tail < match.capturedEnd())
            tail = match.capturedEnd();
    // From the last one, because the space before a number that goes may follow another number.
    for (auto match = numbers.rbegin(); match != numbers.rend(); ++match) {
        if (match->capturedStart() < head && head <= match->capturedEnd())
            head = match->capturedStart();
        while (head > 0 && head < at && text[head - 1].isSpace())
            --head;
    }
    return text.left(head) + kEllipsis + text.mid(tail);
}

QStringList wrappedText(const QString& text, const QFontMetrics& metrics, int width, int most)
{
    QStringList lines;
    QString rest = text;
    while (lines.size() + 1 < most && metrics.horizontalAdvance(rest) > width) {
        qsizetype end = 0; // of the longest beginning that fits
        for (qsizetype space = rest.indexOf(QLatin1Char(' ')); space > 0;
             space = rest.indexOf(QLatin1Char(' '), space + 1)) {
            if (metrics.horizontalAdvance(rest.left(space)) > width)
                break;
            end = space;
        }
        if (end == 0)
            break; // a word alone is too long
        lines.append(rest.left(end));
        rest = rest.mid(end + 1);
    }
    lines.append(elidedText(rest, metrics, Qt::ElideRight, width));
    return lines;
}

} // namespace tilescope::ui
