// No line of a sentence ends within an option of a command line.

#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"

#include <QFontMetrics>
#include <QTextLayout>

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

QStringList linesOf(const QString& text, int width)
{
    QTextLayout layout(text, Theme::instance().body());
    layout.beginLayout();
    QStringList lines;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        lines << withoutJoiners(text.mid(line.textStart(), line.textLength()));
    }
    layout.endLayout();
    return lines;
}

TEST(UnbrokenText, NoLineEndsWithinAnOptionAtAnyWidth)
{
    const QString text = QStringLiteral(
        "run with --annotate-attention true, --trace-steps=3 (or -o well-known.tscope -- torchrun --nproc)");
    const QFontMetrics metrics(Theme::instance().body());
    const int widest = metrics.horizontalAdvance(QStringLiteral("--annotate-attention "));
    for (int width = widest; width < metrics.horizontalAdvance(text); ++width) {
        const QStringList lines = linesOf(unbroken(text), width);
        EXPECT_EQ(lines.join(QString()), text);
        for (const QString& line : lines)
            EXPECT_FALSE(line.endsWith(QLatin1Char('-')) && !line.endsWith(QLatin1String("well-")))
                << line.toStdString() << " at " << width;
    }
}

TEST(UnbrokenText, LooksLikeTheText)
{
    const QFontMetrics metrics(Theme::instance().body());
    const QString text = QStringLiteral("--annotate-attention true");
    EXPECT_EQ(metrics.horizontalAdvance(unbroken(text)), metrics.horizontalAdvance(text));
    EXPECT_EQ(unbroken(unbroken(text)), unbroken(text));
    EXPECT_EQ(withoutJoiners(unbroken(text)), text);
    const QString plain = QStringLiteral("least-squares fits: 3 - 1, a -- b, x-y");
    EXPECT_EQ(unbroken(plain), plain);
}

} // namespace
} // namespace tilescope::ui
