// The experiment page in a real window, by keyboard and mouse, with the fake engine (tests/fakes).

#include "tests/support/temporary_folder.h"
#include "ui/jobs/job_tracker.h"
#include "ui/pages/experiment_page.h"
#include "ui/pages/main_window.h"
#include "ui/plots/table_view.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
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
namespace {

using ::testing::HasSubstr;

constexpr int kPatienceMs = 30'000;

class ExperimentWindow : public ::testing::Test {
protected:
    void SetUp() override
    {
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope,
                           QString::fromStdString((folder / "settings").string()));
        setenv("TILESCOPE_ENGINE", FAKE_ENGINE, 1);
        setenv("FAKE_SCRIPT", "ok", 1);
        unsetenv("FAKE_START");
        Theme::instance().apply(ThemeChoice::Light);
        window = std::make_unique<MainWindow>();
        window->resize(1400, 900);
        window->show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.get()));
        ASSERT_TRUE(window->showPage(QStringLiteral("experiment")));
        page = qobject_cast<ExperimentPage*>(window->page(QStringLiteral("experiment")));
        ASSERT_NE(page, nullptr);
        runButton = page->findChild<QPushButton*>(QStringLiteral("run"));
        cancelButton = page->findChild<QPushButton*>(QStringLiteral("cancel"));
        editor = page->findChild<QPlainTextEdit*>(QStringLiteral("spec"));
        output = QString::fromStdString((folder / "out.tscope").string());
        auto* field = page->findChild<QLineEdit*>();
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

    // Types a sweep over so many seeds and presses Run.
    void runSeeds(const QString& seeds, int steps = 3)
    {
        type(QStringLiteral(
                 "name: fake\nworkload: attention\nseq_len: 64\ndevice: cpu\nsteps: %1\nsweep: {seed: %2}")
                 .arg(steps)
                 .arg(seeds));
        ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kPatienceMs)) << verdict();
        QTest::mouseClick(runButton, Qt::LeftButton);
        ASSERT_TRUE(page->isRunning());
        EXPECT_FALSE(runButton->isEnabled());
    }

    bool waitForEnd()
    {
        return QTest::qWaitFor([this] { return !page->isRunning(); }, kPatienceMs);
    }

    std::string text(const char* label) const
    {
        return page->findChild<QLabel*>(QLatin1String(label))->text().toStdString();
    }
    std::string verdict() const { return text("verdict"); }
    int progress() const { return page->findChild<QProgressBar*>()->value(); }

    // Statuses in the page's own table.
    QStringList statuses() const
    {
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

TEST_F(ExperimentWindow, RunsWhatIsTypedAndListsItsRuns)
{
    ASSERT_FALSE(runButton->isEnabled());
    // By its widths: some faces of fixed pitch do not say that they are.
    const QFontMetricsF widths(editor->font());
    EXPECT_EQ(widths.horizontalAdvance(QLatin1Char('i')), widths.horizontalAdvance(QLatin1Char('M')));
    runSeeds(QStringLiteral("[0, 1, 2]"));
    EXPECT_EQ(statuses().size(), 3);
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"ok", "ok", "ok"})) << text("status");
    EXPECT_EQ(progress(), page->findChild<QProgressBar*>()->maximum());
    EXPECT_THAT(text("status"), HasSubstr("3 of 3 points"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 3; }, kPatienceMs));
    EXPECT_EQ(rowsInTheRunList(), 3);
    EXPECT_TRUE(runButton->isEnabled());
    EXPECT_FALSE(cancelButton->isEnabled());
    EXPECT_EQ(page->findChild<TableView*>()->table().rows[0].cells[3].text.toStdString().substr(0, 3), "1.0");
    if (const QByteArray picture = qgetenv("TILESCOPE_TEST_PICTURE"); !picture.isEmpty()) {
        EXPECT_TRUE(window->grab().save(QString::fromLocal8Bit(picture)));
    }
}

TEST_F(ExperimentWindow, ShowsFinishedPointsWhileTheNextOneRuns)
{
    setenv("FAKE_SCRIPT", "ok,slow", 1);
    runSeeds(QStringLiteral("[0, 1]"), 100'000);
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 1; }, kPatienceMs));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(1).startsWith("running"); }, kPatienceMs));
    EXPECT_TRUE(page->isRunning());
    EXPECT_GE(rowsInTheRunList(), 1);
    EXPECT_GE(progress(), 500);
    EXPECT_LT(progress(), 1000);

    QTest::mouseClick(cancelButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("Cancelled"));
    EXPECT_EQ(statuses(), QStringList({"ok", "cancelled"}));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Cancelled) == 1; }, kPatienceMs));
}

TEST_F(ExperimentWindow, EndsAnEngineThatHangsAtTheSecondCancel)
{
    setenv("FAKE_SCRIPT", "hang", 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(0) == "running: measure"; }, kPatienceMs));
    QTest::mouseClick(cancelButton, Qt::LeftButton);
    QTest::qWait(200);
    EXPECT_TRUE(page->isRunning());
    QTest::mouseClick(cancelButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("Cancelled"));
}

