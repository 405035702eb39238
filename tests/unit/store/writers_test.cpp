// Writers that die, meet each other, or are read while they write.

#include "child.h"
#include "core/base/error.h"
#include "core/store/file/database.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"
#include "store_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

namespace tilescope::store {

using namespace testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// Mounts 3 MiB of memory on `folder`, seen by this process alone; false where the machine does not allow it.
bool mountSmallDisk(const fs::path& folder)
{
    if (unshare(CLONE_NEWNS) != 0) {
        // Not root: become root of a namespace of users.
        const std::string map = "0 " + std::to_string(geteuid()) + " 1";
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return false;
        std::ofstream("/proc/self/uid_map") << map;
    }
    return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tilescope", folder.c_str(), "tmpfs", 0, "size=3m") == 0;
}

} // namespace

class Writers : public ::testing::Test {
protected:
    TraceBatch opsFrom(std::uint32_t first, std::uint32_t count)
    {
        TraceBatch batch;
        for (std::uint32_t i = first; i < first + count; ++i)
            batch.ops.push_back(make.op(i, "aten::op" + std::to_string(i % 7), i, i + 1));
        return batch;
    }

    /// Writes 100 ops and commits, for ever; says how many are committed after each time.
    void writeForEver(int to)
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        for (std::uint32_t done = 0;; done += 100) {
            writer.write(opsFrom(done, 100));
            writer.commit();
            say(to, std::to_string(done + 100));
        }
    }

    /// What opening a writer on the file says; empty where it opens.
    std::string refusal(int* exitCode = nullptr)
    {
        try {
            RunWriter writer(file, strings);
            return {};
        } catch (const Error& error) {
            if (exitCode)
                *exitCode = error.exitCode();
            return error.sentence();
        }
    }

    std::vector<std::string> names() const
    {
        std::vector<std::string> result;
        for (const auto& entry : fs::directory_iterator(folder.path()))
            result.push_back(entry.path().filename());
        std::ranges::sort(result);
        return result;
    }

    TemporaryFolder folder;
    fs::path file = folder / "a.tscope";
    StringTable strings;
    Builder make{strings};
};

TEST_F(Writers, WhatAKilledOneCommittedIsThere)
{
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 1; round <= 5; ++round) {
        Child child([this](int to) { writeForEver(to); });
        std::size_t committed = 0;
        const int commits = std::uniform_int_distribution(1, 30)(random);
        for (int i = 0; i < commits; ++i)
            committed = std::stoul(child.line());
        child.kill();

        const RunReader reader(file);
        const RunId run{round};
        const auto record = reader.run(run);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->result.status, RunStatus::Interrupted);
        EXPECT_EQ(record->result.reason, "the writing process was killed");
        const auto ops = reader.ops({.run = run});
        EXPECT_GE(ops.size(), committed);
        for (std::size_t i = 0; i < ops.size(); ++i)
            ASSERT_EQ(ops[i].id.value, i);
        EXPECT_TRUE(verify(file).ok());
    }
    // The next writer says so in the file itself, and leaves one plain file.
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(RunReader(file).runs().size(), 5u);
    EXPECT_THAT(names(), ::testing::ElementsAre("a.tscope"));
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Writers, ASecondOneIsRefused)
{
    Child child([this](int to) { writeForEver(to); });
    ASSERT_EQ(child.line(), "100");
    int exitCode = 0;
    const std::string sentence = refusal(&exitCode);
    EXPECT_THAT(sentence, HasSubstr("is being written by process " + std::to_string(child.pid())));
    EXPECT_EQ(exitCode, 2);
    child.kill();
    EXPECT_EQ(refusal(), "");
}

TEST_F(Writers, ASecondOneInTheSameProcessIsRefused)
{
    RunWriter writer(file, strings);
    EXPECT_THAT(refusal(), HasSubstr("is being written by process " + std::to_string(getpid())));
    writer.beginRun(header());
    writer.endRun({});
}

