#include "core/analysis/work/op_work.h"

#include "core/analysis/work/op_table.h"
#include "core/model/attention_spec.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

Work workOf(std::string_view op, std::string_view shapes, const WorkContext& context = {})
{
    const auto work = workOfOp(op, shapes, context);
    EXPECT_TRUE(work) << op << ' ' << shapes;
    return work.value_or(Work{{-1}, {-1}});
}

constexpr Work expected(std::int64_t flops, std::int64_t bytes)
{
    return {{flops}, {bytes}};
}

} // namespace

TEST(ParseShapes, ReadsListsWithAndWithoutTypes)
{
    const auto shapes = parseShapes("bf16[4, 128, 768] [768] f32[] c64[2, 3]");
    ASSERT_TRUE(shapes);
    ASSERT_EQ(shapes->size(), 4u);
    EXPECT_EQ((*shapes)[0], (TensorShape{{4, 128, 768}, 2, false}));
    EXPECT_EQ((*shapes)[1], (TensorShape{{768}, 0, false}));
    EXPECT_EQ((*shapes)[2], (TensorShape{{}, 4, false}));
    EXPECT_EQ((*shapes)[2].elements(), 1);
    EXPECT_EQ((*shapes)[3], (TensorShape{{2, 3}, 8, true}));
    EXPECT_TRUE(parseShapes("")->empty());
    for (const char* wrong : {"[4, 128", "4, 128]", "[4, x]", "[-1]", "words"})
        EXPECT_FALSE(parseShapes(wrong)) << wrong;
}

TEST(ParseArguments, KeepsPositionsOfTensorsListsAndLiterals)
{
    const auto arguments = parseArguments("bf16[4, 8]{1, 4} =none (f32[2] f32[3, 1]) =[1, -1] =0.125 =true");
    ASSERT_TRUE(arguments);
    ASSERT_EQ(arguments->tensors.size(), 3U);
    EXPECT_EQ(arguments->tensors[0], (TensorShape{{4, 8}, 2, false, {1, 4}}));
    EXPECT_EQ(arguments->tensors[2], (TensorShape{{3, 1}, 4, false}));
    EXPECT_EQ(arguments->types[0], "bf16");
    ASSERT_EQ(arguments->list.size(), 6U);
    EXPECT_EQ(arguments->list[2].kind, OpArgument::Kind::List);
    EXPECT_EQ(arguments->list[2].count, 2U);
    EXPECT_EQ(arguments->lists(), 1U);
    EXPECT_EQ(arguments->literal(1), "none");
    EXPECT_EQ(arguments->literal(3), "[1, -1]");
    EXPECT_EQ(arguments->literal(5), "true");
    EXPECT_FALSE(arguments->literal(0)) << "a tensor";
    EXPECT_FALSE(arguments->literal(6));
    EXPECT_FALSE(parseArguments("f32[2] f32[3]")->literal(0)) << "positions are unknown without literals";
    EXPECT_EQ(tensorsText("bf16[4, 8]{1, 4} =none (f32[2] f32[3, 1]) =0.125"), "bf16[4, 8] f32[2] f32[3, 1]");
    EXPECT_EQ(tensorsText("not a list"), "not a list");
    for (const char* wrong : {"(f32[2]", "f32[2])", "((f32[2]))", "(=1)", "f32[2]{1, 2}", "f32[2]{x}"})
        EXPECT_FALSE(parseArguments(wrong)) << wrong;
}

TEST(VisiblePairs, CountsPairsThatACausalMaskKeeps)
{
    EXPECT_EQ(visiblePairs(4, 4, false), 16);
    EXPECT_EQ(visiblePairs(4, 4, true), 10);    // 1 + 2 + 3 + 4
    EXPECT_EQ(visiblePairs(2, 5, true), 4 + 5); // aligned bottom right
    EXPECT_EQ(visiblePairs(5, 2, true), 1 + 2); // three queries see no key
    for (std::int64_t queries = 1; queries < 8; ++queries)
        for (std::int64_t keys = 1; keys < 8; ++keys) {
            std::int64_t pairs = 0;
            for (std::int64_t i = 0; i < queries; ++i)
                for (std::int64_t j = 0; j < keys; ++j)
                    pairs += j <= i + keys - queries ? 1 : 0;
            EXPECT_EQ(visiblePairs(queries, keys, true), pairs) << queries << ' ' << keys;
        }
}

