#include "ui/window/report_dialog.h"

#include "tests/support/temporary_folder.h"
#include "tests/ui/timeouts.h"
#include "tests/unit/report/study_file.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include <fstream>

namespace tilescope::ui {

namespace {

/// The dialog for a recording of a study, and a program in place of the command line.
class ReportDialogTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        report::writeStudyFile(folder_ / "flash.tscope", "flash", config::Edition::Quick,
                               [](const ExperimentSpec&) { return report::FakeResult{}; });
        qputenv("TILESCOPE_CLI", QByteArray::fromStdString((folder_ / "tilescope").string()));
    }

    void TearDown() override { qunsetenv("TILESCOPE_CLI"); }

    void writeProgram(const std::string& script)
    {
        const std::filesystem::path file = folder_ / "tilescope";
        std::ofstream(file) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }

    QPushButton& button(ReportDialog& dialog, const char* text)
    {
        for (QPushButton* button : dialog.findChildren<QPushButton*>())
            if (button->text() == QLatin1String(text))
                return *button;
        throw std::runtime_error(std::string("no button ") + text);
    }

    QLineEdit& field(ReportDialog& dialog, const char* name)
    {
        for (QLineEdit* field : dialog.findChildren<QLineEdit*>())
            if (field->accessibleName() == QLatin1String(name))
                return *field;
        throw std::runtime_error(std::string("no field ") + name);
    }

    bool shows(ReportDialog& dialog, const QString& words)
    {
        const QList<QLabel*> labels = dialog.findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&words](const QLabel* label) { return label->text().contains(words); });
    }

    /// Waits until the studies are read, and lets the program run.
    bool write(ReportDialog& dialog)
    {
        QPushButton& write = button(dialog, "Write");
        if (!QTest::qWaitFor([&write] { return write.isEnabled(); }, kTimeoutMs))
            return false;
        QSignalSpy ended(&dialog, &ReportDialog::ended);
        write.click();
        return (!ended.isEmpty() || ended.wait(kTimeoutMs)) && ended.front().front().toBool();
    }

    QString path(const char* name) const { return QString::fromStdString((folder_ / name).string()); }

    testing::TemporaryFolder folder_;
};

} // namespace

TEST_F(ReportDialogTest, RunsTheCommandThatItShows)
{
    writeProgram("printf '%s\\n' \"$@\" > \"$4.words\"\n");
    ReportDialog dialog(path("flash.tscope"));
    field(dialog, "Title").setText(QStringLiteral("It's mine"));
    field(dialog, "Author").setText(QStringLiteral("A. Student"));
    field(dialog, "Folder").setText(path("writeup"));
    EXPECT_TRUE(dialog.command().endsWith(QStringLiteral("'--title=It'\\''s mine' '--author=A. Student'")))
        << dialog.command().toStdString();
    dialog.show();
    ASSERT_TRUE(write(dialog));
    std::ifstream words(folder_ / "writeup.words");
    const std::string all{std::istreambuf_iterator<char>(words), {}};
    EXPECT_EQ(all, "report\n" + path("flash.tscope").toStdString() + "\n-o\n" +
                       path("writeup").toStdString() + "\n--title=It's mine\n--author=A. Student\n");
    EXPECT_TRUE(shows(dialog, QStringLiteral("Written to")));
    EXPECT_TRUE(button(dialog, "Show report").isVisible());
    EXPECT_EQ(field(*std::make_unique<ReportDialog>(path("flash.tscope")), "Author").text(),
              QStringLiteral("A. Student"))
        << "the author is remembered";
}

TEST_F(ReportDialogTest, ShowsWhyAReportCouldNotBeWritten)
{
    writeProgram("echo 'the folder is not empty' >&2; exit 2\n");
    ReportDialog dialog(path("flash.tscope"));
    dialog.show();
    EXPECT_FALSE(write(dialog));
    EXPECT_TRUE(shows(dialog, QStringLiteral("the folder is not empty")));
    EXPECT_FALSE(button(dialog, "Show report").isVisible());
    std::filesystem::remove(folder_ / "tilescope");
    EXPECT_FALSE(write(dialog)) << "there is no program";
}

TEST_F(ReportDialogTest, AFileWithoutStudiesHasNoReport)
{
    {
        StringTable strings;
        store::RunWriter writer(folder_ / "empty.tscope", strings);
    }
    ReportDialog dialog(path("empty.tscope"));
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return shows(dialog, QStringLiteral("The file has no run of a study.")); }, kTimeoutMs));
    EXPECT_FALSE(button(dialog, "Write").isEnabled());
}

} // namespace tilescope::ui
