// Everything clickable has an effect or is disabled, also in an empty window.

#include "tests/support/temporary_folder.h"
#include "tests/ui/cpu_fixture.h"
#include "tests/ui/timeouts.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/controls.h"
#include "ui/kit/page.h"
#include "ui/theme/theme.h"
#include "ui/theme/unbroken_text.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshots.h"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDir>
#include <QFileDialog>
#include <QHeaderView>
#include <QMenuBar>
#include <QPushButton>
#include <QTimer>
#include <QTreeView>
#include <QtTest>

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

TEST(CopiedText, HasNoWordJoiners)
{
    const QString command = QStringLiteral("tilescope run lm --trace-steps 3");
    QApplication::clipboard()->setText(unbroken(command));
    EXPECT_TRUE(QTest::qWaitFor([&] { return QApplication::clipboard()->text() == command; }, kTimeoutMs))
        << QApplication::clipboard()->text().toStdString();
}

class ToolsWindow : public ::testing::Test {
protected:
    void SetUp() override
    {
        window_.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
        window_.activateWindow();
        waitUntilSettled();
    }

    // What a person can see, and the clipboard.
    struct Seen {
        QImage picture;
        QString page;
        Qt::WindowStates state;
        qsizetype windows = 0;
        const QWidget* focus = nullptr;
        bool operator==(const Seen&) const = default;
    };
    Seen seen()
    {
        qsizetype windows = 0;
        for (const QWidget* widget : QApplication::topLevelWidgets())
            windows += widget->isVisible() ? 1 : 0;
        return {window_.grab().toImage(), window_.currentPageName(), window_.windowState(), windows,
                window_.focusWidget()};
    }

    // Whether anything happens. Menus and dialogs that open are closed again.
    bool acts(const std::function<void()>& trigger)
    {
        QApplication::clipboard()->setText(kNothing);
        window_.setFocus();
        waitUntilSettled();
        const Seen before = seen();
        bool opened = false;
        QTimer closing;
        QObject::connect(&closing, &QTimer::timeout, &closing, [&opened] {
            for (QWidget* open : {QApplication::activePopupWidget(), QApplication::activeModalWidget()})
                if (open != nullptr) {
                    opened = true;
                    open->close();
                }
        });
        closing.start(20);
        trigger();
        const bool changed = opened || !(seen() == before);
        waitUntilSettled();
        const bool changedLater = !(seen() == before);
        for (QWidget* widget : QApplication::topLevelWidgets())
            if (widget != &window_ && widget->isVisible())
                widget->close();
        return changed || changedLater || QApplication::clipboard()->text() != kNothing;
    }

    inline static const QString kNothing = QStringLiteral("nothing was copied");
    MainWindow window_;
};

TEST_F(ToolsWindow, WithoutARunEveryEnabledToolOfEveryPageActs)
{
    int disabled = 0;
    for (const QString& name : window_.pageNames()) {
        // These work without runs. The one would start experiments; of the other, links lead elsewhere.
        if (name == QLatin1String("experiment") || name == QLatin1String("help"))
            continue;
        window_.showPage(name);
        waitUntilSettled();
        for (QAbstractButton* button : window_.page(name)->findChildren<QAbstractButton*>()) {
            if (button->objectName() == QLatin1String("demo")) // starts an experiment, too
                continue;
            if (button->objectName().startsWith(QLatin1String("example_"))) // opens a recording
                continue;
            disabled += button->isVisible() && !button->isEnabled() ? 1 : 0;
            if (button->isVisible() && button->isEnabled() && !button->isChecked()) {
                EXPECT_TRUE(acts([button] { button->click(); }))
                    << name.toStdString() << ": " << button->text().toStdString()
                    << button->accessibleName().toStdString() << " does nothing";
            }
            window_.showPage(name);
        }
        // Keys of the page itself, not of parts that have the focus.
        for (QAction* action : window_.page(name)->actions()) {
            if (action->isEnabled() && action->shortcutContext() != Qt::WidgetShortcut) {
                EXPECT_TRUE(acts([action] { action->trigger(); }))
                    << name.toStdString() << ": " << action->text().toStdString() << " does nothing";
            }
            window_.showPage(name);
        }
    }
    EXPECT_GT(disabled, 20) << "tools that need a run";
}

TEST_F(ToolsWindow, EveryEnabledCommandOfTheMenusActsWithoutAFile)
{
    int tried = 0;
    for (const char* name : {"overview", "timeline", "machine"})
        for (const QAction* menu : window_.menuBar()->actions())
            for (QAction* action : menu->menu()->actions()) {
                window_.showPage(QString::fromLatin1(name));
                const QString words = action->text().remove(QLatin1Char('&'));
                const bool leadsToItself = words == window_.pageTitle(QString::fromLatin1(name));
                if (!action->isEnabled() || action->isSeparator() || action->menu() != nullptr ||
                    leadsToItself || words == QLatin1String("Quit"))
                    continue;
                EXPECT_TRUE(acts([action] { action->trigger(); }))
                    << name << ": " << action->text().toStdString() << " does nothing";
                window_.setWindowState(Qt::WindowNoState);
                ++tried;
            }
    EXPECT_GT(tried, 30);
}

TEST_F(ToolsWindow, TheFileDialogShowsSizesAndDatesWhole)
{
    QFileDialog dialog(&window_, QString(), QDir::rootPath());
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&dialog, kTimeoutMs));
    const auto* files = dialog.findChild<QTreeView*>(QStringLiteral("treeView"));
    ASSERT_NE(files, nullptr);
    ASSERT_GE(files->header()->count(), 4);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return files->header()->sectionResizeMode(3) == QHeaderView::ResizeToContents; }, kTimeoutMs));
    for (int column = 1; column < files->header()->count(); ++column)
        EXPECT_EQ(files->header()->sectionResizeMode(column), QHeaderView::ResizeToContents);
    for (const QPushButton* button : dialog.findChildren<QPushButton*>())
        EXPECT_TRUE(button->icon().isNull()) << button->text().toStdString();
}

TEST_F(ToolsWindow, ToolsThatNeedTwoRunsWaitForTheSecond)
{
    const testing::TemporaryFolder folder;
    test::writeCpuFile(folder / "cpu.tscope");
    window_.showPage(QStringLiteral("compare"));
    const auto enabled = [this](const char* name) {
        for (const QAbstractButton* button :
             window_.page(QStringLiteral("compare"))->findChildren<QAbstractButton*>())
            if (button->text() == QString::fromUtf8(name) ||
                button->accessibleName() == QString::fromUtf8(name))
                return button->isEnabled();
        throw std::runtime_error(std::string("no ") + name);
    };
    window_.open({QString::fromStdString((folder / "cpu.tscope").string())});
    waitUntilSettled();
    window_.showPage(QStringLiteral("compare"));
    waitUntilSettled();
    ASSERT_EQ(window_.workspace().selection().size(), 1U);
    const int file = window_.workspace().files().front().id;
    for (const char* name : {"Swap A and B", "Aligned timeline", "Export…"}) {
        window_.workspace().select({{file, RunId{1}}});
        waitUntilSettled();
        EXPECT_FALSE(enabled(name)) << name;
        window_.workspace().select({{file, RunId{1}}, {file, RunId{2}}});
        waitUntilSettled();
        EXPECT_TRUE(enabled(name)) << name;
    }
}

} // namespace
} // namespace tilescope::ui
