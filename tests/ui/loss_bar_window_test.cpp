// The line that says what the selected runs lack, by mouse and keyboard.

#include "tests/ui/window_fixture.h"
#include "ui/kit/workspace.h"

#include <QLabel>
#include <QPushButton>

#include <fstream>

namespace tilescope::ui {
namespace {

class LossBarTest : public WindowTest {
protected:
    /// A trace that ends in the middle of an event.
    QString cutTrace()
    {
        const std::filesystem::path file = folder_ / "cut.json";
        std::ofstream text(file);
        text << R"({"traceEvents": [)";
        for (int i = 1; i <= 4; ++i)
            text << R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 5, "ts": )"
                 << i << R"(0, "args": {"device": 0, "stream": 7}},)";
        text << R"({"ph": "X", "cat": "ker)";
        return QString::fromStdString(file.string());
    }

    QWidget& bar() { return named<QWidget>(QStringLiteral("Losses")); }
    QString words() { return bar().findChild<QLabel*>(QStringLiteral("losses"))->text(); }
};

TEST_F(LossBarTest, EveryPageOfARunSaysWhatItLacks)
{
    EXPECT_FALSE(bar().isVisible()) << "the run of the fixture lacks nothing";
    window_.open({cutTrace()});
    ASSERT_TRUE(QTest::qWaitFor([&] { return bar().isVisible(); }, kTimeoutMs));
    EXPECT_TRUE(words().startsWith(QStringLiteral("Run 1 is incomplete: "))) << words().toStdString();
    for (const char* page :
         {"Overview", "Timeline", "Flame", "Kernels", "Memory", "Ranks", "Charts", "Query", "Machine"}) {
        clickRail(QString::fromLatin1(page));
        EXPECT_TRUE(bar().isVisible()) << page;
    }
    for (const char* page : {"Compare", "Experiment", "Help"}) {
        clickRail(QString::fromLatin1(page));
        EXPECT_FALSE(bar().isVisible()) << page << " says it itself or shows no run";
    }
}

TEST_F(LossBarTest, LeadsToTheListAndFollowsTheSelection)
{
    const RunKey whole = window_.workspace().selection().front();
    window_.open({cutTrace()});
    ASSERT_TRUE(QTest::qWaitFor([&] { return bar().isVisible(); }, kTimeoutMs));
    const RunKey cut = window_.workspace().selection().front();
    clickRail(QStringLiteral("Kernels"));
    auto* list = bar().findChild<QPushButton*>(QStringLiteral("listLosses"));
    ASSERT_TRUE(list->isVisible());
    QTest::mouseClick(list, Qt::LeftButton);
    EXPECT_EQ(window_.currentPageName(), QStringLiteral("overview"));
    EXPECT_FALSE(list->isVisible()) << "the page has the list";
    window_.workspace().select({whole, cut});
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return words().startsWith(QStringLiteral("B: Run 1 is ")); }, kTimeoutMs))
        << words().toStdString();
    window_.workspace().select({whole});
    ASSERT_TRUE(QTest::qWaitFor([&] { return !bar().isVisible(); }, kTimeoutMs));
}

} // namespace
} // namespace tilescope::ui
