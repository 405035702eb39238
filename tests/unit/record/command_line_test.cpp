#include "core/record/command_line.h"

#include <gtest/gtest.h>

namespace tilescope::record {

namespace {

TEST(MaskedCommandLine, KeepsWordsWithoutSecrets)
{
    EXPECT_EQ(maskedCommandLine({"python", "train.py", "--steps", "10", "--lr=1"}),
              "python train.py --steps 10 --lr=1");
}

TEST(MaskedCommandLine, MasksValuesOfOptionsAndVariables)
{
    EXPECT_EQ(maskedCommandLine({"a", "--api-key", "x", "--HF_TOKEN=y", "MY_SECRET=z", "--password"}),
              "a --api-key *** --HF_TOKEN=*** MY_SECRET=*** --password");
}

TEST(MaskedCommandLine, MasksNoOptionThatFollowsOneWithoutValue)
{
    EXPECT_EQ(maskedCommandLine({"a", "--use-token", "--fast", "b"}), "a --use-token --fast b");
}

} // namespace

} // namespace tilescope::record
