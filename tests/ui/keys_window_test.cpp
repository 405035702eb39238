// The actions of keys, and that the lists of keys are complete and correct.

#include "tests/ui/experiment_window.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/key_actions.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/help_page.h"
#include "ui/window/key_sheet.h"

#include <QAction>
#include <QMenu>
#include <QMenuBar>
#include <QTextBrowser>

#include <set>

namespace tilescope::ui {
namespace {

class KeysTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        for (const QString& name : window_.pageNames())
            window_.page(name); // so that all its actions are there
    }

    // Every action of the window that a key triggers.
    std::vector<const QAction*> keyed() const
    {
        std::vector<const QAction*> actions;
        for (const QAction* action : window_.findChildren<QAction*>())
            if (!action->shortcut().isEmpty() && !action->text().isEmpty())
                actions.push_back(action);
        return actions;
    }

    static QString wordsOf(const QAction& action) { return action.text().remove(QLatin1Char('&')); }
};

TEST_F(KeysTest, OneSheetHasEveryKeyOfTheWindow)
{
    QTest::keyClick(&window_, Qt::Key_Question);
    auto* sheet = window_.findChild<KeySheet*>();
    ASSERT_NE(sheet, nullptr);
    ASSERT_TRUE(QTest::qWaitForWindowExposed(sheet, kTimeoutMs));
    std::set<QString> shown;
    for (const QLabel* label : sheet->findChildren<QLabel*>()) {
        EXPECT_TRUE(label->isVisible());
        EXPECT_GE(label->width(), label->fontMetrics().horizontalAdvance(label->text()))
            << label->text().toStdString() << " is cut";
        shown.insert(label->text());
    }
    const std::vector<const QAction*> actions = keyed();
    ASSERT_GT(actions.size(), 50U);
    for (const QAction* action : actions) {
        EXPECT_EQ(shown.count(keysText(*action)), 1U) << keysText(*action).toStdString();
        EXPECT_EQ(shown.count(wordsOf(*action)), 1U) << action->text().toStdString();
    }
    QTest::keyClick(sheet, Qt::Key_Escape);
    EXPECT_FALSE(sheet->isVisible());
}

TEST_F(KeysTest, EntriesOfAnOpenMenuHaveLettersOfTheirOwn)
{
    for (const QAction* bar : window_.menuBar()->actions()) {
        QMenu* menu = bar->menu();
        ASSERT_NE(menu, nullptr);
        emit menu->aboutToShow();
        QString letters;
        for (const QAction* action : menu->actions())
            if (const auto at = action->text().indexOf(QLatin1Char('&')); at >= 0) {
                const QChar letter = action->text()[at + 1].toLower();
                EXPECT_FALSE(letters.contains(letter)) << action->text().toStdString();
                letters += letter;
            }
        EXPECT_GT(letters.size(), menu->actions().size() / 2);
        // An entry has none only if all of its letters choose others.
        for (const QAction* action : menu->actions()) {
            const QString text = action->text();
            if (text.contains(QLatin1Char('&')))
                continue;
            for (const QChar each : text)
                EXPECT_TRUE(!each.isLetterOrNumber() || letters.contains(each.toLower()))
                    << text.toStdString();
        }
    }
}

TEST_F(KeysTest, TheHelpHasThemToo)
{
    QTest::keyClick(&window_, Qt::Key_F1, Qt::ShiftModifier);
    waitUntilSettled();
    ASSERT_EQ(window_.currentPageName(), QStringLiteral("help"));
    const QString text = page<HelpPage>("help").findChild<QTextBrowser*>()->toPlainText();
    EXPECT_FALSE(text.contains(QStringLiteral("{{")));
    for (const QAction* action : keyed()) {
        EXPECT_TRUE(text.contains(keysText(*action))) << keysText(*action).toStdString();
        EXPECT_TRUE(text.contains(wordsOf(*action))) << action->text().toStdString();
    }
}