TEST(WorkOfOp, CountsTwoPerMultiplyAdd)
{
    EXPECT_EQ(workOf("aten::mm", "[2, 3] [3, 5]"), expected(2 * 2 * 3 * 5, 4 * (6 + 15 + 10)));
    EXPECT_EQ(workOf("aten::mm", "bf16[2, 3] bf16[3, 5]"), expected(60, 2 * 31));
    EXPECT_EQ(workOf("aten::bmm", "[7, 2, 3] [7, 3, 5]"), expected(7 * 60, 7 * 4 * 31));
    EXPECT_EQ(workOf("aten::addmm", "[5] [2, 3] [3, 5]"), expected(60, 4 * (31 + 5)));
    EXPECT_EQ(workOf("aten::baddbmm", "[1] [7, 2, 3] [7, 3, 5]"), expected(7 * 60, 7 * 4 * 31 + 4));
    EXPECT_EQ(workOf("aten::linear", "[4, 2, 3] [5, 3] [5]"),
              expected(2 * 8 * 3 * 5, 4 * (24 + 15 + 40 + 5)));
}

TEST(WorkOfOp, CountsFusedAttentionByVisiblePairs)
{
    // 2 batches, 3 heads, 4 queries and keys, head dim 8: 6 x 16 pairs, 6 x 10 of them visible.
    const char* byHead = "bf16[2, 3, 4, 8] bf16[2, 3, 4, 8] bf16[2, 3, 4, 8]";
    const std::int64_t tensor = 2 * 3 * 4 * 8 * 2;
    const std::int64_t logSumExp = 2 * 3 * 4 * 4;
    EXPECT_EQ(workOf("aten::_scaled_dot_product_flash_attention", byHead),
              expected(96 * 2 * 16, 4 * tensor + logSumExp));
    EXPECT_EQ(workOf("tilescope::attention_forward", byHead, {.causal = true}),
              expected(60 * 2 * 16, 4 * tensor + logSumExp));
    // The same with heads inside rows.
    EXPECT_EQ(workOf("aten::_flash_attention_forward", "bf16[2, 4, 3, 8] bf16[2, 4, 3, 8] bf16[2, 4, 3, 8]",
                     {.causal = true}),
              expected(60 * 2 * 16, 4 * tensor + logSumExp));
    // Grouped queries: one head of keys and values for three of queries.
    EXPECT_EQ(workOf("tilescope::attention", "bf16[2, 3, 4, 8] bf16[2, 1, 4, 8] bf16[2, 1, 4, 8]"),
              expected(96 * 2 * 16, 2 * tensor + 2 * tensor / 3 + logSumExp));
    // Backward: five products; dO, q, k, v, o are read, dq, dk, dv written.
    EXPECT_EQ(
        workOf("tilescope::attention_backward", std::string("bf16[2, 3, 4, 8] ") + byHead, {.causal = true}),
        expected(60 * 2 * 5 * 8, 8 * tensor + logSumExp));
}

TEST(WorkOfOp, TakesCausalityFromTheCall)
{
    const std::string byHead = "bf16[2, 3, 4, 8] bf16[2, 3, 4, 8] bf16[2, 3, 4, 8]";
    const WorkContext unknown{.causal = std::nullopt};
    const auto flops = [&](const std::string& literals) {
        const auto work = workOfOp("aten::_scaled_dot_product_flash_attention", byHead + literals, unknown);
        return work ? std::optional(work->flops.count) : std::nullopt;
    };
    EXPECT_EQ(flops(" =0. =false =false =0.125"), 96 * 2 * 16);
    EXPECT_EQ(flops(" =0. =true =false =0.125"), 60 * 2 * 16);
    EXPECT_FALSE(flops("")) << "unknown";
    EXPECT_EQ(workOf("tilescope::attention", byHead + " =true =none =ieee =false", unknown).flops.count,
              60 * 2 * 16);
    // One query sees all keys, causal or not.
    EXPECT_TRUE(workOfOp("aten::_scaled_dot_product_flash_attention",
                         "bf16[2, 3, 1, 8] bf16[2, 3, 4, 8] bf16[2, 3, 4, 8]", unknown));
    EXPECT_EQ(workOf("aten::_flash_attention_backward",
                     "bf16[2, 4, 3, 8] bf16[2, 4, 3, 8] bf16[2, 4, 3, 8] bf16[2, 4, 3, 8]")
                  .flops.count,
              96 * 2 * 5 * 8);
}

