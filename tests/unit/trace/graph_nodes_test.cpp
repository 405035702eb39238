#include "core/trace/assembly/graph_nodes.h"

#include <gtest/gtest.h>

namespace tilescope::trace {
namespace {

constexpr std::uint64_t kGraph = 1ULL << 32;
constexpr std::uint64_t kExecutable = 2ULL << 32;

TEST(GraphNodes, ACopyBelongsWhereItsOriginalWasMade)
{
    GraphNodes nodes;
    nodes.created(kGraph + 3, {.path = 7});
    // Instantiation makes the copy outside any module before it says of what.
    nodes.created(kExecutable + 3, {.path = 1});
    nodes.cloned(kExecutable + 3, kGraph + 3);
    ASSERT_TRUE(nodes.find(kExecutable + 3));
    EXPECT_EQ(nodes.find(kExecutable + 3)->path, 7U);
    EXPECT_EQ(nodes.find(kGraph + 3)->path, 7U);
}

TEST(GraphNodes, NotesMayComeInAnyOrder)
{
    GraphNodes nodes;
    nodes.cloned(3 * kGraph, kExecutable);
    nodes.cloned(kExecutable, kGraph);
    nodes.created(kGraph, {.path = 7});
    ASSERT_TRUE(nodes.find(3 * kGraph));
    EXPECT_EQ(nodes.find(3 * kGraph)->path, 7U);
}

TEST(GraphNodes, WhatWasNotSeenIsNotGuessed)
{
    GraphNodes nodes;
    EXPECT_TRUE(nodes.empty());
    nodes.cloned(kExecutable, kGraph); // the original came from before the capture was listened to
    EXPECT_FALSE(nodes.find(kExecutable));
    EXPECT_FALSE(nodes.find(kGraph));
    nodes.cloned(kGraph, kExecutable); // notes that contradict each other end
    EXPECT_FALSE(nodes.find(kExecutable));
}

} // namespace
} // namespace tilescope::trace
