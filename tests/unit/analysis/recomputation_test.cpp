#include "core/analysis/advice/recomputation.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

Op opOf(std::uint32_t id, std::optional<std::uint32_t> parent, std::int64_t sequence,
        OpScope scope = OpScope::Function)
{
    Op op;
    op.id = OpId{id};
    if (parent)
        op.parent = OpId{*parent};
    op.sequence = sequence;
    op.scope = scope;
    return op;
}

} // namespace

TEST(RecomputedOps, AreForwardOpsWithinBackward)
{
    RecomputedOps ops;
    EXPECT_FALSE(ops.hasBackward());
    ops.add(opOf(0, {}, 10));                    // forward: aten::linear
    ops.add(opOf(1, 0, -1));                     // its aten::mm
    ops.add(opOf(2, {}, 10, OpScope::Backward)); // CheckpointFunctionBackward
    ops.add(opOf(3, 2, 11));                     // repeats aten::linear
    ops.add(opOf(4, 3, -1));                     // and its aten::mm
    ops.add(opOf(5, 2, 11, OpScope::Backward));  // MmBackward0, of what was repeated
    ops.add(opOf(6, 5, -1));                     // its aten::mm
    EXPECT_TRUE(ops.hasBackward());
    EXPECT_FALSE(ops.has(OpId{0}));
    EXPECT_FALSE(ops.has(OpId{1}));
    EXPECT_FALSE(ops.has(OpId{2}));
    EXPECT_TRUE(ops.has(OpId{3}));
    EXPECT_TRUE(ops.has(OpId{4}));
    EXPECT_FALSE(ops.has(OpId{5}));
    EXPECT_FALSE(ops.has(OpId{6}));
    EXPECT_FALSE(ops.has(OpId{}));
    EXPECT_FALSE(ops.has(OpId{99}));
}

TEST(RecomputedOps, EndsAtOpsThatContainEachOther)
{
    RecomputedOps ops;
    ops.add(opOf(0, 1, 3));
    ops.add(opOf(1, 0, 3));
    EXPECT_FALSE(ops.has(OpId{0}));
}

} // namespace tilescope::analysis