TEST(WorkOfOp, CountsConvolutions)
{
    // 5 x 5 results of 3 channels, from 2 channels by 3 x 3.
    const std::int64_t flops = 2 * 25 * 3 * 2 * 9;
    const std::int64_t bytes = 4 * (2 * 11 * 11 + 3 * 2 * 9 + 3 + 3 * 25);
    EXPECT_EQ(workOf("aten::convolution",
                     "[1, 2, 11, 11] [3, 2, 3, 3] [3] =[2, 2] =[0, 0] =[1, 1] =false =[0, 0] =1"),
              expected(flops, bytes));
    EXPECT_EQ(workOf("aten::cudnn_convolution", "[1, 2, 11, 11] [3, 2, 3, 3] =[0, 0] =[2, 2] =[1, 1] =1")
                  .flops.count,
              flops);
    // Two groups: each result takes one channel.
    EXPECT_EQ(workOf("aten::convolution",
                     "[1, 2, 11, 11] [4, 1, 3, 3] =none =[2, 2] =[0, 0] =[1, 1] =false =[0, 0] =2")
                  .flops.count,
              2 * 25 * 4 * 9);
    // Transposed: each of 5 x 5 elements of 3 channels goes to 2 channels by 3 x 3.
    EXPECT_EQ(workOf("aten::convolution",
                     "[1, 3, 5, 5] [3, 2, 3, 3] =none =[2, 2] =[0, 0] =[1, 1] =true =[0, 0] =1"),
              expected(flops, 4 * (3 * 25 + 3 * 2 * 9 + 2 * 11 * 11)));
    EXPECT_EQ(workOf("aten::convolution_backward", "[1, 3, 5, 5] [1, 2, 11, 11] [3, 2, 3, 3]").flops.count,
              2 * flops);
    EXPECT_FALSE(workOfOp("aten::convolution", "[1, 2, 11, 11] [3, 2, 3, 3] [3]", {}))
        << "the stride is unknown";
}

TEST(WorkOfOp, CountsListsScaledProductsAndFusedKernels)
{
    EXPECT_EQ(workOf("aten::_foreach_mul_", "(f32[2, 3] f32[4]) =0.9"), expected(10, 80));
    EXPECT_EQ(workOf("aten::_foreach_addcdiv_", "(f32[4]) (f32[4]) (f32[4]) =1"), expected(12, 16 * 4));
    EXPECT_EQ(workOf("aten::_foreach_lerp_", "f32[4] f32[4]"), expected(12, 16 * 3)) << "lists without marks";
    EXPECT_EQ(workOf("aten::_foreach_zero_", "(f32[4])"), expected(0, 16));
    EXPECT_EQ(workOf("aten::_foreach_copy_", "(f32[4]) (f32[4])"), expected(0, 32));
    EXPECT_EQ(workOf("aten::_foreach_norm", "(f32[4] f32[2]) =2"), expected(12, 24));
    EXPECT_EQ(workOf("aten::_scaled_mm", "f8[2, 3] f8[3, 5]"), expected(60, 6 + 15 + 2 * 10));
    EXPECT_EQ(workOf("aten::_grouped_mm", "bf16[8, 3] bf16[4, 3, 5] i32[4]"),
              expected(2 * 8 * 3 * 5, 2 * (24 + 60 + 40)));
    EXPECT_EQ(workOf("triton_poi_fused_add_mul_2", "bf16[4, 8] bf16[4, 8]"), expected(0, 128));
    EXPECT_EQ(workOf("aten::relu_", "[4, 8]"), workOf("aten::relu", "[4, 8]"));
    EXPECT_EQ(workOf("aten::native_dropout", "bf16[4, 8]"), expected(2 * 32, 32 * 5));
}