TEST_F(Writers, AReaderFollowsALiveRun)
{
    RunWriter writer(file, strings);
    const RunId run = writer.beginRun(header());
    const RunReader reader(file);
    EXPECT_EQ(reader.run(run)->result.status, RunStatus::Running);
    writer.write(opsFrom(0, 100));
    EXPECT_EQ(reader.ops({.run = run}).size(), 0u) << "not committed yet";
    writer.commit();
    EXPECT_EQ(reader.ops({.run = run}).size(), 100u);
    writer.write(opsFrom(100, 700));
    writer.commit();
    EXPECT_EQ(reader.ops({.run = run}).size(), 800u);
    EXPECT_EQ(reader.counts(run).ops, 800);
    writer.endRun({});
    EXPECT_EQ(reader.run(run)->result.status, RunStatus::Ok);
}

TEST_F(Writers, AReaderDoesNotKeepTheFileFromBeingSealed)
{
    std::optional<RunWriter> writer(std::in_place, file, strings);
    const RunId run = writer->beginRun(header());
    writer->write(opsFrom(0, 10));
    writer->commit();
    const RunReader reader(file);
    ASSERT_EQ(reader.ops({.run = run}).size(), 10u);
    writer.reset();
    EXPECT_THAT(names(), ::testing::ElementsAre("a.tscope"));
    EXPECT_EQ(reader.ops({.run = run}).size(), 10u);
    EXPECT_EQ(reader.run(run)->result.status, RunStatus::Interrupted) << "it was not ended";
}

TEST_F(Writers, AnotherProgramOnTheFileOnlyDelaysTheSealing)
{
    std::optional<RunWriter> writer(std::in_place, file, strings);
    const RunId run = writer->beginRun(header());
    writer->write(opsFrom(0, 10));
    writer->endRun({});
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open_v2(file.c_str(), &other, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "select count(*) from op", nullptr, nullptr, nullptr), SQLITE_OK);
    ::testing::internal::CaptureStderr();
    writer.reset();
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("this program has it open"));
    EXPECT_EQ(RunReader(file).ops({.run = run}).size(), 10u);
    sqlite3_close(other);
    EXPECT_EQ(RunReader(file).ops({.run = run}).size(), 10u);
    EXPECT_EQ(refusal(), "");
    EXPECT_THAT(names(), ::testing::ElementsAre("a.tscope"));
    EXPECT_EQ(RunReader(file).ops({.run = run}).size(), 10u);
}

TEST_F(Writers, AStaleLockFileDoesNotLock)
{
    std::ofstream(WriterLock::sideFile(file)) << "1 elsewhere 5\n";
    EXPECT_EQ(refusal(), "");
    EXPECT_THAT(names(), ::testing::ElementsAre("a.tscope"));
}

TEST_F(Writers, AStoppedOneStillWrites)
{
    Child child([this](int to) { writeForEver(to); });
    child.line();
    ASSERT_EQ(kill(child.pid(), SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child.pid(), &status, WUNTRACED), child.pid());
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    // As it is when the process was stopped for long.
    std::ofstream(WriterLock::sideFile(file)) << child.pid() << ' ' << host.data() << " 5\n";
    EXPECT_TRUE(WriterLock::isHeld(file));
    EXPECT_EQ(RunReader(file).runs().at(0).result.status, RunStatus::Running);
    child.kill();
    EXPECT_FALSE(WriterLock::isHeld(file));
}

