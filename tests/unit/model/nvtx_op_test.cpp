#include "core/model/nvtx_op.h"

#include "core/model/autograd_op.h"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

TEST(NvtxOp, IsParsedFromTheTextOfEmitNvtx)
{
    const auto plain = parseNvtxOp("aten::add, op_id = 314359");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->name, "aten::add");
    EXPECT_EQ(plain->sequence, -1);
    EXPECT_EQ(plain->shapes, "");
    EXPECT_FALSE(plain->isBackward);
    const auto lists =
        parseNvtxOp("aten::cat, seq = 7, sizes = [[[2, 3], [4, 3]], []], input_op_ids = [[1]]");
    ASSERT_TRUE(lists);
    EXPECT_EQ(lists->shapes, "[2, 3] [4, 3]");
    EXPECT_EQ(lists->sequence, 7);
    EXPECT_TRUE(parseNvtxOp("AddmmBackward0, seq = 3")->isBackward);
    EXPECT_TRUE(parseNvtxOp("autograd::engine::evaluate_function: MmBackward0, seq = 3")->isBackward);
    for (const char* text : {"Forward", "", ", op_id = 3", "seq = 3", "x, seq = y"})
        EXPECT_FALSE(parseNvtxOp(text)) << text;
}

TEST(NvtxOp, KeepsTheNameThatAutogradGivesAnEvaluation)
{
    const auto op = parseNvtxOp("autograd::engine::evaluate_function: MmBackward0, seq = 3");
    ASSERT_TRUE(op);
    EXPECT_TRUE(isEvaluation(op->name));
    EXPECT_EQ(withoutEvaluation(op->name), "MmBackward0");
    EXPECT_EQ(withoutEvaluation("aten::mm"), "aten::mm");
}

} // namespace
} // namespace tilescope
