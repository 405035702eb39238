#include "core/session/protocol/working_copy.h"

#include "core/base/error.h"
#include "core/model/strings.h"
#include "core/session/protocol/run_header.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>

namespace tilescope::session {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

/// A file on what is treated as a network disk, and a local disk for copies.
class WorkingCopyTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        fs::create_directory(local);
        fs::create_directory(network);
        setenv("TMPDIR", local.c_str(), 1);
        setenv("TILESCOPE_SCRATCH", "always", 1);
    }
    void TearDown() override
    {
        unsetenv("TMPDIR");
        unsetenv("TILESCOPE_SCRATCH");
    }

    WorkingCopy copyOf(const WorkingCopy::Timing& timing = {}) { return {file, log, timing}; }

    static void addRun(store::RunWriter& writer)
    {
        ExperimentSpec spec;
        spec.name = "point";
        writer.beginRun(runHeader(spec, 0));
        writer.endRun({});
    }
    /// Writes runs and brings them home.
    void writeRuns(int count)
    {
        WorkingCopy copy = copyOf();
        {
            store::RunWriter writer(copy.path(), strings);
            for (int i = 0; i < count; ++i)
                addRun(writer);
        }
        copy.bringHome();
    }
    /// A process that writes runs into a copy and dies without a word.
    void dieAfter(int count)
    {
        const pid_t child = fork();
        if (child == 0) {
            WorkingCopy copy = copyOf();
            store::RunWriter writer(copy.path(), strings);
            for (int i = 0; i < count; ++i)
                addRun(writer);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_EQ(status, 0);
    }

    static std::size_t runsIn(const fs::path& path) { return store::RunReader(path).runs().size(); }
    static std::vector<std::string> namesIn(const fs::path& folder)
    {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder))
            names.push_back(entry.path().filename());
        std::ranges::sort(names);
        return names;
    }

    testing::TemporaryFolder folder;
    const fs::path local = folder / "local";
    const fs::path network = folder / "network";
    const fs::path file = network / "a.tscope";
    StringTable strings;
    std::vector<std::string> messages;
    const WorkingCopy::Log log = [this](const std::string& text) { messages.push_back(text); };
};

} // namespace

TEST_F(WorkingCopyTest, IsTheFileItselfOnALocalDisk)
{
    for (const char* setting : {"never", "auto", ""}) {
        setenv("TILESCOPE_SCRATCH", setting, 1);
        const WorkingCopy copy = copyOf();
        EXPECT_EQ(copy.path(), file) << setting;
        EXPECT_FALSE(copy.due());
    }
    EXPECT_THAT(messages, IsEmpty());
    EXPECT_THAT(namesIn(network), IsEmpty());
    EXPECT_NO_THROW(requireKnownScratch());
    setenv("TILESCOPE_SCRATCH", "sometimes", 1);
    EXPECT_THROW(copyOf(), Error);
    EXPECT_THROW(requireKnownScratch(), Error);
}

TEST_F(WorkingCopyTest, IsBroughtHomeWholeAndClearedAway)
{
    writeRuns(2);
    EXPECT_THAT(namesIn(network), ElementsAre("a.tscope"));
    EXPECT_THAT(namesIn(local), IsEmpty());
    EXPECT_EQ(runsIn(file), 2U);
    EXPECT_TRUE(store::verify(file).ok());
    EXPECT_THAT(messages.front(), HasSubstr("a.tscope is written to " + local.string()));
    writeRuns(1);
    EXPECT_EQ(runsIn(file), 3U) << "what is there is gone on with";
}

TEST_F(WorkingCopyTest, KeepsTheFilesPermissions)
{
    writeRuns(1);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                              fs::perms::group_write);
    writeRuns(1);
    EXPECT_EQ(static_cast<unsigned>(fs::status(file).permissions()), 0660U);
}

TEST_F(WorkingCopyTest, ReadersSeeSnapshotsAndWritersElsewhereAreRefused)
{
    WorkingCopy copy = copyOf({.between = 0ms});
    {
        store::RunWriter writer(copy.path(), strings);
        addRun(writer);
        ExperimentSpec spec;
        spec.name = "running";
        writer.beginRun(runHeader(spec, 1));
        EXPECT_FALSE(copy.due()) << "nothing is known to be new";
        copy.touched();
        ASSERT_TRUE(copy.due());
        copy.publishIfDue();
        const auto runs = store::RunReader(file).runs();
        ASSERT_EQ(runs.size(), 2U);
        EXPECT_EQ(runs[0].result.status, RunStatus::Ok);
        EXPECT_EQ(runs[1].result.status, RunStatus::Running);
        EXPECT_TRUE(store::verify(file).ok());
        EXPECT_THAT(namesIn(network), ElementsAre("a.tscope", "a.tscope-lock")) << "no log beside it";
        EXPECT_THROW(copyOf(), Error);
        EXPECT_THROW(store::RunWriter(file, strings), Error);
        writer.endRun({});
    }
    copy.bringHome();
    EXPECT_EQ(store::RunReader(file).runs()[1].result.status, RunStatus::Ok);
}

