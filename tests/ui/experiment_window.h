#pragma once

// The experiment page in a real window, by keyboard and mouse, with the fake engine (tests/fakes).

#include "tests/support/temporary_folder.h"
#include "tests/ui/longest_turn.h"
#include "tests/ui/timeouts.h"
#include "ui/experiment/experiment_page.h"
#include "ui/experiment/forecast.h"
#include "ui/experiment/key_field.h"
#include "ui/experiment/live_plots.h"
#include "ui/experiment/point_grid_view.h"
#include "ui/experiment/spec_form_view.h"
#include "ui/experiment/yaml_editor.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/controls.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"
#include "ui/window/main_window.h"
#include "ui/window/screenshots.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QCompleter>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QTest>
#include <QTreeView>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace tilescope::ui {

using ::testing::HasSubstr;

inline constexpr double kFluidMs = 400; // of the GUI thread's own processor time, unoptimised

class ExperimentWindow : public ::testing::Test {
protected:
    void SetUp() override
    {
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope,
                           QString::fromStdString((folder / "settings").string()));
        setenv("TILESCOPE_ENGINE", FAKE_ENGINE, 1);
        setenv("FAKE_SCRIPT", "ok", 1);
        unsetenv("FAKE_START");
        setenv("FAKE_GATE", (folder / "gate").c_str(), 1);
        Theme::instance().apply(ThemeChoice::Light);
        window = std::make_unique<MainWindow>();
        window->resize(1400, 900);
        window->show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get(), kTimeoutMs));
        ASSERT_TRUE(window->showPage(QStringLiteral("experiment")));
        waitUntilSettled(); // the page is made in several turns of the event loop
        page = qobject_cast<ExperimentPage*>(window->page(QStringLiteral("experiment")));
        ASSERT_NE(page, nullptr);
        runButton = page->findChild<QPushButton*>(QStringLiteral("run"));
        cancelButton = page->findChild<QPushButton*>(QStringLiteral("cancel"));
        editor = page->findChild<QPlainTextEdit*>(QStringLiteral("spec"));
        output = QString::fromStdString((folder / "out.tscope").string());
        auto* field = page->findChild<QLineEdit*>(QStringLiteral("output"));
        field->selectAll();
        QTest::keyClicks(field, output);
    }

    void TearDown() override
    {
        window.reset();
        finishBackgroundWork();
    }

    void type(const QString& text)
    {
        QTest::mouseClick(editor->viewport(), Qt::LeftButton);
        for (const QString& line : text.split(QLatin1Char('\n'))) {
            QTest::keyClicks(editor, line);
            QTest::keyClick(editor, Qt::Key_Return);
        }
    }

    // Replaces the text, as pasting would.
    void replace(const QString& text)
    {
        QTextCursor cursor(editor->document());
        cursor.select(QTextCursor::Document);
        cursor.insertText(text);
    }

    // Lets points of the behaviour `gate` go on.
    void openGate() const { std::ofstream(folder / "gate"); }

    int litLine() const { return qobject_cast<YamlEditor*>(editor)->litLine(); }

    // Types a sweep over this number of seeds and presses Run.
    void runSeeds(const QString& seeds, int steps = 3)
    {
        type(QStringLiteral(
                 "name: fake\nworkload: attention\nseq_len: 64\ndevice: cpu\nsteps: %1\nsweep: {seed: %2}")
                 .arg(steps)
                 .arg(seeds));
        ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
        QTest::mouseClick(runButton, Qt::LeftButton);
        ASSERT_TRUE(page->isRunning());
        EXPECT_FALSE(runButton->isEnabled());
    }

    bool waitForEnd()
    {
        return QTest::qWaitFor([this] { return !page->isRunning(); }, kTimeoutMs);
    }

    std::string text(const char* label) const
    {
        return page->findChild<QLabel*>(QLatin1String(label))->text().toStdString();
    }
    std::string verdict() const { return text("verdict"); }
    int progress() const { return page->findChild<QProgressBar*>(QStringLiteral("progress"))->value(); }
    QPushButton* button(const char* name) const
    {
        return window->findChild<QPushButton*>(QLatin1String(name));
    }
    std::string yaml() const { return editor->toPlainText().toStdString(); }
    std::string log() const
    {
        return page->findChild<QPlainTextEdit*>(QStringLiteral("log"))->toPlainText().toStdString();
    }

    // Light and dark of the window, for people to look at.
    void picture(const char* name, const QSize& size = {1920, 1080})
    {
        const QByteArray where = qgetenv("TILESCOPE_TEST_PICTURES");
        if (where.isEmpty())
            return;
        const QSize before = window->size();
        window->resize(size);
        for (const auto& [choice, suffix] :
             {std::pair(ThemeChoice::Dark, "dark"), std::pair(ThemeChoice::Light, "light")}) {
            Theme::instance().apply(choice);
            QTest::qWait(50);
            EXPECT_TRUE(window->grab().save(QStringLiteral("%1/%2_%3_%4.png")
                                                .arg(QString::fromLocal8Bit(where), QLatin1String(name))
                                                .arg(size.width())
                                                .arg(QLatin1String(suffix))));
        }
        window->resize(before);
    }

    // Statuses in the page's own table.
    QStringList statuses() const
    {
        auto* choice = page->findChild<SegmentedControl*>(QStringLiteral("pointsAs"));
        if (choice->isVisible() && choice->current() == 0)
            for (QPushButton* candidate : choice->findChildren<QPushButton*>())
                if (candidate->text() == "List")
                    candidate->click();
        QStringList words;
        for (const TableRow& row : page->findChild<TableView*>()->table().rows)
            words << row.cells[2].text;
        return words;
    }

    // Runs of a status among the open files.
    int runsWith(RunStatus status) const
    {
        int count = 0;
        for (const OpenFile& file : window->workspace().files())
            if (file.snapshot)
                for (const query::RunSummary& run : file.snapshot->runs)
                    count += run.result.status == status;
        return count;
    }

    int rowsInTheRunList() const
    {
        const auto* tree = window->findChild<QWidget*>(QStringLiteral("runs"))->findChild<QTreeView*>();
        const QAbstractItemModel& rows = *tree->model();
        return rows.rowCount() == 0 ? 0 : rows.rowCount(rows.index(0, 0));
    }

    testing::TemporaryFolder folder;
    std::unique_ptr<MainWindow> window;
    ExperimentPage* page = nullptr;
    QPushButton* runButton = nullptr;
    QPushButton* cancelButton = nullptr;
    QPlainTextEdit* editor = nullptr;
    QString output;
};

} // namespace tilescope::ui
