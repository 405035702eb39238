#include "core/exchange/export/export_text.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilescope::exchange {
namespace {

TEST(TextWithoutHomes, NamesNobody)
{
    EXPECT_EQ(withoutHomes("/home/ada/train.py(96): step"), "~/train.py(96): step");
    EXPECT_EQ(withoutHomes("/mnt/nfs/home/ada"), "~");
    EXPECT_EQ(withoutHomes("/Users/ada/x"), "~/x");
    EXPECT_EQ(withoutHomes("/cluster/users/ada/x"), "~/x");
    EXPECT_EQ(withoutHomes("/root/x"), "~/x");
    EXPECT_EQ(withoutHomes("a 'file:/home/ada/x', (/home/bob/y)"), "a 'file:~/x', (~/y)");
    EXPECT_EQ(withoutHomes("step/\u2215home\u2215ada\u2215train.py:3"), "step/~\u2215train.py:3");
}

TEST(TextWithoutHomes, KeepsOtherPathsAndNames)
{
    for (const char* text :
         {"", "/", "//", "step/forward/layers.3", "step/home/ada", "/usr/lib/python3/root/x.py", "/home",
          "/homes/ada", "a / b", "void f<int>(float*, int)::operator/", "\u2215"})
        EXPECT_EQ(withoutHomes(text), text);
}

TEST(TextWithoutHomes, RemovesTheHomeOfThisProcess)
{
    const char* before = std::getenv("HOME");
    const std::string kept = before ? before : "";
    setenv("HOME", "/data/ada", 1);
    EXPECT_EQ(withoutHomes("/data/ada/x.py"), "~/x.py");
    EXPECT_EQ(withoutHomes("/data/adam/x.py"), "/data/adam/x.py");
    setenv("HOME", kept.c_str(), 1);
}

TEST(ExportedText, IsValidUtf8)
{
    EXPECT_EQ(exportedText("/home/ada \xff", false), "~ \ufffd");
    EXPECT_EQ(exportedText("/home/ada \xff", true), "/home/ada \ufffd");
}

} // namespace
} // namespace tilescope::exchange
