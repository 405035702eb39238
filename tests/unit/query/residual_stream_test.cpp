#include "core/query/memory/residual_stream.h"

#include <gtest/gtest.h>

namespace tilescope::query {

namespace {

store::RunRecord lm(const std::string& context)
{
    store::RunRecord run;
    run.specJson = R"({"workload":"lm","size":"small","d_model":768,"d_ff":3072,"layers":12,"heads":12,
                       "vocab":10000,"batch":4,"context":)" +
                   context + "}";
    return run;
}

SavedTensor heldBy(const std::string& path, const std::string& tensor, const std::string& dtype = "f32")
{
    return {.path = path,
            .op = "aten::fused_rms_norm",
            .tensor = tensor,
            .shape = "[512, 768]",
            .dtype = dtype,
            .bytes = 512 * 768 * (dtype == "f32" ? 4 : 2)};
}

} // namespace

TEST(ResidualStream, IsTheInputOfTheNorms)
{
    SavedTensor shared = heldBy("step/forward/norm", "of aten::addmm");
    shared.sharedWith = 1;
    const std::vector<SavedTensor> saved{heldBy("step/forward/layers.0/attention", "of aten::mm"),
                                         heldBy("step/forward/layers.0/attention_norm", "of aten::embedding"),
                                         heldBy("step/forward/layers.0/attention_norm", "own output"),
                                         heldBy("step/forward/layers.0/ffn_norm", "of aten::addmm"), shared};
    const auto stream = residualStream(lm("128"), saved);
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->formula(), Bytes{4 * 128 * 768 * 4});
    EXPECT_EQ(Bytes{stream->measured.bytes}, stream->formula()) << "the formula holds";
    EXPECT_EQ(stream->measured.path, "step/forward/layers.0/attention_norm");
    EXPECT_EQ(stream->tensors, 2);
    EXPECT_EQ(stream->together, Bytes{2 * 4 * 128 * 768 * 4});
}

TEST(ResidualStream, TakesTheBytesOfAnElementFromItsDtype)
{
    SavedTensor padded = heldBy("step/forward/norm", "of aten::add", "bf16");
    padded.bytes += 100;
    const auto stream = residualStream(lm("128"), std::vector{padded});
    ASSERT_TRUE(stream);
    EXPECT_EQ(stream->formula(), Bytes{512 * 768 * 2});
    EXPECT_NE(Bytes{stream->measured.bytes}, stream->formula()) << "a difference is seen";
}

TEST(ResidualStream, IsAbsentIfItWasNotRecorded)
{
    const std::vector saved{heldBy("step/forward/norm", "of aten::add")};
    EXPECT_FALSE(residualStream(lm("256"), saved)) << "no norm holds 1,024 rows";
    store::RunRecord attention;
    attention.specJson = R"({"workload":"attention"})";
    EXPECT_FALSE(residualStream(attention, saved));
    attention.specJson = "{}";
    EXPECT_FALSE(residualStream(attention, saved));
}

} // namespace tilescope::query
