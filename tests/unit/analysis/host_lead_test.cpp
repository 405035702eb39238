#include "core/analysis/waiting/host_lead.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {
namespace {

Timestamp after(std::int64_t ns)
{
    return timestampAt(ns);
}

TEST(HostLead, IsFromLaunchesToTheirWork)
{
    const std::vector<LaunchedWork> work{
        {.start = after(20), .end = after(30), .launched = after(10), .thread = ThreadId{1}},
        {.start = after(60), .end = after(70), .launched = after(20), .thread = ThreadId{1}},
        {.start = after(80), .end = after(90), .thread = ThreadId{1}}};
    const HostLead lead = hostLead(work, {}, {});
    EXPECT_EQ(lead.launches, 2) << "when the third was launched is not known";
    EXPECT_EQ(lead.lead, Nanoseconds(50));
    EXPECT_EQ(lead.mean(), Nanoseconds(25));
    EXPECT_EQ(lead.work, Nanoseconds(10));
    EXPECT_EQ(hostLead({}, {}, {}).mean(), Nanoseconds(0));
}

TEST(HostLead, CountsTheWorkOfTheBusiestThreadOfEachStepWithoutItsWaiting)
{
    std::vector<LaunchedWork> work;
    const auto launch = [&](std::int64_t at, std::int64_t thread) {
        work.push_back({.start = after(at + 1),
                        .end = after(at + 2),
                        .launched = after(at),
                        .thread = ThreadId{static_cast<std::uint32_t>(thread)}});
    };
    for (const std::int64_t at : {10, 50, 90})
        launch(at, 1);
    for (const std::int64_t at : {20, 40})
        launch(at, 2);
    launch(110, 1);
    launch(150, 1);
    const std::vector<CudaCall> waits{{.start = after(60), .end = after(80), .thread = ThreadId{1}},
                                      {.start = after(70), .end = after(85), .thread = ThreadId{1}},
                                      {.start = after(0), .end = after(500), .thread = ThreadId{3}}};
    const std::vector<Interval> steps{{after(0), after(100)}, {after(100), after(200)}};
    EXPECT_EQ(hostLead(work, waits, steps).work, Nanoseconds(80 - 25 + 40));
    EXPECT_EQ(hostLead(work, waits, std::vector<Interval>{{after(100), after(200)}}).work, Nanoseconds(40));
}

} // namespace
} // namespace tilescope::analysis
