#include "core/trace/assembly/graph_nodes.h"

#include <gtest/gtest.h>

namespace tilescope::trace {
namespace {

constexpr std::uint64_t kGraph = 1ULL << 32;
constexpr std::uint64_t kGraphExecutable = 2ULL << 32;

TEST(GraphNodes, ACopyBelongsWhereItsOriginalWasMade)
{
    GraphNodes nodes;
    nodes.created(kGraph + 3, {.path = 7});
    // Instantiation makes the copy outside any module before it says of what.
    nodes.created(kGraphExecutable + 3, {.path = 1});
    nodes.cloned(kGraphExecutable + 3, kGraph + 3);
    ASSERT_TRUE(nodes.find(kGraphExecutable + 3));
    EXPECT_EQ(nodes.find(kGraphExecutable + 3)->path, 7U);
    EXPECT_EQ(nodes.find(kGraph + 3)->path, 7U);
}

TEST(GraphNodes, NotesMayComeInAnyOrder)
{
    GraphNodes nodes;
    nodes.cloned(3 * kGraph, kGraphExecutable);
    nodes.cloned(kGraphExecutable, kGraph);
    nodes.created(kGraph, {.path = 7});
    ASSERT_TRUE(nodes.find(3 * kGraph));
    EXPECT_EQ(nodes.find(3 * kGraph)->path, 7U);
}

TEST(GraphNodes, WhatWasNotSeenIsNotGuessed)
{
    GraphNodes nodes;
    EXPECT_TRUE(nodes.empty());
    nodes.cloned(kGraphExecutable, kGraph); // the original came from before the capture was listened to
    EXPECT_FALSE(nodes.find(kGraphExecutable));
    EXPECT_FALSE(nodes.find(kGraph));
    nodes.cloned(kGraph, kGraphExecutable); // notes that contradict each other end
    EXPECT_FALSE(nodes.find(kGraphExecutable));
}

} // namespace
} // namespace tilescope::trace
