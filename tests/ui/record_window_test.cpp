// Recording a program from the window.

#include "tests/ui/window_fixture.h"
#include "ui/window/output_view.h"
#include "ui/window/record_dialog.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QPushButton>

#include <csignal>

namespace tilescope::ui {
namespace {

class RecordTest : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        qputenv("XDG_RUNTIME_DIR", QByteArray::fromStdString(folder_.path().string()));
        QTest::keyClick(&window_, Qt::Key_R, Qt::ControlModifier | Qt::AltModifier);
        dialog_ = window_.findChild<RecordDialog*>();
        ASSERT_NE(dialog_, nullptr);
        ASSERT_TRUE(QTest::qWaitForWindowExposed(dialog_, kTimeoutMs));
        type("Working folder", QString::fromStdString(folder_.path().string()));
        type("Recording", QStringLiteral("new.tscope"));
    }
    void TearDown() override
    {
        qunsetenv("TILESCOPE_CLI");
        qunsetenv("XDG_RUNTIME_DIR");
    }

    void type(const char* field, const QString& text)
    {
        for (QLineEdit* edit : dialog_->findChildren<QLineEdit*>())
            if (edit->accessibleName() == QLatin1String(field))
                return edit->setText(text);
        throw std::runtime_error(std::string("no field ") + field);
    }
    QPushButton& button(const char* text)
    {
        for (QPushButton* button : dialog_->findChildren<QPushButton*>())
            if (button->text() == QLatin1String(text))
                return *button;
        throw std::runtime_error(std::string("no button ") + text);
    }
    QString label(const char* name)
    {
        for (const QLabel* label : dialog_->findChildren<QLabel*>())
            if (label->accessibleName() == QLatin1String(name))
                return label->text();
        return {};
    }
    QString output() { return dialog_->findChild<OutputView*>()->toPlainText(); }
    static bool eventually(const std::function<bool()>& what) { return QTest::qWaitFor(what, kTimeoutMs); }

    RecordDialog* dialog_ = nullptr;
};

TEST_F(RecordTest, ShowsTheCommandAndWhatIsMissing)
{
    type("Program with its arguments", {});
    EXPECT_FALSE(button("Record").isEnabled());
    EXPECT_TRUE(label("State").contains(QStringLiteral("no program is given")))
        << label("State").toStdString();
    type("Program with its arguments", QStringLiteral("python train.py > log"));
    EXPECT_TRUE(label("State").contains(QStringLiteral("only a shell")));
    type("Program with its arguments", QStringLiteral("python train.py"));
    EXPECT_TRUE(button("Record").isEnabled());
    for (QCheckBox* box : dialog_->findChildren<QCheckBox*>())
        if (box->text() == QLatin1String("Ops"))
            box->click();
    EXPECT_TRUE(label("Command").endsWith(
        QStringLiteral("&& tilescope record -o new.tscope --ops -- python train.py")))
        << label("Command").toStdString();
    button("Copy command").click();
    EXPECT_EQ(QApplication::clipboard()->text(), label("Command"));
    for (QComboBox* box : dialog_->findChildren<QComboBox*>())
        if (box->accessibleName() == QLatin1String("Begin"))
            box->setCurrentIndex(1);
    EXPECT_FALSE(button("Record").isEnabled()) << "at which step?";
    type("Begin at", QStringLiteral("10:12"));
    EXPECT_TRUE(label("Command").contains(QStringLiteral("--steps 10:12")));
    type("Working folder", QStringLiteral("/no/such/folder"));
    EXPECT_FALSE(button("Record").isEnabled());
}

#ifdef RECORDED_PROGRAM
// The real recorder, and a program that looks to it as one that uses CUDA.
TEST_F(RecordTest, FollowsAProgramStopsItsRecordingAndEndsIt)
{
    qputenv("TILESCOPE_CLI", TILESCOPE_PROGRAM);
    type("Program with its arguments", QStringLiteral(RECORDED_PROGRAM) + QStringLiteral(" watched"));
    // As in a window that a shell started in the background.
    const auto before = std::signal(SIGINT, SIG_IGN);
    button("Record").click();
    ASSERT_TRUE(dialog_->isRunning());
    ASSERT_TRUE(eventually([this] { return output().contains(QStringLiteral("three steps")); }))
        << output().toStdString();
    const auto shown = [this] { return window_.workspace().selectedRuns(); };
    ASSERT_TRUE(eventually([&] { return !shown().empty() && shown().front().run->traits().coversRecording; }))
        << "the recording is shown while it grows";
    EXPECT_TRUE(label("State").startsWith(QStringLiteral("Recording into new.tscope")));
    button("Stop recording").click();
    ASSERT_TRUE(eventually([this] { return label("State").contains(QStringLiteral("is not recorded now")); }))
        << label("State").toStdString() << output().toStdString();
    EXPECT_TRUE(dialog_->isRunning());
    std::signal(SIGINT, before);
    button("End program").click();
    ASSERT_TRUE(eventually([this] { return !dialog_->isRunning(); }));
    EXPECT_TRUE(label("State").startsWith(QStringLiteral("The program"))) << label("State").toStdString();
    ASSERT_TRUE(eventually([&] {
        return window_.workspace().files().back().file->path() == folder_ / "new.tscope" &&
               !shown().empty() && shown().front().key.file == window_.workspace().files().back().id;
    })) << "the finished file takes its place";
    EXPECT_TRUE(QFile::exists(QString::fromStdString((folder_ / "new.tscope").string())));
}

TEST_F(RecordTest, OpensTheRecordingOfAShortProgram)
{
    qputenv("TILESCOPE_CLI", TILESCOPE_PROGRAM);
    type("Program with its arguments", QStringLiteral(RECORDED_PROGRAM) + QStringLiteral(" exit"));
    button("Record").click();
    ASSERT_TRUE(eventually([this] { return !dialog_->isRunning(); }));
    EXPECT_TRUE(label("State").contains(QStringLiteral("exit code 7"))) << label("State").toStdString();
    ASSERT_TRUE(eventually([this] {
        const std::vector<SelectedRun> runs = window_.workspace().selectedRuns();
        return !runs.empty() && runs.front().file->path() == folder_ / "new.tscope";
    }));
}
#endif

} // namespace
} // namespace tilescope::ui