TEST(WorkOfOp, CountsOneOperationPerElementAndOperandOnce)
{
    EXPECT_EQ(workOf("aten::add", "[4, 8] [4, 8]"), expected(32, 3 * 32 * 4));
    EXPECT_EQ(workOf("aten::mul", "[4, 8] [8]"), expected(32, 4 * (32 + 8 + 32)));
    EXPECT_EQ(workOf("aten::mul", "[4, 1] [1, 8]"), expected(32, 4 * (4 + 8 + 32)));
    EXPECT_EQ(workOf("aten::mul", "bf16[4, 8] f32[]"), expected(32, 2 * 32 + 4 + 2 * 32));
    // The last shape is that of the output, not of an operand.
    EXPECT_EQ(workOf("aten::mul", "[4, 8] [4, 8] [4, 8]"), expected(32, 3 * 32 * 4));
    EXPECT_EQ(workOf("aten::mul", "c64[4, 8] c64[4, 8]"), expected(6 * 32, 3 * 32 * 8));
    EXPECT_EQ(workOf("aten::masked_fill_", "f32[4, 8] bool[4, 8]"), expected(0, 2 * 32 * 4 + 32));
    EXPECT_EQ(workOf("aten::eq", "i64[8] i64[8]"), expected(8, 8 * 16 + 8));
    EXPECT_EQ(workOf("aten::sum", "[4, 8]"), expected(32, 32 * 4));
    EXPECT_EQ(workOf("aten::copy_", "bf16[4, 8] f32[4, 8]"), expected(0, 32 * 6));
    EXPECT_EQ(workOf("aten::split_with_sizes_copy", "bf16[2, 8] =[3, 5] =1 ([2, 3] [2, 5])"),
              expected(0, 2 * 32));
    EXPECT_EQ(workOf("aten::_chunk_cat", "([3] [5]) =0 =2 bf16[2, 4]"), expected(0, 2 * 16));
    EXPECT_EQ(workOf("aten::zero_", "[4, 8]"), expected(0, 32 * 4));
    EXPECT_EQ(workOf("aten::_softmax", "[4, 8]"), expected(5 * 32, 2 * 32 * 4));
    EXPECT_EQ(workOf("aten::_softmax_backward_data", "[4, 8] [4, 8]"), expected(4 * 32, 3 * 32 * 4));
    EXPECT_EQ(workOf("aten::_fused_rms_norm", "[4, 8] [8]"), expected(4 * 32, 4 * (64 + 8)));
    EXPECT_EQ(workOf("aten::embedding", "f32[100, 8] i64[5]"), expected(0, 2 * 5 * 8 * 4 + 5 * 8));
}

TEST(WorkOfOp, CountsAnOptimizersListsTogether)
{
    // Two parameters of 6 and 4, their gradients and both moments, and a step number for each.
    EXPECT_EQ(workOf("aten::_fused_adamw_", "[2, 3] [4] [2, 3] [4] [2, 3] [4] [2, 3] [4] [] []"),
              expected(14 * 10, 4 * 10 * 7));
}

