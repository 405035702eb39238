#include "core/analysis/work/replayable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::analysis {

using ::testing::HasSubstr;

TEST(Replayable, AreOpsWithARuleThatChangeNothing)
{
    for (const char* op :
         {"aten::mm", "aten::_softmax", "aten::cat", "aten::convolution", "aten::embedding",
          "aten::_scaled_dot_product_flash_attention", "tilescope::attention", "tilescope::swiglu"})
        EXPECT_FALSE(whyNotReplayable(op)) << *whyNotReplayable(op);
}

TEST(Replayable, SaysWhyOthersAreNot)
{
    const auto why = [](const char* op) { return whyNotReplayable(op).value_or("replayable"); };
    EXPECT_EQ(why("c10d::allreduce_"), "c10d::allreduce_ is an op of neither ATen nor Tilescope");
    for (const char* op : {"aten::add_", "aten::copy_", "aten::zero_", "aten::_fused_adamw_",
                           "tilescope::adamw_", "tilescope::adamw_product_"})
        EXPECT_THAT(why(op), HasSubstr("changes its arguments"));
    EXPECT_THAT(why("aten::view"), HasSubstr("does nothing"));
    EXPECT_THAT(why("aten::matmul"), HasSubstr("not among the ops"));
    EXPECT_THAT(why("aten::no_such_op"), HasSubstr("not among the ops"));
    EXPECT_THAT(why("tilescope::attention_backward"), HasSubstr("results of its forward op"));
    EXPECT_THAT(why("aten::_grouped_mm"), HasSubstr("values of its offsets"));
}

TEST(IndexLimit, IsTheNumberOfRowsOrClasses)
{
    const auto limit = [](const char* op, const char* arguments) {
        return indexLimit(op, parseArguments(arguments).value());
    };
    EXPECT_EQ(limit("aten::embedding", "f32[10, 4] i64[6] =-1 =false =false"), 10);
    EXPECT_EQ(limit("aten::index_select", "f32[10, 4] =1 i64[6]"), 4);
    EXPECT_EQ(limit("aten::embedding_dense_backward", "f32[6, 4] i64[6] =12 =-1 =false"), 12);
    EXPECT_EQ(limit("aten::nll_loss_forward", "f32[6, 9] i64[6] =none =1 =-100"), 9);
    EXPECT_EQ(limit("aten::nll_loss_backward", "f32[] f32[6, 9] i64[6]"), 9);
    EXPECT_EQ(limit("aten::add", "i64[6] i64[6]"), 2);
    EXPECT_EQ(limit("aten::embedding", ""), 1) << "unknown";
    EXPECT_EQ(limit("aten::gather", "f32[6]"), 1);
}

} // namespace tilescope::analysis
