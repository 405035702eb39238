#include "core/model/generation_mark.h"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

GenerationMark markOf(std::string_view name)
{
    const std::optional<GenerationMark> mark = generationMarkOf(name);
    EXPECT_TRUE(mark) << name;
    return mark.value_or(GenerationMark{});
}

TEST(GenerationMark, ReadsSequencesAndTokensOfSglang)
{
    const GenerationMark decode = markOf("step[DECODE bs=32]");
    EXPECT_EQ(decode.type, StepType::Decode);
    EXPECT_EQ(decode.framework, "SGLang");
    EXPECT_EQ(decode.sequences(), 32);
    EXPECT_EQ(decode.newTokens, 32);
    const GenerationMark prefill = markOf("step[EXTEND bs=15 toks=15360]");
    EXPECT_EQ(prefill.type, StepType::Prefill);
    EXPECT_EQ(prefill.prompts, 15);
    EXPECT_EQ(prefill.newTokens, 15360);
    EXPECT_FALSE(prefill.isChunked);
    EXPECT_TRUE(markOf("step[MIXED bs=9 toks=8192]").isChunked);
    EXPECT_TRUE(markOf("step[MIXED bs=9 toks=8192]").isMixed());
    const GenerationMark verify = markOf("step[TARGET_VERIFY bs=4 toks=20]");
    EXPECT_TRUE(verify.isSpeculative);
    EXPECT_EQ(verify.type, StepType::Decode);
    EXPECT_EQ(markOf("step[IDLE bs=0]").why, "the server was idle");
}

TEST(GenerationMark, ReadsBothPhasesOfVllm)
{
    const GenerationMark mixed = markOf("execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_"
                                        "generation_37(sq37sk34489sqsq37sqsk34489)");
    EXPECT_EQ(mixed.type, StepType::Prefill);
    EXPECT_TRUE(mixed.isMixed());
    EXPECT_TRUE(mixed.isChunked) << "more tokens in the cache than are new";
    EXPECT_FALSE(mixed.isSpeculative);
    EXPECT_EQ(mixed.sequences(), 46);
    EXPECT_EQ(mixed.newTokens, 8155 + 37);
    EXPECT_EQ(mixed.cachedTokens, 8430 + 34489);
    const GenerationMark decode =
        markOf("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)");
    EXPECT_EQ(decode.type, StepType::Decode);
    EXPECT_EQ(decode.sequences(), 32);
    EXPECT_EQ(decode.cachedTokens, 32785);
    const GenerationMark plain = markOf("execute_context_1(888)_generation_2(2)");
    EXPECT_EQ(plain.newTokens, 890);
    EXPECT_FALSE(plain.cachedTokens) << "the mark has no sizes of the cache";
    EXPECT_TRUE(markOf("execute_context_0(0)_generation_2(10)").isSpeculative) << "5 tokens a sequence";
    const GenerationMark old = markOf("execute_new_2_cached_12");
    EXPECT_EQ(old.type, StepType::Prefill);
    EXPECT_EQ(old.sequences(), 14);
    EXPECT_FALSE(old.newTokens) << "the lengths of the new prompts are not in it";
}

TEST(GenerationMark, ReadsTensorRt)
{
    const GenerationMark mark = markOf("[Executor] _forward_step 7: 2 ctx reqs, 300 ctx tokens, 3 gen reqs");
    EXPECT_EQ(mark.type, StepType::Prefill);
    EXPECT_EQ(mark.sequences(), 5);
    EXPECT_EQ(mark.newTokens, 303);
    const GenerationMark without = markOf("[Executor] _forward_step 8: 2 ctx reqs, 3 gen reqs");
    EXPECT_FALSE(without.newTokens);
    EXPECT_EQ(markOf("[Executor] _forward_step 9: 0 ctx reqs, 3 gen reqs").newTokens, 3);
}

TEST(GenerationMark, SaysWhereAMarkTellsNoType)
{
    for (const std::string_view name : {"llama_decode", "execute_model", "step[IDLE bs=0]"}) {
        EXPECT_EQ(markOf(name).type, StepType::Other) << name;
        EXPECT_FALSE(markOf(name).why.empty()) << name;
    }
    for (const std::string_view name :
         {"ProfilerStep#3", "execute_kernel", "forward", "decoder", "train_step"})
        EXPECT_FALSE(generationMarkOf(name)) << name;
}

TEST(GenerationMark, ReadsBackWhatItNames)
{
    const std::string name = nameOfIteration(StepType::Decode, 4, 4, 129);
    EXPECT_EQ(name, "decode[bs=4 toks=4 ctx=129]");
    const GenerationMark mark = markOf(name);
    EXPECT_EQ(mark.type, StepType::Decode);
    EXPECT_EQ(mark.decoded, 4);
    EXPECT_EQ(mark.cachedTokens, 4 * 129);
    EXPECT_EQ(markOf(nameOfIteration(StepType::Prefill, {}, {}, 128)).type, StepType::Prefill);
    EXPECT_EQ(markOf(nameOfIteration(StepType::Other, {}, {}, {})).type, StepType::Other);
}

TEST(GenerationMark, DoesNotCountWithNumbersThatNoProgramHas)
{
    const GenerationMark mark =
        markOf("execute_context_1(9223372036854775807)_generation_9223372036854775807(5)");
    EXPECT_EQ(mark.sequences(), 1);
    EXPECT_EQ(mark.newTokens, 5);
    const GenerationMark computed = markOf("decode[bs=4611686018427387904 toks=4 ctx=4611686018427387904]");
    EXPECT_FALSE(computed.sequences());
    EXPECT_FALSE(computed.context);
    EXPECT_FALSE(computed.cachedTokens);
    EXPECT_EQ(markOf("decode[bs=1 kv=300000000000]").cacheBytes, 300'000'000'000);
}

} // namespace
} // namespace tilescope
