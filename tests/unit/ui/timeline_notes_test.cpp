// Notes beside a recording: complete, shared by windows, and safe for any content of the file.

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "ui/timeline/timeline_notes.h"

#include <QFile>
#include <QFileInfo>

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

namespace tilescope::ui {
namespace {

class TimelineNotesTest : public ::testing::Test {
protected:
    QString file() const { return notesFileOf(QString::fromStdString((folder_ / "lm.tscope").string())); }
    void write(const std::string& text) const { std::ofstream(file().toStdString()) << text; }
    static TimelineNote note(const char* id, std::int64_t at, const char* text = "look here")
    {
        return {QString::fromLatin1(id), QStringLiteral("uid"),  at, 0,
                QStringLiteral("mm"),    QString::fromUtf8(text)};
    }
    std::string sentenceOf(const std::function<void()>& does) const
    {
        try {
            does();
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    testing::TemporaryFolder folder_;
};

TEST_F(TimelineNotesTest, AreReadAsTheyWereWritten)
{
    EXPECT_TRUE(readNotes(file()).empty()) << "no file, no notes";
    const TimelineNote first = note("a", 5'000'000'000'000'001);
    const TimelineNote second = note("b", 20, "grüße, <b>bold</b> & \"so\"");
    EXPECT_EQ(changeNotes(file(), {{first, false}, {second, false}}),
              (std::vector<TimelineNote>{second, first}));
    EXPECT_EQ(readNotes(file()), (std::vector<TimelineNote>{second, first})) << "by time, to the nanosecond";
}

TEST_F(TimelineNotesTest, AnEditDoneTwiceIsDoneOnce)
{
    const NoteEdit add{note("a", 1), false};
    changeNotes(file(), {add});
    EXPECT_EQ(changeNotes(file(), {add, add}).size(), 1U);
    TimelineNote changed = note("a", 1, "anew");
    EXPECT_EQ(changeNotes(file(), {{changed, false}}), std::vector<TimelineNote>{changed});
    const NoteEdit remove{changed, true};
    EXPECT_TRUE(changeNotes(file(), {remove, remove}).empty());
    EXPECT_FALSE(QFile::exists(file())) << "no notes, no file";
}

TEST_F(TimelineNotesTest, WhatAnotherWindowWroteMeanwhileStays)
{
    changeNotes(file(), {{note("mine", 1), false}});
    changeNotes(file(), {{note("theirs", 2), false}});
    EXPECT_EQ(changeNotes(file(), {{note("mine", 3), false}}).size(), 2U);
}

TEST_F(TimelineNotesTest, AFileThatIsNoneIsRefusedAndLeftAsItIs)
{
    const std::vector<std::string> foreign{"{ this is no json", "[1, 2]", "",
                                           R"({"version": 99, "notes": []})",
                                           std::string("SQLite format 3\0\1\2", 18)};
    for (const std::string& text : foreign) {
        write(text);
        EXPECT_NE(sentenceOf([this] { readNotes(file()); }), "") << text;
        EXPECT_NE(sentenceOf([this] { changeNotes(file(), {{note("a", 1), false}}); }), "") << text;
        QFile input(file());
        ASSERT_TRUE(input.open(QIODevice::ReadOnly));
        EXPECT_EQ(input.readAll().toStdString(), text) << "not a byte changed";
    }
}

TEST_F(TimelineNotesTest, AnIrregularFileDoesNotBlock)
{
    ASSERT_EQ(mkfifo(file().toLocal8Bit().constData(), 0600), 0);
    EXPECT_NE(sentenceOf([this] { readNotes(file()); }).find("regular"), std::string::npos);
    QFile::remove(file());
    ASSERT_EQ(symlink("/dev/zero", file().toLocal8Bit().constData()), 0);
    EXPECT_NE(sentenceOf([this] { readNotes(file()); }).find("regular"), std::string::npos);
}

TEST_F(TimelineNotesTest, AnEndlessFileIsNotRead)
{
    write(R"({"version": 1, "notes": [], "padding": ")" + QByteArray(9'000'000, 'x').toStdString() + "\"}");
    EXPECT_NE(sentenceOf([this] { readNotes(file()); }).find("too large"), std::string::npos);
}

TEST_F(TimelineNotesTest, NotesWithoutSenseAreLeftOutAndTextsMadeHarmless)
{
    write(R"({"version": 1, "notes": [
        7, null, {"id": "x"}, {"id": "y", "run": "uid", "at_ns": -4}, {"run": "uid", "at_ns": 4},
        {"id": "z", "run": "uid", "at_ns": 1e300}, {"id": "w", "run": "uid", "at_ns": "soon"},
        {"id": "ok", "run": "uid", "at_ns": 12, "length_ns": -3, "text": "a\nb\u0000c \u202Eevil\u0007"}]})");
    const std::vector<TimelineNote> notes = readNotes(file());
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].at, 12);
    EXPECT_EQ(notes[0].length, 0);
    EXPECT_EQ(notes[0].text, QStringLiteral("a b c evil"));
    write(R"({"version": 1, "notes": [{"id": "ok", "run": "uid", "at_ns": 12, "text": ")" +
          std::string(100'000, 'y') + "\"}]}");
    EXPECT_LE(readNotes(file()).at(0).text.size(), 2000);
}

TEST_F(TimelineNotesTest, AFolderThatCannotBeWrittenIsSaid)
{
    const QString nowhere = QStringLiteral("/dev/null/lm.tscope.notes.json");
    EXPECT_NE(sentenceOf([&] {
                  changeNotes(nowhere, {{note("a", 1), false}});
              }).find("cannot be written"),
              std::string::npos);
}

} // namespace
} // namespace tilescope::ui
