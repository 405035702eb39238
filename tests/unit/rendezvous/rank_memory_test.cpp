#include "core/rendezvous/rank_memory.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>

namespace tilescope::rendezvous {

using ::testing::HasSubstr;

namespace {

std::string refusal(const std::string& path, const std::string& name)
{
    try {
        openRankMemory(path, name);
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 4);
        return error.sentence();
    }
    return {};
}

} // namespace

TEST(RankMemory, IsSharedByThoseThatOpenIt)
{
    const RankMemory memory;
    const FileDescriptor one = openRankMemory(memory.path(), memory.name());
    const FileDescriptor other = openRankMemory(memory.path(), memory.name());
    ASSERT_EQ(pwrite(one.get(), "sum", 3, 5000), 3);
    std::array<char, 3> read{};
    ASSERT_EQ(pread(other.get(), read.data(), 3, 5000), 3);
    EXPECT_EQ(std::memcmp(read.data(), "sum", 3), 0);
}

TEST(RankMemory, IsThatOfOneSupervisorOnly)
{
    // As in two containers whose processes have equal numbers: the path of one is valid in the other.
    const RankMemory memory;
    const RankMemory other;
    EXPECT_NE(memory.name(), other.name());
    EXPECT_THAT(refusal(other.path(), memory.name()), HasSubstr("has been replaced by another file"));
}

TEST(RankMemory, RefusesEverythingThatIsNoMemoryOfItsName)
{
    const RankMemory memory;
    const testing::TemporaryFolder folder;
    std::ofstream(folder / "file") << "bytes";
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    std::ofstream(folder / ("memfd:" + memory.name())) << "bytes";
    for (const std::string name : {"file", "pipe", "absent"})
        EXPECT_NE(refusal((folder / name).string(), memory.name()), "") << name;
    EXPECT_NE(refusal((folder / ("memfd:" + memory.name())).string(), memory.name()), "");
    EXPECT_NE(refusal("/dev/null", memory.name()), "");
}

TEST(RankMemory, EndsWithAKilledSupervisor)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t supervisor = fork();
    if (supervisor == 0) {
        const RankMemory memory;
        const std::string text = memory.path() + " " + memory.name() + "\n";
        if (write(ends[1], text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            _exit(1);
        for (;;)
            pause();
    }
    std::array<char, 256> text{};
    ASSERT_GT(read(ends[0], text.data(), text.size() - 1), 0);
    const std::string words = text.data();
    const std::string path = words.substr(0, words.find(' '));
    const std::string name = words.substr(path.size() + 1, words.size() - path.size() - 2);
    FileDescriptor ofARank = openRankMemory(path, name);
    kill(supervisor, SIGKILL);
    waitpid(supervisor, nullptr, 0);
    EXPECT_THAT(refusal(path, name), HasSubstr("cannot be opened"));
    // A rank that has it open can still use it. It has no name in a file system.
    EXPECT_EQ(pwrite(ofARank.get(), "x", 1, 0), 1);
    struct stat facts {};
    ASSERT_EQ(fstat(ofARank.get(), &facts), 0);
    EXPECT_EQ(facts.st_nlink, 0U);
    close(ends[0]);
    close(ends[1]);
}

} // namespace tilescope::rendezvous