TEST_F(WorkingCopyTest, ASnapshotIsDueWhenItsTimeHasComeAndNotBefore)
{
    WorkingCopy copy = copyOf({.between = 1h});
    const store::RunWriter writer(copy.path(), strings);
    copy.touched();
    copy.publishIfDue();
    EXPECT_FALSE(fs::exists(file));
    EXPECT_GT(*copy.due(), std::chrono::steady_clock::now() + 50min);
}

TEST_F(WorkingCopyTest, WhatAKilledWriterLeftIsGoneOnWith)
{
    writeRuns(1);
    dieAfter(2);
    EXPECT_EQ(runsIn(file), 1U) << "its last snapshot";
    bringHomeLeftCopy(file, log);
    EXPECT_EQ(runsIn(file), 3U);
    EXPECT_THAT(namesIn(local), IsEmpty());
    dieAfter(1);
    writeRuns(1);
    EXPECT_EQ(runsIn(file), 5U);
    EXPECT_THAT(messages, ::testing::Contains(HasSubstr("continuing the copy of")));
    EXPECT_TRUE(store::verify(file).ok());
}

TEST_F(WorkingCopyTest, AWriterThatIsOnItsWayOutIsWaitedForAndOneThatStaysIsNamed)
{
    writeRuns(1);
    dieAfter(2);
    {
        const store::WriterLock stays(file);
        try {
            bringHomeLeftCopy(file, log, 40ms);
            FAIL() << "the file is being written";
        } catch (const Error& error) {
            EXPECT_THAT(error.sentence(), HasSubstr("is being written by process"));
        }
    }
    std::promise<void> held;
    std::jthread leaving([&] {
        const store::WriterLock lock(file);
        held.set_value();
        std::this_thread::sleep_for(100ms);
    });
    held.get_future().wait();
    bringHomeLeftCopy(file, log, 1min);
    EXPECT_EQ(runsIn(file), 3U);
    EXPECT_THAT(namesIn(local), IsEmpty());
}

TEST_F(WorkingCopyTest, WhatAKilledWriterLeftOfAFileThatWentOnElsewhereIsKeptBesideIt)
{
    writeRuns(1);
    dieAfter(2);
    setenv("TILESCOPE_SCRATCH", "never", 1);
    {
        store::RunWriter elsewhere(file, strings);
        addRun(elsewhere);
    }
    setenv("TILESCOPE_SCRATCH", "always", 1);
    bringHomeLeftCopy(file, log);
    EXPECT_EQ(runsIn(file), 2U);
    EXPECT_EQ(runsIn(network / "a.left-1.tscope"), 3U);
    EXPECT_THAT(messages, ::testing::Contains(HasSubstr("tilescope merge")));
    const std::vector<fs::path> left{network / "a.left-1.tscope"};
    EXPECT_EQ(store::merge(left, file).added, 2);
    EXPECT_THAT(namesIn(local), IsEmpty());
}

TEST_F(WorkingCopyTest, AHomeThatIsGoneForAWhileIsTriedAgainAndInTheEndNamed)
{
    WorkingCopy copy = copyOf({.between = 0ms});
    {
        store::RunWriter writer(copy.path(), strings);
        addRun(writer);
        fs::rename(network, folder / "unplugged");
        copy.touched();
        copy.publishIfDue();
        EXPECT_THAT(messages.back(), HasSubstr("the next attempt follows"));
        EXPECT_TRUE(copy.due());
    }
    try {
        copy.bringHome();
        FAIL() << "it went home";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("everything is in " + copy.path().string()));
    }
    EXPECT_EQ(runsIn(copy.path()), 1U);
    fs::rename(folder / "unplugged", network);
    copy.bringHome();
    EXPECT_EQ(runsIn(file), 1U);
}

TEST_F(WorkingCopyTest, AForeignFileIsLeftAloneWithItsFolder)
{
    std::ofstream(file) << "shopping list";
    EXPECT_THROW(copyOf(), Error);
    EXPECT_THAT(namesIn(network), ElementsAre("a.tscope"));
    EXPECT_THAT(namesIn(local), IsEmpty());
}

TEST_F(WorkingCopyTest, AFolderOfSomebodyElsesNameIsNotWrittenTo)
{
    dieAfter(1);
    ASSERT_EQ(namesIn(local).size(), 1U);
    const fs::path scratch = local / namesIn(local)[0];
    fs::permissions(scratch, fs::perms::all);
    EXPECT_THROW(copyOf(), Error);
    fs::remove_all(scratch);
    fs::create_directory(local / "elsewhere");
    fs::create_directory_symlink(local / "elsewhere", scratch);
    EXPECT_THROW(copyOf(), Error);
    EXPECT_THAT(namesIn(local / "elsewhere"), IsEmpty());
}

} // namespace tilescope::session
