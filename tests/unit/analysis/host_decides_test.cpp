#include "core/analysis/time/host_decides.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilescope::analysis {
namespace {

constexpr std::int64_t kNsPerMicro = 1'000;
constexpr int kLaunches = 20;

Timestamp atMicros(std::int64_t micros)
{
    return Timestamp(Nanoseconds(micros * kNsPerMicro));
}

/// Kernels of 50 µs that the host launches every `period` µs; a launch takes 5 µs. The queue has room for `depth`.
struct LaunchingHost {
    std::vector<QueuedWork> works;
    std::vector<Interval> waits;

    explicit LaunchingHost(std::int64_t period, std::size_t depth = 1'000)
    {
        std::int64_t host = 0;
        std::int64_t device = 0;
        for (std::size_t i = 0; i < kLaunches; ++i) {
            if (i >= depth) {
                const std::int64_t room = (works[i - depth].time.end - Timestamp{}).count() / kNsPerMicro;
                if (room > host) {
                    waits.push_back({atMicros(host), atMicros(room)});
                    host = room;
                }
            }
            device = std::max(device + 1, host + 5);
            works.push_back({{atMicros(device), atMicros(device + 50)}, atMicros(host), StreamId{7}});
            device += 50;
            host += period;
        }
    }
};

TEST(HostDecides, WhereItIsALittleSlowerThanABusyDevice)
{
    const LaunchingHost slow(53); // busy for 50 of 53 µs
    EXPECT_TRUE(hostDecides(slow.works, slow.waits));
    const LaunchingHost fast(10);
    EXPECT_FALSE(hostDecides(fast.works, fast.waits));
}

TEST(HostDecides, NotWhereItWaitsForTheDevice)
{
    const LaunchingHost queue(10, 2); // launches are paced by the device
    ASSERT_FALSE(queue.waits.empty());
    EXPECT_FALSE(hostDecides(queue.works, queue.waits));
    EXPECT_TRUE(hostDecides(queue.works, {})) << "without the waits, it would look slow";
}

TEST(HostDecides, IsUnknownWithoutLaunches)
{
    LaunchingHost program(53);
    for (QueuedWork& work : program.works)
        work.launched = {};
    EXPECT_FALSE(hostDecides(program.works, program.waits));
}

} // namespace
} // namespace tilescope::analysis