// Whatever closes a descriptor of a file drops the locks that the process holds on it, and with them those of readers.
TEST_F(Writers, AReaderThatLostItsLocksSurvivesTheSealing)
{
    {
        Child child([this](int to) { writeForEver(to); });
        child.line();
    }
    // Forked before the reader opens the file, because SQLite's list of the locks of a process is inherited.
    Child other([&](int to) {
        for (const char* note : {"first", "second"}) {
            while (!fs::exists(folder / note))
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            setNote(file, RunId{1}, note);
            say(to, "written");
        }
    });
    const RunReader reader(file);
    ASSERT_EQ(reader.runs().size(), 1u);
    ASSERT_TRUE(fs::exists(fs::path(file) += "-wal")) << "the reader has it open";
    std::ifstream(file).get();
    for (const char* note : {"first", "second"}) {
        std::ofstream(folder / note) << '\n';
        ASSERT_EQ(other.line(), "written");
        EXPECT_EQ(reader.run(RunId{1})->note, note);
        EXPECT_FALSE(fs::exists(fs::path(file) += "-wal")) << "it is sealed";
    }
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Writers, AnErrorNamesTheProcessThatHoldsTheLock)
{
    writeSmallFile(file, strings, make);
    Child child([this](int to) {
        SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
        other.exec("begin exclusive");
        say(to, "locked");
        pause();
    });
    child.line();
    const Error error = translated(SQLite::Exception("busy", SQLITE_BUSY), file);
    EXPECT_THAT(error.sentence(), HasSubstr("process " + std::to_string(child.pid()) + " ("));
    EXPECT_THAT(error.sentence(), HasSubstr("has locked the file"));
}

