#include "core/analysis/path/host_spans.h"

#include "core/analysis/stats/random.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::analysis {

namespace {

constexpr std::int64_t kLastTick = 50;

/// Brute force: the innermost event at an instant.
std::optional<std::uint32_t> innermostAt(const std::vector<HostEvent>& events, Timestamp time)
{
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < events.size(); ++i)
        if (events[i].time.start <= time && time < events[i].time.end)
            found = i;
    return found;
}

} // namespace

TEST(HostSpans, NameTheInnermostEventOfEachInstant)
{
    constexpr std::uint64_t kSeed = 20;
    Random random(kSeed);
    for (int round = 0; round < 500; ++round) {
        std::vector<HostEvent> events(1 + random.below(8));
        for (HostEvent& event : events) {
            const auto start = static_cast<std::int64_t>(random.below(kLastTick));
            event.time = {timestampAt(start),
                          timestampAt(start + static_cast<std::int64_t>(random.below(
                                                  kLastTick - static_cast<std::uint64_t>(start))))};
        }
        std::ranges::stable_sort(events, {}, [](const HostEvent& event) { return event.time.start; });
        std::vector<Timestamp> cuts(random.below(4));
        for (Timestamp& cut : cuts)
            cut = timestampAt(static_cast<std::int64_t>(random.below(kLastTick)));
        std::ranges::sort(cuts);
        const std::vector<HostSpan> spans = hostSpans(events, cuts);
        Timestamp end = events.front().time.end;
        for (const HostEvent& event : events)
            end = std::max(end, event.time.end);
        // Events of no length at the end are not covered.
        Timestamp time = events.front().time.start;
        for (const HostSpan& span : spans) {
            ASSERT_EQ(span.time.start, time) << "round " << round;
            for (; time < span.time.end; time += Nanoseconds(1))
                ASSERT_EQ(span.event, innermostAt(events, time)) << "round " << round;
            for (const Timestamp cut : cuts)
                EXPECT_FALSE(span.time.start < cut && cut < span.time.end);
        }
        EXPECT_EQ(time, std::max(end, events.back().time.start)) << "round " << round;
    }
}

} // namespace tilescope::analysis
