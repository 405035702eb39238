#include "ui/kit/elided_text.h"

#include <QMap>
#include <QRegularExpression>

#include <algorithm>
#include <vector>

namespace tilescope::ui {

namespace {

constexpr QChar kEllipsis(0x2026);

// Digits with their sign and the separators between them, followed by a thin space and a unit.
const QRegularExpression& number()
{
    static const QRegularExpression expression(
        QStringLiteral("[+−±<]?[0-9](?:[0-9]|[.,](?=[0-9])|\\x{2009}(?=[0-9]))*(?:\\x{2009}\\S+|[%×])?"));
    return expression;
}

// The length of the beginning that all of these texts have.
qsizetype commonLength(const QStringList& texts)
{
    qsizetype length = texts.front().size();
    for (const QString& text : texts) {
        length = std::min(length, text.size());
        length =
            std::mismatch(text.begin(), text.begin() + length, texts.front().begin()).first - text.begin();
    }
    return length;
}

// A few letters of the beginning, then what is at `from`, from the beginning of its word on.
QString textFrom(const QString& text, qsizetype from, const QFontMetrics& metrics, int width)
{
    while (from > 0 && text[from - 1].isLetterOrNumber())
        --from;
    if (from > 0) // "…7" would read as a number that is cut
        --from;
    const QString rest = text.mid(from);
    if (from == 0)
        return elidedText(text, metrics, Qt::ElideRight, width);
    const int head = std::max(width / 4, width - metrics.horizontalAdvance(rest));
    QString begin = elidedText(text.left(from), metrics, Qt::ElideRight, head);
    if (!begin.endsWith(kEllipsis))
        begin += kEllipsis;
    return elidedText(begin + rest, metrics, Qt::ElideRight, width);
}

// The elided forms that several different texts share.
QList<QList<qsizetype>> lookAlikes(const QStringList& texts, const QStringList& shown)
{
    QMap<QString, QList<qsizetype>> byLook;
    for (qsizetype i = 0; i < texts.size(); ++i)
        byLook[shown[i]] << i;
    QList<QList<qsizetype>> groups;
    for (const QList<qsizetype>& group : byLook)
        if (std::ranges::any_of(group, [&](qsizetype i) { return texts[i] != texts[group.front()]; }))
            groups << group;
    return groups;
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
    // Starts with the last number, because the space before a removed number may follow another number.
    for (auto match = numbers.rbegin(); match != numbers.rend(); ++match) {
        if (match->capturedStart() < head && head <= match->capturedEnd())
            head = match->capturedStart();
        while (head > 0 && head < at && text[head - 1].isSpace())
            --head;
    }
    return text.left(head) + kEllipsis + text.mid(tail);
}

QStringList distinctTexts(const QStringList& texts, const QFontMetrics& metrics, Qt::TextElideMode mode,
                          int width)
{
    QStringList shown;
    for (const QString& text : texts)
        shown << elidedText(text, metrics, mode, width);
    // Of three texts, two may share more than all three. So each round compares the texts that still look
    // alike.
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds; ++round)
        for (const QList<qsizetype>& group : lookAlikes(texts, shown)) {
            QStringList whole;
            for (const qsizetype i : group)
                whole << texts[i];
            const qsizetype common = commonLength(whole);
            for (const qsizetype i : group)
                shown[i] = textFrom(texts[i], common, metrics, width);
        }
    for (const QList<qsizetype>& group : lookAlikes(texts, shown)) {
        QStringList known;
        for (const qsizetype i : group) {
            if (!known.contains(texts[i]))
                known << texts[i];
            const QString number = QStringLiteral(" (%1)").arg(known.indexOf(texts[i]) + 1);
            shown[i] = elidedText(texts[i], metrics, Qt::ElideRight,
                                  std::max(0, width - metrics.horizontalAdvance(number))) +
                       number;
        }
    }
    return shown;
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