TEST_F(Writers, AReadOnlyFolderHoldsReadableFilesAndRefusesWriters)
{
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        writer.write(opsFrom(0, 10));
        writer.endRun({});
    }
    // As a live run's main file that was copied alone.
    const fs::path torn = folder / "torn.tscope";
    {
        RunWriter writer(torn, strings);
        writer.beginRun(header());
        writer.write(opsFrom(0, 10));
        writer.commit();
        fs::copy_file(torn, folder / "copy.tscope");
    }
    fs::permissions(folder.path(), fs::perms(0555));
    fs::permissions(file, fs::perms(0444));
    Child child([&](int to) {
        if (geteuid() == 0 && setuid(65'534) != 0) // root may write anywhere
            _exit(98);
        try {
            say(to, std::to_string(RunReader(file).ops({.run = RunId{1}}).size()));
        } catch (const Error& error) {
            say(to, error.sentence());
        }
        int exitCode = 0;
        say(to, refusal(&exitCode));
        say(to, std::to_string(exitCode));
        file = folder / "new.tscope";
        say(to, refusal());
        try {
            const RunReader reader(folder / "copy.tscope");
            say(to, std::to_string(reader.runs().size()));
        } catch (const Error& error) {
            say(to, error.sentence());
        }
    });
    EXPECT_EQ(child.line(), "10");
    EXPECT_THAT(child.line(), HasSubstr("cannot be written"));
    EXPECT_EQ(child.line(), "2");
    EXPECT_THAT(child.line(), HasSubstr("cannot be written"));
    EXPECT_EQ(child.line(), "0") << "the run was still in the log";
    EXPECT_EQ(child.wait(), 0);
    fs::permissions(folder.path(), fs::perms(0755));
}

TEST_F(Writers, AFullDiskEndsTheRunInOneSentence)
{
    const fs::path disk = folder / "disk";
    fs::create_directory(disk);
    Child child([&](int to) {
        if (!mountSmallDisk(disk)) {
            say(to, "no small disk");
            return;
        }
        const fs::path full = disk / "a.tscope";
        RunHeader head = header();
        try {
            RunWriter writer(full, strings);
            writer.beginRun(head);
        } catch (const Error& error) {
            say(to, error.sentence());
        }
        head.freeBytesNeeded = Bytes{0};
        std::size_t committed = 0;
        try {
            RunWriter writer(full, strings);
            writer.beginRun(head);
            for (;;) {
                writer.write(opsFrom(static_cast<std::uint32_t>(committed), 1000));
                writer.commit();
                committed += 1000;
            }
        } catch (const Error& error) {
            say(to, error.sentence() + " | " + std::to_string(error.exitCode()));
        }
        const RunReader reader(full);
        say(to, std::to_string(committed) + " " + std::to_string(reader.ops({.run = RunId{1}}).size()) + " " +
                    std::string(reader.run(RunId{1})->result.reason));
    });
    const std::string first = child.line();
    if (first == "no small disk")
        GTEST_SKIP() << "this machine allows no mount namespace";
    EXPECT_THAT(first, HasSubstr("its disk has only"));
    EXPECT_THAT(child.line(), ::testing::AllOf(HasSubstr("the disk is full"), HasSubstr("| 3")));
    const std::string counts = child.line();
    std::size_t committed = 0;
    std::size_t found = 0;
    char reason[64] = "";
    ASSERT_EQ(std::sscanf(counts.c_str(), "%zu %zu %63[^\n]", &committed, &found, reason), 3) << counts;
    EXPECT_GT(committed, 10'000u);
    EXPECT_GE(found, committed);
    EXPECT_STREQ(reason, "the writing process was killed");
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Writers, EventsBeyondTheCapAreCountedAsALoss)
{
    RunHeader head = header();
    head.eventCap = 150;
    {
        RunWriter writer(file, strings);
        writer.beginRun(head);
        writer.write(opsFrom(0, 100));
        writer.commit();
        writer.write(opsFrom(100, 100));
        writer.commit();
        writer.write(opsFrom(200, 30));
        writer.endRun({});
        writer.beginRun(head);
        writer.write(opsFrom(0, 100));
        writer.endRun({});
    }
    const RunReader reader(file);
    EXPECT_EQ(reader.ops({.run = RunId{1}}).size(), 150u);
    const auto losses = reader.losses(RunId{1});
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_EQ(losses[0].kind, "event_cap");
    EXPECT_EQ(losses[0].severity, "warning");
    EXPECT_EQ(losses[0].count, 80);
    EXPECT_EQ(reader.ops({.run = RunId{2}}).size(), 100u);
    EXPECT_TRUE(reader.losses(RunId{2}).empty());
}

TEST_F(Writers, TwoRecordsOfOneNumberAreAnErrorThatHarmsNothing)
{
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        writer.write(opsFrom(0, 10));
        writer.commit();
        writer.write(opsFrom(5, 1));
        EXPECT_THROW(writer.commit(), Error);
        EXPECT_THROW(writer.endRun({}), Error) << "after an error nothing more is written";
    }
    EXPECT_EQ(RunReader(file).ops({.run = RunId{1}}).size(), 10u);
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Writers, TheRecordWhoseNumberIsTakenIsNamedAmongMany)
{
    RunWriter writer(file, strings);
    writer.beginRun(header());
    writer.write(opsFrom(0, 400));
    writer.commit();
    TraceBatch batch = opsFrom(400, 100);
    batch.ops[77].id = OpId{399};
    writer.write(batch);
    try {
        writer.commit();
        FAIL() << "400 was written twice";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("have the number 400"));
    }
    EXPECT_EQ(RunReader(file).ops({.run = RunId{1}}).size(), 400u);
}

TEST_F(Writers, ANewFileThatAppearsWhenSealedIsWholeOrNotThere)
{
    const auto countFiles = [this] {
        return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
    };
    {
        RunWriter writer(file, strings, NewFile::WhenSealed);
        writer.beginRun(header());
        writer.write(opsFrom(0, 1000));
        writer.commit();
        EXPECT_FALSE(fs::exists(file));
        EXPECT_THAT(refusal(), HasSubstr("is being written by")) << "its name is taken";
    }
    EXPECT_EQ(countFiles(), 0) << "without seal() nothing remains";
    RunWriter writer(file, strings, NewFile::WhenSealed);
    writer.beginRun(header());
    writer.write(opsFrom(0, 1000));
    writer.endRun({});
    EXPECT_FALSE(fs::exists(file));
    writer.seal();
    EXPECT_TRUE(verify(file).ok()) << "others may open it before the writer is gone";
    EXPECT_EQ(RunReader(file).ops({.run = RunId{1}}).size(), 1000u);
    EXPECT_EQ(RunReader(file).runs().at(0).result.status, RunStatus::Ok);
}

