// Play: which part of the runs it runs through, and how fast.

#include "ui/timeline/timeline_play.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {
namespace {

TimelineSection sectionOf(std::int64_t alignedLength, double stretch = 1, std::int64_t runLength = 1'000'000)
{
    auto timeline = std::make_shared<query::Timeline>();
    timeline->length = runLength;
    TimelineSection section;
    section.timeline = timeline;
    section.alignAt = 500;
    section.alignedLength = alignedLength;
    section.stretch = stretch;
    return section;
}

TEST(PartToPlay, IsTheAlignedStepOfEachRun)
{
    const auto part = partToPlay({sectionOf(20'000), sectionOf(5'000)}, {-200, 20'400});
    ASSERT_TRUE(part);
    EXPECT_EQ(*part, (PlayMoment{0, 20'000, {20'000, 5'000}, 0}));
}

TEST(PartToPlay, IsWhatTheWindowShowsOfIt)
{
    const auto part = partToPlay({sectionOf(20'000), sectionOf(5'000)}, {4'000, 8'000});
    ASSERT_TRUE(part);
    EXPECT_EQ(*part, (PlayMoment{4'000, 8'000, {8'000, 5'000}, 4'000}));
}

TEST(PartToPlay, IsTheWholeStepIfTheWindowShowsNoneOfIt)
{
    const auto part = partToPlay({sectionOf(20'000)}, {50'000, 60'000});
    ASSERT_TRUE(part);
    EXPECT_EQ(*part, (PlayMoment{0, 20'000, {20'000}, 0}));
}

// Runs drawn equally long have different speeds on the screen, and the same clock.
TEST(PartToPlay, CountsRecordedTimeWhereRunsAreDrawnEquallyLong)
{
    const auto part = partToPlay({sectionOf(20'000), sectionOf(5'000, 4)}, {-200, 20'400});
    ASSERT_TRUE(part);
    EXPECT_EQ(part->ends, (std::vector<double>{20'000, 5'000}));
}

TEST(PartToPlay, IsTheRecordingIfRunsAreAlignedAtTheirStart)
{
    const auto part = partToPlay({sectionOf(0), sectionOf(0, 1, 400'000)}, {-1e5, 2e6});
    ASSERT_TRUE(part);
    EXPECT_EQ(*part, (PlayMoment{0, 1'000'000, {1'000'000, 400'000}, 0}));
}

TEST(PartToPlay, LeavesOutARunWithoutTheAlignedStep)
{
    const auto part = partToPlay({sectionOf(20'000), sectionOf(0)}, {-200, 20'400});
    ASSERT_TRUE(part);
    EXPECT_EQ(part->ends, (std::vector<double>{20'000, 0}));
}

TEST(PartToPlay, IsNothingWithoutRunsAndWithoutTime)
{
    EXPECT_FALSE(partToPlay({}, {0, 1}));
    EXPECT_FALSE(partToPlay({sectionOf(0, 1, 0)}, {0, 1}));
}

TEST(PlayMoment, EndsEachRunWhereItsPartEnds)
{
    const PlayMoment moment{0, 20'000, {20'000, 5'000}, 6'000};
    EXPECT_FALSE(moment.hasEnded(0));
    EXPECT_TRUE(moment.hasEnded(1));
    EXPECT_FALSE(moment.hasEnded());
    EXPECT_EQ(moment.reached(0), 6'000);
    EXPECT_EQ(moment.reached(1), 5'000);
}

TEST(Slowdown, MakesAnyPartLastSomeSeconds)
{
    for (double length = 50; length < 1e13; length *= 1.37) {
        const double seconds = length * usualSlowdown(length) / 1e9;
        // The numbers 1, 2, 5 and 10 are at most a factor of 2.5 apart.
        EXPECT_GE(seconds, 6 / std::sqrt(2.5) * 0.999) << length;
        EXPECT_LE(seconds, 6 * std::sqrt(2.5) * 1.001) << length;
        const std::vector<double> choice = slowdownsFor(length);
        EXPECT_TRUE(std::ranges::is_sorted(choice)) << length;
        const auto isUsual = [length](double each) {
            return std::abs(each / usualSlowdown(length) - 1) < 1e-9;
        };
        EXPECT_TRUE(std::ranges::any_of(choice, isUsual)) << length;
    }
}

TEST(Slowdown, IsNamed)
{
    EXPECT_EQ(slowdownText(500), QStringLiteral("500× slower"));
    EXPECT_EQ(slowdownText(1), QStringLiteral("at its own speed"));
    EXPECT_EQ(slowdownText(0.05), QStringLiteral("20× faster"));
}

} // namespace
} // namespace tilescope::ui
