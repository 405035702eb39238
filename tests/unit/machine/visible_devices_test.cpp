#include "core/machine/visible_devices.h"

#include <gtest/gtest.h>

namespace tilescope::machine {

TEST(VisibleDevice, IsTheDriversIndexWithoutTheVariable)
{
    EXPECT_EQ(visibleDevice({}, 0), "0");
    EXPECT_EQ(visibleDevice({}, 3), "3");
}

TEST(VisibleDevice, FollowsTheVariablesOrder)
{
    EXPECT_EQ(visibleDevice("2,0", 0), "2");
    EXPECT_EQ(visibleDevice("2, 0", 1), "0");
    EXPECT_EQ(visibleDevice("2,0", 2), "");
    EXPECT_EQ(visibleDevice("GPU-5a1c,MIG-77", 1), "MIG-77");
}

TEST(VisibleDevice, EndsWhereCudaStopsReading)
{
    EXPECT_EQ(visibleDevice("", 0), "");
    EXPECT_EQ(visibleDevice("1,-1,0", 1), "");
    EXPECT_EQ(visibleDevice("1,-1,0", 2), "");
    EXPECT_EQ(visibleDevice("1,,0", 2), "");
}

} // namespace tilescope::machine