TEST_F(Writers, AnExistingFileIsWrittenInPlaceAndSealedAtOnce)
{
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        writer.endRun({});
    }
    RunWriter writer(file, strings, NewFile::WhenSealed);
    writer.beginRun(header());
    writer.write(opsFrom(0, 10));
    writer.endRun({});
    EXPECT_EQ(RunReader(file).runs().size(), 2u);
    writer.seal();
    EXPECT_FALSE(fs::exists(file.string() + "-wal"));
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Writers, RangesThatCloseLateAreFoundWithoutReadingTheRest)
{
    // The outer range has the first number and comes last, as tracers deliver it.
    TraceBatch first;
    for (std::uint32_t i = 1; i <= 5000; ++i)
        first.ranges.push_back(make.range(i, "step/part", 10 * i, 10 * i + 5));
    TraceBatch last;
    last.ranges = {make.range(0, "step", 0, 60'000), make.range(5001, "step/part", 50'010, 50'015)};
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        writer.write(first);
        writer.write(last);
        writer.endRun({});
    }
    const RunReader reader(file);
    const auto window = reader.ranges({.run = RunId{1}, .from = make.at(30'000), .to = make.at(30'020)});
    ASSERT_EQ(window.size(), 3u);
    EXPECT_EQ(window[0].id, RangeId{0});
    EXPECT_EQ(reader.ranges({.run = RunId{1}}).size(), 5002u);
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Writers, AFileWhoseWriterDiedInTheMiddleOfAChangeIsRepairedByTheNextReader)
{
    {
        RunWriter writer(file, strings);
        writer.beginRun(header());
        writer.endRun({});
    }
    // What sealing does last, caught between its first write to the file and its end.
    Child dying([this](int) {
        sqlite3* database = nullptr;
        sqlite3_open(file.c_str(), &database);
        sqlite3_exec(database, "begin immediate; update run set name = 'half'", nullptr, nullptr, nullptr);
        sqlite3_db_cacheflush(database);
        _exit(0);
    });
    dying.wait();
    fs::path journal = file;
    journal += "-journal";
    ASSERT_GT(fs::file_size(journal), 0U);
    EXPECT_EQ(RunReader(file).run(RunId{1})->name, header().name);
    EXPECT_FALSE(fs::exists(journal));
    EXPECT_TRUE(verify(file).ok());
}

TEST_F(Writers, AFileThatIsMovedAwayMeanwhileIsNotWrittenToInSilence)
{
    for (const bool putBack : {false, true}) {
        SCOPED_TRACE(putBack ? "put back" : "gone");
        fs::path away = file;
        away += ".away";
        {
            RunWriter writer(file, strings);
            writer.beginRun(header());
            writer.write(opsFrom(0, 100));
            writer.commit();
            fs::rename(file, away);
            writer.write(opsFrom(100, 100));
            try {
                writer.commit();
                ADD_FAILURE() << "it went on";
            } catch (const Error& error) {
                EXPECT_THAT(error.sentence(),
                            HasSubstr("was deleted, moved or replaced while it was being written"));
                EXPECT_EQ(error.exitCode(), 3);
            }
        }
        if (putBack) {
            fs::rename(away, file);
            EXPECT_EQ(RunReader(file).counts(RunId{1}).ops, 100) << "what was committed is in it and its log";
            EXPECT_TRUE(verify(file).ok());
            continue;
        }
        // A new file of that name has nothing of the old one's log.
        RunWriter(file, strings).beginRun(header());
        EXPECT_EQ(RunReader(file).runs().size(), 1U);
        EXPECT_TRUE(verify(file).ok());
        fs::remove(file);
    }
}

} // namespace tilescope::store
