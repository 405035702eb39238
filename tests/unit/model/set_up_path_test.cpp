#include "core/model/set_up_path.h"

#include <gtest/gtest.h>

namespace tilescope {

TEST(SetUpPath, NamesTheTensorThatIsCreatedInIt)
{
    const std::string path =
        std::string(kSetUpRange) + "/" + setUpComponent(MemoryCategory::Parameters, "layers.3/ffn/down");
    EXPECT_EQ(path, "setup/parameters/layers.3/ffn/down");
    const auto tensor = setUpTensor(path);
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->category, MemoryCategory::Parameters);
    EXPECT_EQ(tensor->name, "layers.3/ffn/down");
}

TEST(SetUpPath, OtherPathsMakeNoTensor)
{
    for (const char* path : {"", "setup", "setup/", "setup/parameters", "setup/trifles/x", "setups/inputs/x",
                             "step/forward/layers.3", "trace/setup/inputs/x"})
        EXPECT_FALSE(setUpTensor(path)) << path;
}

} // namespace tilescope
