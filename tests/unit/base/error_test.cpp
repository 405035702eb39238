#include "core/base/error.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tilescope {

TEST(Error, SentenceJoinsItsNonEmptyParts)
{
    EXPECT_EQ((Error{.what = "no such file", .where = "a.tscope", .remedy = "check the path"}.sentence()),
              "a.tscope: no such file; check the path");
    EXPECT_EQ((Error{.what = "no such file"}.sentence()), "no such file");
}

TEST(Error, SentenceCannotMoveACursor)
{
    const Error error{.what = "no\nfile", .where = "\x1b[31m", .remedy = "\u009b"};
    EXPECT_EQ(error.sentence(), R"(\x1b[31m: no\nfile; \x9b)");
    try {
        throw std::runtime_error("\x1b]0;title\a");
    } catch (...) {
        EXPECT_EQ(currentExceptionSentence(), R"(\x1b]0;title\x07)");
    }
}

TEST(Error, KindDecidesTheExitCode)
{
    EXPECT_EQ((Error{.what = "x"}.exitCode()), 2);
    EXPECT_EQ((Error{.what = "x", .kind = ErrorKind::Failure}.exitCode()), 3);
    EXPECT_EQ((Error{.what = "x", .kind = ErrorKind::Environment}.exitCode()), 4);
}

TEST(CurrentExceptionSentence, DescribesForeignExceptions)
{
    try {
        throw std::runtime_error("disk on fire");
    } catch (...) {
        EXPECT_EQ(currentExceptionSentence(), "disk on fire");
    }
    try {
        throw 7;
    } catch (...) {
        EXPECT_EQ(currentExceptionSentence(), "unknown failure");
    }
}

} // namespace tilescope
