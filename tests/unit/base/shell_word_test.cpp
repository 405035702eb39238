#include "core/base/shell_word.h"

#include "core/base/error.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace tilescope {

namespace {

const std::vector<std::string> kHostile{"",
                                        "plain-1.yaml",
                                        "two words",
                                        "it's",
                                        "$HOME",
                                        "$(touch pwned)",
                                        "`touch pwned`",
                                        "a;b|c&d",
                                        "\\ back `tick`",
                                        "a\nb\tc",
                                        "\x1b[2J'\\1",
                                        "*?[x]{a,b}~!#",
                                        "\"quoted\"",
                                        "Ünïcode 中\n",
                                        "-rf"};

std::string echoed(const testing::TemporaryFolder& folder, const std::string& word)
{
    return testing::runProgram({"/bin/bash", "-c", "printf %s " + word}, folder.path()).out;
}

} // namespace

TEST(ShellWord, IsReadBackByAShellAsItWas)
{
    const testing::TemporaryFolder folder;
    for (const std::string& text : kHostile) {
        if (text != "-rf") {
            EXPECT_EQ(echoed(folder, shellWord(text)), text);
        }
        EXPECT_EQ(shellWord(text).find_first_of("\n\t\x1b"), std::string::npos) << text;
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "pwned"));
}

TEST(ShellWord, StaysUnquotedIfPossible)
{
    EXPECT_EQ(shellWord("/data/a-1.tscope"), "/data/a-1.tscope");
    EXPECT_EQ(shellWord("a b"), "'a b'");
}

TEST(ShellWord, ASplitLineHasTheWordsThatWereQuoted)
{
    std::string line;
    for (const std::string& text : kHostile)
        line += "  " + shellWord(text);
    EXPECT_EQ(splitShellWords(line), kHostile);
    EXPECT_EQ(splitShellWords(" a\\ b  \"c \\\" d\"e\t''"), (std::vector<std::string>{"a b", "c \" de", ""}));
    EXPECT_TRUE(splitShellWords(" \t").empty());
}

TEST(ShellWord, WhatOnlyAShellKnowsIsRefused)
{
    for (const char* line :
         {"a | b", "a > b", "a & b", "echo $HOME", "echo \"$HOME\"", "ls *", "a 'b", "a \"b", "`a`"})
        EXPECT_THROW(splitShellWords(line), Error) << line;
}

TEST(ShellPath, IsNeverAnOption)
{
    const testing::TemporaryFolder folder;
    EXPECT_EQ(shellPath("-rf"), "./-rf");
    EXPECT_EQ(shellPath("a -b"), "'a -b'");
    EXPECT_EQ(echoed(folder, shellPath("-n x")), "./-n x");
}

} // namespace tilescope
