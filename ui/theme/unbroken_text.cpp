#include "ui/theme/unbroken_text.h"

#include <QRegularExpression>

namespace tilescope::ui {

namespace {

constexpr QChar kWordJoiner(0x2060);

} // namespace

QString unbroken(QString text)
{
    static const QRegularExpression option(QStringLiteral("(?<![\\w\\x{2060}-])--?[A-Za-z](?:[\\w-]*\\w)?"));
    qsizetype inserted = 0;
    const QString given = text;
    for (QRegularExpressionMatchIterator matches = option.globalMatch(given); matches.hasNext();) {
        const QRegularExpressionMatch match = matches.next();
        for (qsizetype at = match.capturedStart(); at < match.capturedEnd(); ++at)
            if (given[at] == QLatin1Char('-'))
                text.insert(at + 1 + inserted++, kWordJoiner);
    }
    return text;
}

QString withoutJoiners(QString text)
{
    return text.remove(kWordJoiner);
}

} // namespace tilescope::ui
