#include "core/hosts/built_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::hosts {

using ::testing::HasSubstr;

TEST(BuiltKernels, ServeTheGpusThatTheirCodeRunsOn)
{
    for (const auto& [set, gpu] : {std::pair("all", "8.0"),
                                   {"all", "9.0"},
                                   {"all", "12.0"},
                                   {"8.6", "8.0"},
                                   {"8.6", "8.9"},
                                   {"8.9", "8.9"},
                                   {"9.0", "9.0"},
                                   {"8.6,9.0", "8.6"},
                                   {"10.0", "12.0"},
                                   {"10.0", "9.0"}})
        EXPECT_EQ(whyKernelsDoNotServe(set, gpu), "") << set << " on " << gpu;
}

TEST(BuiltKernels, SayWhyTheyDoNot)
{
    for (const auto& [set, gpu] : {std::pair("9.0", "8.6"), {"8.9", "8.6"}, {"8.6", "9.0"}, {"9.0", "10.0"}})
        EXPECT_THAT(whyKernelsDoNotServe(set, gpu), HasSubstr("and this GPU has " + std::string(gpu))) << set;
    EXPECT_THAT(whyKernelsDoNotServe("small", "9.0"), HasSubstr("small set"));
    EXPECT_THAT(whyKernelsDoNotServe("all", "7.5"), HasSubstr("begin at compute capability 8.0"));
}

TEST(BuiltKernels, SayNothingOfAGpuWhoseCapabilityIsUnknown)
{
    for (const char* text : {"", "[N/A]", "9", "9.", ".0", "9.0x", "143771 MiB"})
        EXPECT_EQ(whyKernelsDoNotServe("8.9", text), "") << text;
}

TEST(BuiltKernels, AreKnown)
{
    EXPECT_FALSE(builtKernels().empty());
}

} // namespace tilescope::hosts
