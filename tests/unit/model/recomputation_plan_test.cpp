#include "core/model/fused_recomputation.h"
#include "core/model/recomputation_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope {
namespace {

using Kind = Checkpointing::Kind;
using Segments = std::vector<RecomputedSegment>;

TEST(RecomputationPlan, OfBlockHasSegmentsOfKBlocks)
{
    EXPECT_EQ(recomputationPlan({Kind::Block, 3}, 7), (Segments{{0, 3}, {3, 6}, {6, 7}}));
    EXPECT_TRUE(recomputationPlan({Kind::Attention}, 7).empty());
    EXPECT_TRUE(recomputationPlan({}, 7).empty());
}

TEST(RecomputationPlan, OfNestedDividesSegmentsAgain)
{
    const Segments four{{0, 4, {{0, 2, {{0, 1}}}, {2, 3}}}, {4, 8, {{4, 6, {{4, 5}}}, {6, 7}}}};
    EXPECT_EQ(recomputationPlan({Kind::Nested, 2}, 8), four);
    EXPECT_EQ(recomputationPlan({Kind::Nested, 2}, 1), (Segments{{0, 1}}));
    EXPECT_EQ(recomputationPlan({Kind::Nested, 4}, 4), recomputationPlan({Kind::Block, 1}, 4));
}

/// Executes backward as the model does: the blocks that a segment runs with a graph, in order of their end.
void runBackward(const Segments& segments, std::vector<std::int64_t>& order, int& kept, int& mostKept)
{
    kept += static_cast<int>(segments.size());
    mostKept = std::max(mostKept, kept);
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
        std::int64_t direct = segment->begin;
        for (const RecomputedSegment& inner : segment->inner) {
            ASSERT_EQ(inner.begin, direct) << "segments leave no gap";
            direct = inner.end;
        }
        ASSERT_LT(direct, segment->end) << "the last block is computed with its graph";
        for (std::int64_t block = segment->end; block-- > direct;)
            order.push_back(block);
        runBackward(segment->inner, order, kept, mostKept);
        --kept;
    }
}

TEST(RecomputationPlan, OfNestedGivesEachBlockOneBackwardAndKeepsFewInputs)
{
    for (std::int64_t layers = 1; layers <= 70; ++layers)
        for (int k = 2; k <= 9; ++k) {
            SCOPED_TRACE(std::to_string(layers) + " layers, nested:" + std::to_string(k));
            const Segments plan = recomputationPlan({Kind::Nested, k}, layers);
            std::vector<std::int64_t> order;
            int kept = 0;
            int mostKept = 0;
            runBackward(plan, order, kept, mostKept);
            ASSERT_EQ(std::ssize(order), layers);
            for (std::int64_t i = 0; i < layers; ++i)
                EXPECT_EQ(order[static_cast<std::size_t>(i)], layers - 1 - i);
            int levels = 0;
            for (std::int64_t reach = 1; reach < layers; reach *= k)
                ++levels;
            EXPECT_LE(mostKept, k + (k - 1) * std::max(levels - 1, 0));
            EXPECT_LE(summaryOf(plan, layers).levels, std::max(levels, 1));
        }
}

TEST(RecomputationPlan, OfFusedBlocksLeavesTheLastSegmentOut)
{
    ExperimentSpec spec;
    spec.layers = 7;
    spec.checkpointing = {Kind::Block, 3};
    EXPECT_EQ(recomputedSegments(spec), recomputationPlan(spec.checkpointing, 7));
    spec.compile.kind = CompileRequest::Kind::Fused;
    EXPECT_EQ(recomputedSegments(spec), (Segments{{0, 3}, {3, 6}}));
    EXPECT_TRUE(keepsAttention(spec));
    spec.checkpointing = {Kind::Nested, 3};
    EXPECT_EQ(recomputedSegments(spec), recomputationPlan(spec.checkpointing, 7));
    EXPECT_FALSE(keepsAttention(spec));
}

TEST(RecomputationPlan, EndsBeforeTheBlocksThatAreKept)
{
    ExperimentSpec spec;
    spec.layers = 7;
    for (const auto compile : {CompileRequest::Kind::None, CompileRequest::Kind::Fused}) {
        spec.compile.kind = compile;
        spec.checkpointing = {Kind::Block, 2, 2};
        const Segments plan = recomputedSegments(spec);
        EXPECT_EQ(plan, (Segments{{0, 2}, {2, 4}, {4, 5}}));
        for (std::int64_t block = 0; block < spec.layers; ++block)
            EXPECT_EQ(endsSegment(plan, block), block == 1 || block == 3 || block == 4) << block;
        EXPECT_EQ(recomputations(plan, 7), (std::vector<int>{1, 1, 1, 1, 1, 0, 0}));
        spec.checkpointing = {Kind::Block, 1, 6};
        EXPECT_EQ(recomputedSegments(spec), (Segments{{0, 1}}));
    }
}

TEST(RecomputationPlan, SummaryCountsTheForwardPassesOfBackward)
{
    const auto block = summaryOf(recomputationPlan({Kind::Block, 4}, 32), 32);
    EXPECT_EQ(block.segments, 8);
    EXPECT_EQ(block.levels, 1);
    EXPECT_EQ(block.factor, 1);
    // A segment of 2^n blocks repeats each block 1 + n/2 times on average.
    const auto nested = summaryOf(recomputationPlan({Kind::Nested, 2}, 32), 32);
    EXPECT_EQ(nested.segments, 2);
    EXPECT_EQ(nested.levels, 5);
    EXPECT_EQ(nested.factor, 3);
    EXPECT_EQ(recomputations(recomputationPlan({Kind::Nested, 2}, 4), 4), (std::vector<int>{2, 1, 2, 1}));
}

} // namespace
} // namespace tilescope
