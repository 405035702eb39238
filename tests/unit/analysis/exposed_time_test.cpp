#include "core/analysis/time/exposed_time.h"

#include "tests/unit/analysis/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace tilescope::analysis {
namespace {

using namespace tilescope::literals;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

bool holds(std::span<const Interval> intervals, Timestamp time)
{
    return std::ranges::any_of(
        intervals, [time](const Interval& each) { return each.start <= time && time < each.end; });
}

std::vector<Interval> randomPieces(std::mt19937& random, std::size_t count)
{
    std::vector<Interval> intervals;
    for (std::size_t i = 0; i < count; ++i) {
        const auto start = static_cast<std::int64_t>(random() % 60);
        intervals.push_back(between(start, start + static_cast<std::int64_t>(random() % 12)));
    }
    std::ranges::sort(intervals, {}, &Interval::start);
    return intervals;
}

TEST(ExposedTimes, CountWhatNothingElseExplains)
{
    const std::vector<Interval> pieces{between(0, 10), between(5, 20), between(30, 40)};
    const std::vector<Interval> covers{between(8, 12), between(30, 35)};
    EXPECT_THAT(exposedTimes(pieces, covers, std::vector{between(2, 38)}), ElementsAre(6_ns, 8_ns, 3_ns));
}

TEST(ExposedTimes, EqualACountOfEachNanosecond)
{
    constexpr unsigned kSeed = 3;
    std::mt19937 random(kSeed);
    for (int round = 0; round < 500; ++round) {
        const std::vector<Interval> pieces = randomPieces(random, random() % 8);
        const std::vector<Interval> covers = unionOf(randomPieces(random, random() % 6));
        const std::vector<Interval> walls = unionOf(randomPieces(random, random() % 4));
        std::vector<Nanoseconds> expected;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            Nanoseconds& time = expected.emplace_back(0);
            for (Timestamp at = pieces[i].start; at < pieces[i].end; at += 1_ns)
                if (holds(walls, at) && !holds(covers, at) && !holds(std::span(pieces).first(i), at))
                    time += 1_ns;
        }
        EXPECT_THAT(exposedTimes(pieces, covers, walls), ElementsAreArray(expected))
            << "round " << round << " of seed " << kSeed;
    }
}

} // namespace
} // namespace tilescope::analysis