TEST_F(ExperimentWindow, SaysWhatIsWrongWithASpecAndWhere)
{
    type(QStringLiteral("workload: lm\nbacth: 3"));
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return verdict().find("bacth") != std::string::npos; }, kPatienceMs));
    EXPECT_THAT(verdict(), HasSubstr("spec:2:1"));
    EXPECT_THAT(verdict(), HasSubstr("batch"));
    ASSERT_EQ(editor->extraSelections().size(), 1);
    EXPECT_EQ(editor->extraSelections()[0].cursor.blockNumber(), 1);
    EXPECT_FALSE(runButton->isEnabled());

    QTest::keyClick(editor, Qt::Key_Z,
                    Qt::ControlModifier); // and it takes the sentence back with the mistake
    editor->selectAll();
    type(QString());
    QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClick(editor, Qt::Key_Delete);
    type(QStringLiteral("workload: lm\nbatch: 3"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kPatienceMs)) << verdict();
    EXPECT_THAT(verdict(), HasSubstr("1 point"));
    EXPECT_TRUE(editor->extraSelections().isEmpty());
}

TEST_F(ExperimentWindow, OpensASpecFile)
{
    const std::filesystem::path spec = folder / "two.yaml";
    std::ofstream(spec) << "workload: attention\nseq_len: 64\nsweep: {batch: [1, 2]}\n";
    window->open({QString::fromStdString(spec.string())});
    ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kPatienceMs)) << verdict();
    EXPECT_THAT(verdict(), HasSubstr("2 points"));
    EXPECT_EQ(statuses(), QStringList({"waiting", "waiting"}));
    EXPECT_TRUE(window->workspace().files().empty());
    window->open({QString::fromStdString((folder / "none.yaml").string())});
    EXPECT_THAT(verdict(), HasSubstr("none.yaml"));
}

TEST_F(ExperimentWindow, CopiesTheCommandThatRunsASavedSpec)
{
    const std::filesystem::path spec = folder / "it's two.yaml";
    std::ofstream(spec) << "workload: attention\nseq_len: 64\nsweep: {batch: [1, 2]}\n";
    window->open({QString::fromStdString(spec.string())});
    auto* line = page->findChild<QPushButton*>(QStringLiteral("batch"));
    QApplication::clipboard()->clear();
    QTest::mouseClick(line, Qt::LeftButton);
    EXPECT_EQ(QApplication::clipboard()->text().toStdString(), "tilescope --batch '" +
                                                                   (folder / "it'\\''s two.yaml").string() +
                                                                   "' -o " + output.toStdString());
    QApplication::clipboard()->clear();
    type(QStringLiteral("# changed"));
    QTest::mouseClick(line, Qt::LeftButton);
    EXPECT_TRUE(QApplication::clipboard()->text().isEmpty()) << "the file is not what the editor shows";
    EXPECT_THAT(verdict(), HasSubstr("Save the spec first"));
}

TEST_F(ExperimentWindow, SaysThatTheEngineIsMissing)
{
    setenv("TILESCOPE_ENGINE", (folder / "no-engine").c_str(), 1);
    runSeeds(QStringLiteral("[0]"));
    ASSERT_TRUE(waitForEnd());
    EXPECT_THAT(text("status"), HasSubstr("no-engine"));
    EXPECT_TRUE(runButton->isEnabled());
}

TEST_F(ExperimentWindow, SaysThatAPointKilledTheEngineAndGoesOn)
{
    setenv("FAKE_SCRIPT", "segv,ok", 1);
    runSeeds(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(waitForEnd());
    EXPECT_EQ(statuses(), QStringList({"error", "ok"}));
    EXPECT_THAT(page->findChild<QPlainTextEdit*>(QStringLiteral("log"))->toPlainText().toStdString(),
                HasSubstr("SIGSEGV"));
}

TEST_F(ExperimentWindow, AsksBeforeItClosesOnASweep)
{
    setenv("FAKE_SCRIPT", "slow", 1);
    runSeeds(QStringLiteral("[0]"), 100'000);
    ASSERT_TRUE(QTest::qWaitFor([this] { return statuses().value(0) == "running: measure"; }, kPatienceMs));
    const auto answer = [this](QMessageBox::StandardButton button) {
        QTimer::singleShot(0, window.get(), [button] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            ASSERT_NE(box, nullptr);
            QTest::mouseClick(box->button(button), Qt::LeftButton);
        });
        window->close();
    };
    answer(QMessageBox::No);
    EXPECT_TRUE(window->isVisible());
    EXPECT_TRUE(page->isRunning());
    answer(QMessageBox::Yes);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !window->isVisible(); }, kPatienceMs));
    EXPECT_FALSE(page->isRunning());
}

} // namespace
} // namespace tilescope::ui

int main(int argc, char** argv)
{
    ::testing::InitGoogleMock(&argc, argv);
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tilescope-test"));
    QApplication::setOrganizationName(QStringLiteral("tilescope-test"));
    return RUN_ALL_TESTS();
}
