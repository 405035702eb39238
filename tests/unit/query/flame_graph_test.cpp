#include "core/query/calls/flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;

/// step: forward (gemm 30, softmax 10 by aten::_softmax) and backward (gemm 50); a copy of 5 outside; a module
/// without time.
CallTreeTable table()
{
    CallTreeTable table{.onGpu = true};
    CallTree& tree = table.tree;
    const auto step = tree.child(CallTree::kRoot, CallKind::Module, "step");
    const auto forward = tree.child(step, CallKind::Module, "forward");
    const auto backward = tree.child(step, CallKind::Module, "backward");
    tree.child(step, CallKind::Module, "empty");
    tree.add(tree.child(forward, CallKind::Kernel, "gemm"), 30);
    tree.add(tree.child(tree.child(forward, CallKind::Op, "aten::_softmax"), CallKind::Kernel, "softmax"), 10,
             2);
    tree.add(tree.child(backward, CallKind::Kernel, "gemm"), 50);
    tree.add(tree.child(CallTree::kRoot, CallKind::Copy, "Memcpy HtoD"), 5);
    return table;
}

std::vector<std::string> rowOf(const FlameGraph& graph, std::size_t row)
{
    std::vector<std::string> boxes;
    for (const FlameBox& box : graph.rows.at(row))
        boxes.push_back(graph.table.tree.nameOf(box.node) + " " + std::to_string(box.start) + " " +
                        std::to_string(box.end));
    return boxes;
}

TEST(FlameGraph, LaysTheLongestOnTheLeftWithinTheirParents)
{
    const FlameGraph graph = flameGraph(table(), false);
    EXPECT_EQ(graph.width(), 95);
    ASSERT_EQ(graph.rows.size(), 4U);
    EXPECT_THAT(rowOf(graph, 0), ElementsAre("step 0 90", "Memcpy HtoD 90 95"));
    EXPECT_THAT(rowOf(graph, 1), ElementsAre("backward 0 50", "forward 50 90"));
    EXPECT_THAT(rowOf(graph, 2), ElementsAre("gemm 0 50", "gemm 50 80", "aten::_softmax 80 90"));
    EXPECT_THAT(rowOf(graph, 3), ElementsAre("softmax 80 90"));
    EXPECT_EQ(graph.rows[2][0].hue, Hue::Matmul);
    EXPECT_EQ(graph.rows[2][2].hue, Hue::Softmax) << "of an op";
    EXPECT_EQ(graph.rows[0][1].hue, Hue::Copy);
    EXPECT_EQ(graph.rows[0][0].hue, Hue::Range);
    EXPECT_EQ(graph.modulePath(graph.rows[3][0].node), "step/forward");
    EXPECT_EQ(&graph.boxOf(graph.rows[3][0].node), &graph.rows[3][0]);
}

TEST(FlameGraph, InvertedBeginsWithKernels)
{
    const FlameGraph graph = flameGraph(table(), true);
    EXPECT_THAT(rowOf(graph, 0), ElementsAre("gemm 0 80", "softmax 80 90", "Memcpy HtoD 90 95"));
    EXPECT_THAT(rowOf(graph, 1), ElementsAre("backward 0 50", "forward 50 80", "aten::_softmax 80 90"));
    const std::vector<FlameShare> callers = sharesOf(graph, graph.rows[0][0].node);
    ASSERT_EQ(callers.size(), 2U);
    EXPECT_EQ(callers[0].amount, 50);
    EXPECT_EQ(callers[1].amount, 30);
}

TEST(FlameGraph, AnOpOfBackwardHasTheNameOfItsNode)
{
    CallTreeTable table{.onGpu = true};
    CallTree& tree = table.tree;
    const auto op =
        tree.child(CallTree::kRoot, CallKind::Op, "autograd::engine::evaluate_function: MmBackward0");
    tree.add(tree.child(op, CallKind::Kernel, "gemm"), 10, 1);
    const FlameGraph graph = flameGraph(std::move(table), false);
    EXPECT_EQ(graph.labelOf(graph.rows[0][0].node), "MmBackward0");
}

TEST(FlameGraph, FindsNamesInEitherCaseAndCountsNestedOnesOnce)
{
    const FlameGraph graph = flameGraph(table(), false);
    const FlameMatches found = findBoxes(graph, "SOFTMAX");
    EXPECT_EQ(found.boxes, 2) << "the op and the kernel in it";
    EXPECT_EQ(found.amount, 10);
    EXPECT_EQ(found.count, 2);
    EXPECT_EQ(findBoxes(graph, "gemm").amount, 80);
    EXPECT_EQ(findBoxes(graph, "").boxes, 0);
    EXPECT_EQ(findBoxes(graph, "nothing").boxes, 0);
}

TEST(FlameGraph, SharesOfABoxAddUpToItsTime)
{
    const FlameGraph graph = flameGraph(table(), false);
    const std::vector<FlameShare> all = sharesOf(graph, CallTree::kRoot);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].amount, 80) << "both gemms";
    EXPECT_EQ(all[0].count, 2);
    EXPECT_EQ(all[0].amount + all[1].amount + all[2].amount, graph.width());
    const std::vector<FlameShare> forward = sharesOf(graph, graph.rows[1][1].node);
    ASSERT_EQ(forward.size(), 2U);
    EXPECT_EQ(forward[0].amount, 30);
    EXPECT_EQ(forward[1].amount, 10);
}

TEST(FlameGraph, OfNothingHasNoRows)
{
    const FlameGraph graph = flameGraph(CallTreeTable{}, false);
    EXPECT_TRUE(graph.rows.empty());
    EXPECT_EQ(graph.width(), 0);
    EXPECT_TRUE(sharesOf(graph, CallTree::kRoot).empty());
}

} // namespace
} // namespace tilescope::query
