#include "core/analysis/memory/block_lives.h"

#include "core/analysis/stats/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace tilescope::analysis {

namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// The blocks, named by the number of their event, and which event closed them.
struct Followed {
    BlockLives<std::size_t> lives;
    std::vector<std::pair<std::size_t, std::size_t>> closed; ///< block, event
};

Followed follow(const std::vector<AllocEvent>& events)
{
    Followed followed;
    for (std::size_t i = 0; i < events.size(); ++i)
        if (const auto closed = followed.lives.apply(events[i], [i] { return i; }))
            followed.closed.emplace_back(*closed, i);
    return followed;
}

AllocEvent allocEventOf(AllocAction action, std::uint64_t address)
{
    return {.action = action, .address = address, .bytes = 1};
}

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

/// The event that closes the block of an allocation: the first later one that frees or takes its address.
std::size_t closerOf(const std::vector<AllocEvent>& events, std::size_t allocation)
{
    for (std::size_t i = allocation + 1; i < events.size(); ++i)
        if (events[i].address == events[allocation].address &&
            (events[i].action == AllocAction::Alloc || events[i].action == AllocAction::FreeRequested ||
             events[i].action == AllocAction::FreeCompleted))
            return i;
    return kNever;
}

} // namespace

TEST(BlockLives, TheFirstOfTwoFreesClosesABlock)
{
    const Followed followed =
        follow({allocEventOf(AllocAction::Alloc, 7), allocEventOf(AllocAction::FreeRequested, 7),
                allocEventOf(AllocAction::FreeCompleted, 7)});
    EXPECT_THAT(followed.closed, UnorderedElementsAre(Pair(0u, 1u)));
    EXPECT_THAT(followed.lives.all(), IsEmpty());
}

TEST(BlockLives, ACompletedFreeAloneClosesABlock)
{
    const Followed followed =
        follow({allocEventOf(AllocAction::Alloc, 7), allocEventOf(AllocAction::FreeCompleted, 7)});
    EXPECT_THAT(followed.closed, UnorderedElementsAre(Pair(0u, 1u)));
}

TEST(BlockLives, AnAddressIsUsedAgain)
{
    const Followed followed =
        follow({allocEventOf(AllocAction::Alloc, 7), allocEventOf(AllocAction::FreeRequested, 7),
                allocEventOf(AllocAction::Alloc, 7)});
    EXPECT_THAT(followed.lives.all(), UnorderedElementsAre(Pair(7u, 2u)));
    EXPECT_EQ(*followed.lives.find(7), 2u);
    EXPECT_EQ(followed.lives.find(8), nullptr);
}

TEST(BlockLives, AnAllocationClosesTheBlockWhoseFreeWasNotRecorded)
{
    const Followed followed =
        follow({allocEventOf(AllocAction::Alloc, 7), allocEventOf(AllocAction::Alloc, 7)});
    EXPECT_THAT(followed.closed, UnorderedElementsAre(Pair(0u, 1u)));
    EXPECT_THAT(followed.lives.all(), UnorderedElementsAre(Pair(7u, 1u)));
}

TEST(BlockLives, UnknownFreesAndOtherEventsChangeNothing)
{
    const Followed followed =
        follow({allocEventOf(AllocAction::FreeRequested, 7), allocEventOf(AllocAction::SegmentAlloc, 7),
                allocEventOf(AllocAction::SegmentFree, 7), allocEventOf(AllocAction::Oom, 7),
                allocEventOf(AllocAction::Snapshot, 7)});
    EXPECT_THAT(followed.closed, IsEmpty());
    EXPECT_THAT(followed.lives.all(), IsEmpty());
}

TEST(BlockLives, OlderBlocksAreClosedLikeOthers)
{
    BlockLives<int> lives;
    lives.open(7, 42);
    EXPECT_EQ(lives.apply(allocEventOf(AllocAction::FreeRequested, 7), [] { return 0; }), 42);
    EXPECT_THAT(lives.all(), IsEmpty());
}

TEST(BlockLives, AgreeWithABruteForceOnRandomEvents)
{
    constexpr std::array actions{AllocAction::Alloc,         AllocAction::Alloc, AllocAction::FreeRequested,
                                 AllocAction::FreeCompleted, AllocAction::Oom,   AllocAction::SegmentAlloc,
                                 AllocAction::SegmentFree};
    Random random(7);
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<AllocEvent> events;
        for (int i = 0; i < 80; ++i)
            events.push_back(allocEventOf(actions[random.below(actions.size())], random.below(9)));
        std::vector<std::pair<std::size_t, std::size_t>> closed;
        std::unordered_map<std::uint64_t, std::size_t> open;
        for (std::size_t i = 0; i < events.size(); ++i) {
            if (events[i].action != AllocAction::Alloc)
                continue;
            if (const std::size_t closer = closerOf(events, i); closer != kNever)
                closed.emplace_back(i, closer);
            else
                open[events[i].address] = i;
        }
        const Followed followed = follow(events);
        EXPECT_THAT(followed.closed, ::testing::UnorderedElementsAreArray(closed))
            << "trial " << trial << " of seed 7";
        EXPECT_EQ(followed.lives.all(), open) << "trial " << trial << " of seed 7";
    }
}

} // namespace tilescope::analysis
