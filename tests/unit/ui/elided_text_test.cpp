// A text that does not fit loses words or letters, but never a part of a number.

#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <QRegularExpression>

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

TEST(ElidedText, CutsNoNumberAtAnyWidth)
{
    const QFontMetrics metrics(Theme::instance().body());
    const QString texts[] = {
        QStringLiteral("a traced step takes 1.24× a bare one, 10\u2009000\u2009µs in all"),
        QStringLiteral("flash-torch 4096 heads 16 d head 128"), QStringLiteral("−1.08\u2009ms, 2.76× faster"),
        QStringLiteral("of 66.9\u2009TFLOP/s, data sheet")};
    static const QRegularExpression number(
        QStringLiteral("[+−]?[0-9](?:[0-9.]|\\x{2009}(?=[0-9]))*(?:\\x{2009}[A-Za-zµ/]+|×)?"));
    for (const QString& text : texts) {
        QStringList whole;
        for (auto matches = number.globalMatch(text); matches.hasNext();)
            whole << matches.next().captured();
        ASSERT_GE(whole.size(), 1);
        for (const Qt::TextElideMode mode : {Qt::ElideLeft, Qt::ElideMiddle, Qt::ElideRight})
            for (int width = 0; width <= metrics.horizontalAdvance(text); ++width) {
                const QString shown = elidedText(text, metrics, mode, width);
                EXPECT_TRUE(shown.isEmpty() || metrics.horizontalAdvance(shown) <= width)
                    << shown.toStdString() << " in " << width;
                EXPECT_FALSE(shown.contains(QRegularExpression(QStringLiteral("[0-9]…|…[0-9]"))))
                    << shown.toStdString() << " reads as a cut number";
                for (auto matches = number.globalMatch(shown); matches.hasNext();) {
                    const QString part = matches.next().captured();
                    EXPECT_TRUE(whole.contains(part)) << part.toStdString() << " in " << shown.toStdString();
                }
            }
        EXPECT_EQ(elidedText(text, metrics, Qt::ElideRight, metrics.horizontalAdvance(text) + 1), text);
    }
}

TEST(ElidedText, KeepsAsMuchAsFitsOfTextsWithoutNumbers)
{
    const QFontMetrics metrics(Theme::instance().body());
    const QString text = QStringLiteral("elementwise multiplication");
    for (int width = 0; width < metrics.horizontalAdvance(text); width += 5)
        EXPECT_EQ(elidedText(text, metrics, Qt::ElideMiddle, width),
                  metrics.elidedText(text, Qt::ElideMiddle, width));
}

} // namespace
} // namespace tilescope::ui