TEST_F(KeysTest, ToolTipsEndWithTheKey)
{
    for (const QAction* action : keyed())
        EXPECT_TRUE(action->toolTip().endsWith(QStringLiteral("(%1)").arg(keysText(*action))))
            << action->text().toStdString() << ": " << action->toolTip().toStdString();
    int buttons = 0;
    for (const auto& [word, key] :
         std::initializer_list<std::pair<const char*, const char*>>{{"Fit", "(F"},
                                                                    {"Measure", "(M"},
                                                                    {"Notes", "(Shift+B"},
                                                                    {"Run", "(Ctrl+R"},
                                                                    {"Queue", "(Ctrl+Shift+R"}})
        for (const QPushButton* button : window_.findChildren<QPushButton*>())
            if (button->text() == QLatin1String(word)) {
                EXPECT_TRUE(button->toolTip().contains(QLatin1String(key)) &&
                            button->toolTip().endsWith(QLatin1Char(')')))
                    << button->toolTip().toStdString();
                ++buttons;
            }
    EXPECT_GE(buttons, 3); // the experiment page makes its own when it is first shown
}

TEST_F(KeysTest, NoKeyMeansTwoThingsInOnePlace)
{
    std::set<QString> everywhere;
    for (const KeyGroup& group : keyGroups(window_)) {
        std::set<QString> here;
        for (const KeyLine& line : group.lines)
            for (const QString& key : line.keys.split(QStringLiteral(", "))) {
                EXPECT_TRUE(here.insert(key).second)
                    << group.title.toStdString() << ": " << key.toStdString();
                EXPECT_EQ(everywhere.count(key), 0U)
                    << group.title.toStdString() << ": " << key.toStdString();
            }
        if (everywhere.empty())
            everywhere = here; // the menus' come first
    }
    EXPECT_GT(everywhere.size(), 15U);
}

TEST_F(KeysTest, ArrowsPlusAndMinusDoWhatTheLettersDo)
{
    TimelineView& view = openTimeline();
    const auto after = [&](Qt::Key key) {
        view.setWindow(TimeWindow{1'000'000, 2'000'000});
        QTest::keyClick(&view, key);
        return view.window();
    };
    const TimeWindow start{1'000'000, 2'000'000};
    for (const auto& [letter, other] :
         {std::pair(Qt::Key_W, Qt::Key_Plus), std::pair(Qt::Key_S, Qt::Key_Minus),
          std::pair(Qt::Key_A, Qt::Key_Left), std::pair(Qt::Key_D, Qt::Key_Right)}) {
        EXPECT_NE(after(letter), start);
        EXPECT_EQ(after(letter), after(other)) << QKeySequence(other).toString().toStdString();
    }
    view.resize(view.size().width(), 200);
    const int scrolled = view.verticalScrollBar()->value();
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_GT(view.verticalScrollBar()->value(), scrolled);
    QTest::keyClick(&view, Qt::Key_Up);
    EXPECT_EQ(view.verticalScrollBar()->value(), scrolled);
}

class KeysOfExperiment : public ExperimentWindow {};

TEST_F(KeysOfExperiment, CtrlRRunsAndCtrlShiftRQueuesButOnlyWhereTheSpecIsSeen)
{
    setenv("FAKE_SCRIPT", "slow", 1);
    window->activateWindow();
    type(QStringLiteral("name: fake\nworkload: attention\nseq_len: 64\ndevice: cpu\nsteps: 3\n"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
    QTest::keyClick(editor, Qt::Key_R, Qt::ControlModifier); // while typing
    ASSERT_TRUE(page->isRunning());
    EXPECT_EQ(page->queue().waiting().size(), 0U);
    QTest::keyClick(editor, Qt::Key_R, Qt::ControlModifier);
    EXPECT_EQ(page->queue().waiting().size(), 0U) << "what runs is not started twice";
    QTest::keyClick(editor, Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(page->queue().waiting().size(), 1U);
    window->showPage(QStringLiteral("machine"));
    QTest::keyClick(window.get(), Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(page->queue().waiting().size(), 1U) << "another page is shown";
    page->stopAll();
    QTest::keyClick(window.get(), Qt::Key_2, Qt::ControlModifier);
    EXPECT_EQ(window->currentPageName(), QStringLiteral("experiment"));
    page->queue().cancel(); // at once
    ASSERT_TRUE(waitForEnd());
}

} // namespace
} // namespace tilescope::ui
