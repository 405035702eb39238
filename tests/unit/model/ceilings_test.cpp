#include "core/model/ceilings.h"

#include <gtest/gtest.h>

namespace tilescope {

namespace {

Ceiling ceiling(std::string kind, double value, std::int64_t measured, std::string device = "cpu:a")
{
    Ceiling made;
    made.kind = std::move(kind);
    made.value = value;
    made.measuredUnixNs = measured;
    made.device = std::move(device);
    return made;
}

} // namespace

TEST(BusyHost, IsDetectedByTheFigureOfTheSameMeasurement)
{
    const std::vector<Ceiling> all{ceiling("copy", 1e10, 1), ceiling(std::string(kHostWaiting), 25, 1),
                                   ceiling("copy", 2e10, 2), ceiling(std::string(kHostWaiting), 0.5, 2),
                                   ceiling("copy", 3e10, 3), ceiling("copy", 4e10, 1, "cpu:b")};
    EXPECT_TRUE(isFromBusyHost(all, all[0]));
    EXPECT_EQ(hostWaitingAt(all, all[0]), 0.25);
    EXPECT_FALSE(isFromBusyHost(all, all[2]));
    EXPECT_EQ(hostWaitingAt(all, all[4]), std::nullopt) << "an older program did not record it";
    EXPECT_FALSE(isFromBusyHost(all, all[4]));
    EXPECT_FALSE(isFromBusyHost(all, all[5])) << "another device";
}

} // namespace tilescope
