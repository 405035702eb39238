#include "core/base/search_path.h"

#include "core/base/spawn_words.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace tilescope {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

namespace {

/// Changes to a folder that holds an executable `tool`, and restores folder and PATH.
class SearchPath : public ::testing::Test {
protected:
    void SetUp() override
    {
        fs::create_directories(folder_ / "bin");
        for (const std::string place : {"tool", "bin/tool"}) {
            std::ofstream(folder_ / place) << "#!/bin/sh\n";
            fs::permissions(folder_ / place, fs::perms::owner_all);
        }
        fs::current_path(folder_ / ".");
    }
    void TearDown() override
    {
        fs::current_path(before_);
        setenv("PATH", path_.c_str(), 1);
        unsetenv("PYTHONPATH");
    }

    testing::TemporaryFolder folder_;
    const fs::path before_ = fs::current_path();
    const std::string path_ = std::getenv("PATH");
};

} // namespace

TEST_F(SearchPath, KeepsAbsoluteElementsOnly)
{
    EXPECT_EQ(withoutRelativeElements(""), "");
    EXPECT_EQ(withoutRelativeElements(":"), "");
    EXPECT_EQ(withoutRelativeElements("."), "");
    EXPECT_EQ(withoutRelativeElements("/a"), "/a");
    EXPECT_EQ(withoutRelativeElements(":/a::b:./c:../d:~/e:/f:"), "/a:/f");
    EXPECT_EQ(withoutRelativeElements("/a;b;/c:$ORIGIN/../lib:${ORIGIN}:$LIB", ":;"),
              "/a:/c:$ORIGIN/../lib:${ORIGIN}");
}

TEST_F(SearchPath, FindsNoProgramOfTheCurrentFolder)
{
    for (const char* path : {"", ":", ".", "bin", "./bin", ":/nonexistent:", "bin:.:"}) {
        setenv("PATH", path, 1);
        EXPECT_EQ(findProgram("tool"), "") << path;
    }
    unsetenv("PATH");
    EXPECT_EQ(findProgram("tool"), "");
    EXPECT_NE(findProgram("sh"), "");
    EXPECT_EQ(findProgram("./tool"), "./tool"); // a path is what it says
}

TEST_F(SearchPath, FindsTheFirstExecutableFileInPath)
{
    fs::create_directories(folder_ / "first/tool"); // a folder is no program
    setenv("PATH", (".:" + (folder_ / "first").string() + ":" + (folder_ / "bin").string()).c_str(), 1);
    EXPECT_EQ(findProgram("tool"), folder_ / "bin/tool");
    fs::permissions(folder_ / "bin/tool", fs::perms::owner_read);
    EXPECT_EQ(findProgram("tool"), "");
}

TEST_F(SearchPath, IsAbsoluteInTheEnvironmentOfOtherPrograms)
{
    setenv("PATH", ":/bin:.", 1);
    setenv("PYTHONPATH", ":", 1);
    const std::vector<std::string> variables = environmentWith({{"WORD", ""}});
    EXPECT_THAT(variables, Contains("PATH=/bin"));
    EXPECT_THAT(variables, Not(Contains(StartsWith("PYTHONPATH="))));
    EXPECT_THAT(variables, Contains("WORD="));
}

} // namespace tilescope
