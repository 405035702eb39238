#include "core/report/escape.h"

#include <gtest/gtest.h>

namespace tilescope::report {

TEST(Escape, HtmlKeepsMarkupFromBeginningAndAttributesFromEnding)
{
    EXPECT_EQ(escapeHtml("<script>alert('x')</script> & \"y\""),
              "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;");
}

TEST(Escape, LatexKeepsCommandsFromBeginning)
{
    EXPECT_EQ(escapeLatex("\\input{/etc/passwd} 50% a_b #1 $x$ ~ ^ & <T>"),
              "\\textbackslash{}input\\{/etc/passwd\\} 50\\% a\\_b \\#1 \\$x\\$ \\textasciitilde{} "
              "\\textasciicircum{} "
              "\\& \\textless{}T\\textgreater{}");
}

TEST(Escape, LatexWritesUnsupportedLettersAsCodePoints)
{
    EXPECT_EQ(escapeLatex("1 ± 2 µs é N²"), "1 \\ensuremath{\\pm} 2 \\ensuremath{\\mu}s é N\\ensuremath{^2}");
    EXPECT_EQ(escapeLatex("中"), "U+4E2D");
}

TEST(Escape, MarkdownKeepsFieldsOfATableTogether)
{
    EXPECT_EQ(escapeMarkdown("a|b `c` *d* [e](f) <g>"), "a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;g&gt;");
}

TEST(Escape, ControlCharactersAndBrokenUtf8AreSpelledOutEverywhere)
{
    for (const auto& escape : {escapeHtml, escapeLatex, escapeMarkdown}) {
        const std::string text = escape("a\x1b[2J\n\xff\u202e");
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        EXPECT_EQ(text.find('\n'), std::string::npos);
        EXPECT_EQ(text.find('\xff'), std::string::npos);
        EXPECT_EQ(text.find("\u202e"), std::string::npos);
    }
}

} // namespace tilescope::report
