#include "core/query/calls/call_tree_filter.h"

#include "core/base/error.h"
#include "core/query/calls/flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using Kind = CallFilter::Kind;
using Filters = std::vector<CallFilter>;

/// forward (mm: gemm 30; softmax 10), backward (mm: gemm 50, copy 4), a copy of 6 outside.
CallTree someTree()
{
    CallTree tree;
    const auto forward = tree.child(CallTree::kRoot, CallKind::Module, "forward");
    const auto backward = tree.child(CallTree::kRoot, CallKind::Module, "backward");
    const auto multiply = tree.child(backward, CallKind::Op, "mm");
    tree.add(tree.child(tree.child(forward, CallKind::Op, "mm"), CallKind::Kernel, "gemm"), 30);
    tree.add(tree.child(forward, CallKind::Kernel, "softmax"), 10);
    tree.add(tree.child(multiply, CallKind::Kernel, "gemm"), 50);
    tree.add(tree.child(multiply, CallKind::Copy, "copy"), 4);
    tree.add(tree.child(CallTree::kRoot, CallKind::Copy, "copy"), 6);
    return tree;
}

/// "forward/mm/gemm 30" for each stack.
std::vector<std::string> stacksOf(const CallTree& tree)
{
    std::vector<std::string> stacks;
    for (CallTree::Node node = 0; node < tree.entries().size(); ++node) {
        if (tree.entries()[node].count == 0)
            continue;
        std::string text;
        for (const std::uint32_t name : tree.stackOf(node))
            text += (text.empty() ? "" : "/") + tree.names()[name];
        stacks.push_back(text + " " + std::to_string(tree.entries()[node].amount));
    }
    return stacks;
}

TEST(CallTreeFilter, KeepsOnlyStacksWithACall)
{
    const FilteredCalls kept = filtered(someTree(), Filters{{Kind::KeepOnly, "mm"}});
    EXPECT_THAT(stacksOf(kept.tree),
                ElementsAre("forward/mm/gemm 30", "backward/mm/gemm 50", "backward/mm/copy 4"));
    EXPECT_EQ(kept.hidden.amount, 16);
    EXPECT_EQ(kept.hidden.count, 2);
}

TEST(CallTreeFilter, HidesStacksWithACall)
{
    const FilteredCalls kept = filtered(someTree(), Filters{{Kind::Hide, "copy"}, {Kind::Hide, "forward"}});
    EXPECT_THAT(stacksOf(kept.tree), ElementsAre("backward/mm/gemm 50"));
    EXPECT_EQ(kept.hidden.amount, 50) << "of both filters";
}

TEST(CallTreeFilter, TurnsTheStacksOfACallRound)
{
    const FilteredCalls callers = filtered(someTree(), Filters{{Kind::Callers, "mm"}});
    EXPECT_THAT(stacksOf(callers.tree), ElementsAre("mm/backward 54", "mm/forward 30"))
        << "with what it called";
    EXPECT_EQ(callers.hidden.amount, 16);
}

TEST(CallTreeFilter, BeginsTheStacksAtACall)
{
    const FilteredCalls callees = filtered(someTree(), Filters{{Kind::Callees, "mm"}});
    const FilteredCalls callers = filtered(someTree(), Filters{{Kind::Callers, "mm"}});
    for (const std::string& stack : stacksOf(callees.tree))
        EXPECT_TRUE(stack.starts_with("mm")) << stack;
    EXPECT_EQ(callees.tree.totalAmount(), callers.tree.totalAmount()) << "of the same stacks";
    EXPECT_EQ(callees.hidden.amount, 16);
    EXPECT_TRUE(stacksOf(filtered(someTree(), Filters{{Kind::Callees, "nothing"}}).tree).empty());
    EXPECT_EQ(callFilter("callees=mm"), (CallFilter{Kind::Callees, "mm"}));
}

TEST(CallTreeFilter, ARecursiveCallCountsOnceAsItsOwnCaller)
{
    CallTree tree;
    const auto outer = tree.child(CallTree::kRoot, CallKind::Frame, "walk");
    const auto inner = tree.child(outer, CallKind::Frame, "walk");
    tree.add(outer, 3);
    tree.add(inner, 4);
    const FilteredCalls callers = filtered(tree, Filters{{Kind::Callers, "walk"}});
    EXPECT_THAT(stacksOf(callers.tree), ElementsAre("walk 3", "walk/walk 4"));
    EXPECT_EQ(callers.tree.sums().amount.front(), 7);
}

TEST(CallTreeFilter, WhatIsShownAndHiddenAddsUpToTheWhole)
{
    constexpr unsigned kSeed = 7;
    std::mt19937 random(kSeed);
    const auto pick = [&random](unsigned below) { return random() % below; };
    const std::vector<std::string> names{"a", "b", "c", "d"};
    for (int round = 0; round < 200; ++round) {
        CallTree tree;
        for (int stack = 0; stack < 20; ++stack) {
            CallTree::Node node = CallTree::kRoot;
            for (unsigned depth = 1 + pick(5); depth-- > 0;)
                node = tree.child(node, CallKind::Op, names[pick(4)]);
            tree.add(node, pick(100), 1 + pick(3));
        }
        Filters filters;
        for (unsigned i = pick(4); i-- > 0;)
            filters.push_back({Kind(pick(3)), names[pick(4)]});
        const FilteredCalls kept = filtered(tree, filters);
        ASSERT_EQ(kept.tree.totalAmount() + kept.hidden.amount, tree.totalAmount()) << "round " << round;
        ASSERT_EQ(kept.tree.totalCount() + kept.hidden.count, tree.totalCount()) << "round " << round;
        if (filters.empty() || filters.back().kind != Kind::Hide)
            continue;
        for (CallTree::Node node = 1; node < kept.tree.entries().size(); ++node)
            ASSERT_NE(kept.tree.nameOf(node), filters.back().name);
    }
}

TEST(CallTreeFilter, AFlameGraphOfCallersIsAnInvertedOne)
{
    CallTreeTable table{.onGpu = true, .tree = someTree()};
    const Filters filters{{Kind::Callers, "gemm"}};
    const FlameGraph graph = flameGraph(table, false, filters);
    EXPECT_TRUE(graph.isInverted);
    EXPECT_EQ(graph.width(), 80);
    EXPECT_EQ(graph.table.hidden.amount, 20);
    EXPECT_FALSE(flameGraph(table, true, filters).isInverted) << "turned round twice";
}

TEST(CallTreeFilter, IsReadFromText)
{
    EXPECT_EQ(callFilter("hide=aten::copy_"), (CallFilter{Kind::Hide, "aten::copy_"}));
    EXPECT_EQ(callFilter("callers=a=b"), (CallFilter{Kind::Callers, "a=b"}));
    EXPECT_THROW((void)callFilter("drop=x"), Error);
    EXPECT_THROW((void)callFilter("keep="), Error);
}

} // namespace
} // namespace tilescope::query