TEST(WorkOfOp, CountsFusedOpsOfTheLanguageModel)
{
    // 6 rows of 8: sums in fp32, elements in bf16.
    EXPECT_EQ(workOf("tilescope::add_rms_norm", "f32[6, 8] f32[8]", {.elementBytes = 2}),
              expected(4 * 48, 48 * (4 + 2) + 4 * (8 + 6)));
    EXPECT_EQ(workOf("tilescope::add_rms_norm", "f32[6, 8] bf16[6, 8] f32[8] =1e-05 =15"),
              expected(5 * 48, 48 * (4 + 2 + 4 + 2) + 4 * (8 + 6)));
    EXPECT_EQ(workOf("tilescope::rms_norm_backward", "bf16[6, 8] f32[6, 8] f32[8] f32[6]"),
              expected(9 * 48, 2 * 48 * (2 + 4) + 4 * (8 + 6)));
    EXPECT_EQ(workOf("tilescope::rms_norm_backward", "bf16[6, 8] f32[6, 8] f32[8] f32[6] f32[6, 8]"),
              expected(10 * 48, 48 * (2 * (2 + 4) + 4) + 4 * (8 + 6)));
    EXPECT_EQ(workOf("tilescope::split_bf16", "f32[6, 8] =3 =1 =0"), expected(2 * 48, (4 + 6) * 48));
    EXPECT_EQ(workOf("tilescope::quantize_rows", "bf16[6, 16]"), expected(3 * 96, (2 + 1) * 96 + 4 * 6));
    EXPECT_EQ(workOf("tilescope::quantize_matrix_", "f8[6, 16] f8[16, 6] f32[16] bf16[6, 16]"),
              expected(3 * 96, (2 + 2 + 1 + 1) * 96 + 4 * 16));
    EXPECT_EQ(workOf("tilescope::sum_parts_", "f32[8] f32[16, 8]"), expected(128, 4 * 136));
    EXPECT_EQ(workOf("tilescope::rows_product", "bf16[2, 16] bf16[6, 16]"),
              expected(2 * 2 * 16 * 6, 2 * (32 + 96 + 12)));
    EXPECT_EQ(workOf("tilescope::swiglu", "bf16[6, 16]"), expected(6 * 48, 2 * (96 + 48)));
    EXPECT_EQ(workOf("tilescope::swiglu_backward_", "bf16[6, 8] bf16[6, 16]"),
              expected(13 * 48, 2 * 2 * (48 + 96)));
    EXPECT_EQ(workOf("tilescope::cross_entropy_", "bf16[6, 10] i64[6]"),
              expected(6 * 60, 2 * 60 * 2 + 6 * 8 + 6 * 4));
    // Two heads of four of 24 columns; positions by pairs by cosine and sine.
    EXPECT_EQ(workOf("tilescope::rotate_heads_", "bf16[6, 24] f32[3, 2, 2] =2 =false"),
              expected(3 * 48, 2 * 48 * 2 + 12 * 4));
    EXPECT_EQ(workOf("tilescope::embedding_backward", "f32[6, 8] i64[6] =100"),
              expected(48, 4 * 48 + 6 * 8 + 4 * 800));
    // bf16 weights of 6 and 4, remainders, fp32 gradients and moments, and the step.
    EXPECT_EQ(
        workOf(
            "tilescope::adamw_",
            "bf16[2, 3] bf16[4] i16[2, 3] i16[4] f32[2, 3] f32[4] f32[2, 3] f32[4] f32[2, 3] f32[4] f32[]"),
        expected(14 * 10, 10 * (16 + 12)));
    EXPECT_EQ(workOf("tilescope::adamw_", "f32[4] f32[4] f32[4] f32[4] f32[]"), expected(14 * 4, 4 * 4 * 7));
    // A weight of 6 by 8 and five tokens.
    EXPECT_EQ(workOf("tilescope::adamw_product_",
                     "bf16[6, 8] i16[6, 8] f32[6, 8] f32[6, 8] bf16[5, 6] bf16[5, 8] f32[]"),
              expected((14 + 2 * 5) * 48, 48 * 24 + 2 * 5 * (6 + 8)));
}

