#include "ui/kit/count_text.h"
#include "ui/kit/tool_tip.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

TEST(CountText, OneIsSingularAndEverythingElsePlural)
{
    EXPECT_EQ(counted(1, "run"), QStringLiteral("1 run"));
    EXPECT_EQ(counted(0, "run"), QStringLiteral("0 runs"));
    EXPECT_EQ(counted(2, "run"), QStringLiteral("2 runs"));
    EXPECT_EQ(counted(1, "series", "series"), QStringLiteral("1 series"));
    EXPECT_EQ(counted(3, "frequency", "frequencies"), QStringLiteral("3 frequencies"));
    EXPECT_EQ(counted(12'480, "event"), wholeNumber(12'480) + QStringLiteral(" events"));
}

TEST(ToolTip, HasALineEachAndTakesNothingForMarkup)
{
    EXPECT_EQ(tipOfLines({QStringLiteral("a<b>"), {}, QStringLiteral("c & d")}),
              QStringLiteral("<qt><b>a&lt;b&gt;</b><br>c &amp; d</qt>"));
    EXPECT_EQ(tipOfLines({QStringLiteral("alone")}), QStringLiteral("<qt>alone</qt>"));
    EXPECT_EQ(tipOfLines({}), QString());
}

} // namespace
} // namespace tilescope::ui
