#include "core/engine/common/program_run.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

namespace tilescope::engine {
namespace {

namespace fs = std::filesystem;

class ProgramRun : public ::testing::Test {
protected:
    testing::TemporaryFolder folder_;
};

TEST_F(ProgramRun, TellsHowAProgramEnded)
{
    const auto end = runProgram({"sh", "-c", "echo first; echo $WORD >&2; echo; exit 3"},
                                {{"WORD", "second"}}, folder_ / "output", {});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 3);
    EXPECT_EQ(end->lastLine, "second");
    EXPECT_EQ(fs::status(folder_ / "output").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(runProgram({"sh", "-c", "kill -9 $$"}, {}, folder_ / "output", {})->code, 137);
}

TEST_F(ProgramRun, EndsAProgramAndItsChildrenOnRequest)
{
    std::stop_source source;
    std::jthread later([&] {
        while (!fs::exists(folder_ / "begun"))
            std::this_thread::yield();
        source.request_stop();
    });
    EXPECT_FALSE(runProgram({"sh", "-c", "sleep 1000 & touch \"$0\"; wait", (folder_ / "begun").string()}, {},
                            folder_ / "output", source.get_token()));
}

TEST_F(ProgramRun, SaysThatThereIsNoSuchProgram)
{
    const auto end = runProgram({"/no/such/program"}, {}, folder_ / "output", {});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->code, 127);
    EXPECT_EQ(end->lastLine, "/no/such/program cannot be started (No such file or directory)");
}

} // namespace
} // namespace tilescope::engine
