#include "core/analysis/time/deciders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
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

bool hostDecides(std::span<const QueuedWork> works, std::span<const Interval> waits)
{
    return deciders(std::array{QueuedProcess{works, waits}}).front().at(0) == Decider::Host;
}

TEST(Deciders, HostThatIsALittleSlowerThanABusyDevice)
{
    const LaunchingHost slow(53); // busy for 50 of 53 µs
    EXPECT_TRUE(hostDecides(slow.works, slow.waits));
    const LaunchingHost fast(10);
    EXPECT_FALSE(hostDecides(fast.works, fast.waits));
}

TEST(Deciders, NotTheHostWhereItWaitsForTheDevice)
{
    const LaunchingHost queue(10, 2); // launches are paced by the device
    ASSERT_FALSE(queue.waits.empty());
    EXPECT_FALSE(hostDecides(queue.works, queue.waits));
    EXPECT_TRUE(hostDecides(queue.works, {})) << "without the waits, it would look slow";
}

TEST(Deciders, DeviceWithoutRecordedLaunches)
{
    LaunchingHost program(53);
    for (QueuedWork& work : program.works)
        work.launched = {};
    EXPECT_FALSE(hostDecides(program.works, program.waits));
}

/// Two processes whose last work is a collective of both. The host of the other one is slower than its device.
struct TwoProcesses {
    LaunchingHost one{10};
    LaunchingHost other{120};

    TwoProcesses()
    {
        for (LaunchingHost* each : {&one, &other}) {
            QueuedWork collective = each->works.back();
            collective.stream = StreamId{8};
            collective.collective = 0;
            collective.ready = other.works.back().time.start;
            collective.time.end = collective.ready + Nanoseconds(50 * kNsPerMicro);
            each->works.back() = collective;
        }
        // Work beside the collective that waits.
        std::int64_t time = kLaunches * 51;
        while (atMicros(time + 50) < one.works.back().ready) {
            one.works.push_back({{atMicros(time), atMicros(time + 50)}, atMicros(0), StreamId{7}});
            time += 51;
        }
        std::ranges::sort(one.works, {}, [](const QueuedWork& work) { return work.time.start; });
    }
};

TEST(Deciders, AnotherProcessThatCollectivesWaitFor)
{
    const TwoProcesses two;
    const std::array both{QueuedProcess{two.one.works, two.one.waits},
                          QueuedProcess{two.other.works, two.other.waits}};
    EXPECT_EQ(deciders(both).front().at(0), Decider::OtherProcess);
    EXPECT_EQ(deciders(both).back().at(0), Decider::Host);
    EXPECT_EQ(deciders(std::span(both).first(1)).front().at(0), Decider::Device);
}

} // namespace
} // namespace tilescope::analysis