TEST(WorkOfOp, CountsOpsOfVllmThatTheirArgumentsDescribe)
{
    EXPECT_EQ(workOf("_C::rms_norm", "bf16[6, 8] bf16[6, 8] bf16[8] =1e-05"),
              expected(4 * 48, 2 * (48 + 48 + 8)));
    EXPECT_EQ(workOf("_C::fused_add_rms_norm", "bf16[6, 8] bf16[6, 8] bf16[8] =1e-05"),
              expected(5 * 48, 2 * (4 * 48 + 8)));
    EXPECT_EQ(workOf("_C::static_scaled_fp8_quant", "f8[6, 8] bf16[6, 8] f32[]"), expected(48, 48 * 3));
    EXPECT_EQ(workOf("_C::silu_and_mul", "bf16[6, 8] bf16[6, 16]"), expected(6 * 48, 2 * (48 + 96)));
    // Six tokens with two heads of queries and one of keys, each of 4; the table has 100 positions.
    EXPECT_EQ(workOf("_C::rotary_embedding", "i64[6] bf16[6, 8] bf16[6, 4] =4 bf16[100, 4] =true"),
              expected(3 * (48 + 24), 6 * 8 + 2 * 2 * (48 + 24) + 6 * 4 * 2));
    EXPECT_FALSE(workOfOp("_C::rotary_embedding", "i64[6] bf16[6, 8] bf16[6, 4] =8 bf16[100, 4] =true", {}))
        << "a part of each head";
    EXPECT_EQ(workOf("_C::rotary_embedding", "i64[6] bf16[6, 8] bf16[6, 4] bf16[100, 4]").flops.count, 3 * 72)
        << "one head of keys";
    EXPECT_FALSE(workOfOp("_C::rotary_embedding", "i64[6] bf16[6, 8] bf16[6, 8] bf16[100, 4]", {}));
    // Five of six tokens have a slot.
    EXPECT_EQ(workOf("_C_cache_ops::reshape_and_cache_flash",
                     "bf16[6, 1, 4] bf16[6, 1, 4] u8[9, 16, 1, 4] u8[9, 16, 1, 4] i64[5] f32[] f32[]"),
              expected(0, 5 * 4 * (2 + 2 + 1 + 1) + 5 * 8));
    EXPECT_EQ(whyNoRule("vllm::moe_forward"), "its weights are not among its arguments");
    EXPECT_EQ(whyNoRule("aten::no_such_op"), "");
}

TEST(WorkOfOp, LeavesFusedOpsUncountedWhoseArgumentsDoNotFit)
{
    EXPECT_FALSE(workOfOp("tilescope::rotate_heads_", "bf16[6, 24] f32[3, 2, 2]", {})) << "heads unknown";
    EXPECT_FALSE(workOfOp("tilescope::rotate_heads_", "bf16[6, 24] f32[3, 2, 2] =7", {})) << "too many heads";
    EXPECT_FALSE(workOfOp("tilescope::embedding_backward", "f32[6, 8] i64[6]", {})) << "vocabulary unknown";
    EXPECT_FALSE(workOfOp("tilescope::adamw_", "f32[4] f32[4] f32[4]", {}));
    EXPECT_FALSE(workOfOp("tilescope::adamw_product_",
                          "bf16[6, 8] i16[6, 8] f32[6, 8] f32[6, 8] bf16[5, 6] bf16[4, 8] f32[]", {}));
    for (const OpRow& row : opTable()) {
        if (row.kind != OpKind::Fused)
            continue;
        EXPECT_FALSE(workOfOp(row.op, "", {})) << row.op;
        EXPECT_FALSE(workOfOp(row.op, "f32[2]", {})) << row.op;
    }
}

TEST(WorkOfOp, OpsThatOnlyCallOthersAreKnown)
{
    for (const char* op : {"aten::matmul", "aten::to", "AddmmBackward0", "torch::autograd::AccumulateGrad",
                           "torch::autograd::CppNode<Swiglu>", "CompiledFunction", "CompiledFunctionBackward",
                           "autograd::engine::evaluate_function: MmBackward0"}) {
        EXPECT_TRUE(callsOthers(op)) << op;
        EXPECT_FALSE(ruleOf(op)) << op;
    }
    for (const char* op : {"aten::mm", "aten::view", "aten::index", "tilescope::attention_backward",
                           "aten::silu_backward", "vllm::moe_forward"})
        EXPECT_FALSE(callsOthers(op)) << op;
}

TEST(WorkOfOp, ViewsAreFreeAndTheUnknownIsNotGuessed)
{
    EXPECT_EQ(workOf("aten::view", ""), expected(0, 0));
    EXPECT_FALSE(ruleOf("aten::view")->moves);
    EXPECT_TRUE(ruleOf("aten::mm")->moves);
    EXPECT_FALSE(ruleOf("aten::no_such_op"));
    EXPECT_FALSE(workOfOp("aten::no_such_op", "[2]", {}));
    EXPECT_FALSE(workOfOp("aten::mm", "[2, 3] [4, 5]", {})); // shapes that do not fit
    EXPECT_FALSE(workOfOp("aten::mm", "", {}));
    EXPECT_FALSE(workOfOp("tilescope::attention", "[2, 3, 4, 8]", {}));
}

} // namespace tilescope::analysis
