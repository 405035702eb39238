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

TEST(ElidedText, ANumberBeforeACommaStays)
{
    const QFontMetrics metrics(Theme::instance().mono());
    const QString text = QStringLiteral("FMUL R157, R156, 1.4426950216293334961");
    const int width = metrics.horizontalAdvance(QStringLiteral("FMUL R157, R156, 1.4426…"));
    EXPECT_EQ(elidedText(text, metrics, Qt::ElideRight, width), QStringLiteral("FMUL R157, R156,…"));
}

TEST(ElidedText, KeepsAsMuchAsFitsOfTextsWithoutNumbers)
{
    const QFontMetrics metrics(Theme::instance().body());
    const QString text = QStringLiteral("elementwise multiplication");
    for (int width = 0; width < metrics.horizontalAdvance(text); width += 5)
        EXPECT_EQ(elidedText(text, metrics, Qt::ElideMiddle, width),
                  metrics.elidedText(text, Qt::ElideMiddle, width));
}

TEST(ElidedText, DifferentTextsOfOneChartNeverLookAlike)
{
    const QFontMetrics metrics(Theme::instance().small());
    const QString pattern = QStringLiteral(
        "void at::native::vectorized_elementwise_kernel<4, at::native::%1<float>, std::array<char*, "
        "%2ul>>(int, at::native::%1<float>, std::array<char*, %2ul>)");
    const QStringList texts{pattern.arg(QStringLiteral("CUDAFunctor_add"), QStringLiteral("3")),
                            pattern.arg(QStringLiteral("CUDAFunctor_mul"), QStringLiteral("3")),
                            pattern.arg(QStringLiteral("CUDAFunctor_mul"), QStringLiteral("2")),
                            pattern.arg(QStringLiteral("MulFunctor"), QStringLiteral("3")),
                            QStringLiteral("softmax"),
                            pattern.arg(QStringLiteral("MulFunctor"), QStringLiteral("3")),
                            QStringLiteral("xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize128x64x8_stage3_cta"),
                            QStringLiteral("xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8_stage3_cta")};
    bool wasAlike = false;
    for (const Qt::TextElideMode mode : {Qt::ElideMiddle, Qt::ElideRight})
        for (int width = 70; width < 500; width += 3) {
            const QStringList shown = distinctTexts(texts, metrics, mode, width);
            ASSERT_EQ(shown.size(), texts.size());
            for (qsizetype i = 0; i < texts.size(); ++i) {
                // Qt elides by the widths of letters, which kerning changes by a pixel or two.
                EXPECT_LE(metrics.horizontalAdvance(shown[i]), width + 2) << shown[i].toStdString();
                EXPECT_FALSE(shown[i].contains(QRegularExpression(QStringLiteral("[0-9]…|…[0-9]"))))
                    << shown[i].toStdString() << " reads as a cut number";
                for (qsizetype j = 0; j < i; ++j) {
                    EXPECT_EQ(shown[i] == shown[j], texts[i] == texts[j])
                        << shown[i].toStdString() << " in " << width;
                    wasAlike =
                        wasAlike || (texts[i] != texts[j] && elidedText(texts[i], metrics, mode, width) ==
                                                                 elidedText(texts[j], metrics, mode, width));
                }
            }
            EXPECT_EQ(shown[4], QStringLiteral("softmax")) << "a text that fits stays";
        }
    EXPECT_TRUE(wasAlike) << "nothing to test";
}

TEST(ElidedText, OfTextsThatWouldLookAlikeTheCommonPartGoes)
{
    const QFontMetrics metrics(Theme::instance().body());
    const QStringList texts{
        QStringLiteral("elementwise kernel of a long name, multiplication, of floats again"),
        QStringLiteral("elementwise kernel of a long name, addition, of floats again")};
    const QStringList shown =
        distinctTexts(texts, metrics, Qt::ElideMiddle,
                      metrics.horizontalAdvance(QStringLiteral("elementwise, multiplication")));
    EXPECT_TRUE(shown[0].contains(QStringLiteral("… multiplic"))) << shown[0].toStdString();
    EXPECT_TRUE(shown[1].contains(QStringLiteral("… addition"))) << shown[1].toStdString();
}

} // namespace
} // namespace tilescope::ui
