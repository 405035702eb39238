#include "core/analysis/steps/model_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tilescope::analysis {
namespace {

constexpr std::int64_t kPeriod = 1'000'000;

/// A model that generates as Hugging Face's does: each call joins its keys and values to the cache of each layer, and the program
/// joins the ids of the tokens between the calls.
class GeneratingProgram {
public:
    std::int64_t layers = 3;
    std::int64_t batch = 4;
    std::int64_t hidden = 768;
    std::int64_t keyBytes = 512; ///< of a token and layer, and as many of values
    bool isStatic = false;       ///< the cache has a fixed size
    bool isWithoutCache = false;
    std::int64_t fixedBytes = 0; ///< of a block of each call; 0: none
    std::int64_t otherGrowth =
        0; ///< a block of a decoding call has 8 bytes for each token and so many more; 0: none
    std::int64_t replayedFrom =
        0; ///< decoding calls from this one of a generation on replay a CUDA graph: no blocks; 0: none
    std::int64_t idsBefore = 0; ///< of the next prompt, which the program makes after the last call; 0: none

    void generate(std::int64_t prompt, std::int64_t tokens)
    {
        if (idsBefore > 0)
            blocks.push_back(
                {timestampAt(std::ssize(calls) * kPeriod - 10), Timestamp::max(), idsBefore * batch * 8});
        for (std::int64_t i = 0; i < tokens; ++i)
            call(prompt + i, i == 0 ? prompt : 1, replayedFrom > 0 && i >= replayedFrom);
    }
    void call(std::int64_t context, std::int64_t tokens, bool isReplayed = false)
    {
        const std::int64_t start = std::ssize(calls) * kPeriod;
        std::int64_t at = start;
        const auto block = [&](std::int64_t bytes, std::int64_t life) {
            at += 10;
            if (isReplayed && at < start + kPeriod / 2)
                return;
            blocks.push_back({timestampAt(at), timestampAt(life == 0 ? at + 5 : at + life), bytes});
        };
        block(batch * tokens * hidden * 2, 0);
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            block(batch * tokens * hidden * 2, 0);
            block(batch * tokens * hidden * 8, 0);
            if (isStatic || isWithoutCache)
                continue;
            block(batch * context * keyBytes, kPeriod);
            block(batch * context * keyBytes, kPeriod);
            block(batch * context, 0); // a mask
        }
        if (fixedBytes > 0)
            block(fixedBytes, 0);
        if (otherGrowth > 0 && tokens == 1)
            block((context + otherGrowth) * 8, 0);
        calls.push_back({.time = {timestampAt(start), timestampAt(start + kPeriod / 2)}});
        at = start + kPeriod / 2 + 10;
        block(batch * 8, 0);
        block((context + 1) * batch * 8, 2 * kPeriod);
    }

    std::vector<ModelCall> calls;
    std::vector<LivedBlock> blocks;
};

TEST(ModelCalls, FindsPromptsContextAndBatchByTheCache)
{
    for (const std::int64_t batch : {1, 4, 7}) {
        GeneratingProgram program;
        program.batch = batch;
        program.generate(128, 8);
        program.generate(37, 20);
        const std::vector<GenerationCall> found = generationCalls(program.calls, program.blocks);
        ASSERT_EQ(found.size(), 28U);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const bool isSecond = i >= 8;
            const auto place = static_cast<std::int64_t>(isSecond ? i - 8 : i);
            EXPECT_EQ(found[i].type, place == 0 ? StepType::Prefill : StepType::Decode) << i;
            EXPECT_EQ(found[i].context, (isSecond ? 37 : 128) + place) << i;
            EXPECT_EQ(found[i].tokens, place == 0 ? *found[i].context : 1) << i;
            EXPECT_EQ(found[i].sequences, batch) << i;
            EXPECT_EQ(found[i].generation, isSecond ? 1 : 0) << i;
            EXPECT_EQ(found[i].cacheBytes, *found[i].context * batch * 2 * program.layers * program.keyBytes)
                << i;
        }
    }
}

TEST(ModelCalls, TellsTheCacheFromOtherBlocksThatGrowOrHaveItsSize)
{
    GeneratingProgram program;
    program.fixedBytes =
        60 * program.batch * program.keyBytes; // as much as the cache of a layer takes at 60 tokens
    program.otherGrowth = 35;
    program.generate(60, 8);
    program.generate(40, 40);
    const std::vector<GenerationCall> found = generationCalls(program.calls, program.blocks);
    ASSERT_EQ(found.size(), 48U);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i >= 8 ? i - 8 : i);
        EXPECT_EQ(found[i].type, place == 0 ? StepType::Prefill : StepType::Decode) << i;
        EXPECT_EQ(found[i].context, (i >= 8 ? 40 : 60) + place) << i;
        EXPECT_EQ(found[i].sequences, 4) << i;
    }
}

TEST(ModelCalls, TakesNoPromptWhereTheRecordingBeginsLater)
{
    GeneratingProgram program;
    for (std::int64_t context = 200; context < 210; ++context)
        program.call(context, 1);
    const std::vector<GenerationCall> found = generationCalls(program.calls, program.blocks);
    ASSERT_EQ(found.size(), 10U);
    EXPECT_TRUE(
        std::ranges::all_of(found, [](const GenerationCall& call) { return call.type == StepType::Decode; }));
    EXPECT_EQ(found.front().context, 200);
}

TEST(ModelCalls, FindsNothingInCallsThatDoNotGenerate)
{
    std::mt19937 random(7);
    for (int repeat = 0; repeat < 50; ++repeat) {
        GeneratingProgram program;
        for (int i = 0; i < 12; ++i) { // each a whole prompt of another length, as an evaluation has them
            const auto length = static_cast<std::int64_t>(16 + random() % 500);
            program.call(length, length);
        }
        EXPECT_TRUE(generationCalls(program.calls, program.blocks).empty()) << repeat;
    }
    GeneratingProgram equal;
    for (int i = 0; i < 12; ++i)
        equal.call(128, 128);
    EXPECT_TRUE(generationCalls(equal.calls, equal.blocks).empty());
    EXPECT_TRUE(generationCalls(equal.calls, {}).empty()) << "nothing but the calls is known";
}

TEST(ModelCalls, FindsCallsWithACacheOfFixedSizeByTheIdsBetweenThem)
{
    GeneratingProgram program;
    program.isStatic = true;
    program.generate(128, 8);
    program.idsBefore = 37; // the program holds them before it calls the model
    program.generate(37, 20);
    const std::vector<GenerationCall> found = generationCalls(program.calls, program.blocks);
    ASSERT_EQ(found.size(), 28U);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i >= 8 ? i - 8 : i);
        EXPECT_EQ(found[i].type, place == 0 ? StepType::Prefill : StepType::Decode) << i;
        EXPECT_EQ(found[i].context, (i >= 8 ? 37 : 128) + place) << i;
        EXPECT_EQ(found[i].sequences, 4) << i;
        EXPECT_FALSE(found[i].cacheBytes) << "of fixed size";
    }
}

TEST(ModelCalls, FindsCallsThatReplayAGraph)
{
    GeneratingProgram program;
    program.isStatic = true;
    program.replayedFrom = 3;
    program.generate(128, 8);
    program.idsBefore = 96;
    program.generate(96, 64);
    const std::vector<GenerationCall> found = generationCalls(program.calls, program.blocks);
    ASSERT_EQ(found.size(), 72U);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const bool isSecond = i >= 8;
        const auto place = static_cast<std::int64_t>(isSecond ? i - 8 : i);
        EXPECT_EQ(found[i].type, place == 0 ? StepType::Prefill : StepType::Decode) << i;
        EXPECT_EQ(found[i].context, (isSecond ? 96 : 128) + place) << i;
        EXPECT_EQ(found[i].sequences, program.batch) << i;
        EXPECT_EQ(found[i].generation, isSecond ? 1 : 0) << i;
    }
}

TEST(ModelCalls, FindsNoDecodeWithoutACache)
{
    GeneratingProgram program;
    program.isWithoutCache = true;
    for (std::int64_t context = 50; context < 70; ++context)
        program.call(context, context);
    EXPECT_TRUE(generationCalls(program.calls, program.blocks).empty());
}

TEST(ModelCalls, ReadsShapes)
{
    std::vector<ModelCall> calls;
    for (std::int64_t i = 0; i < 5; ++i)
        calls.push_back({.time = {timestampAt(i * kPeriod), timestampAt(i * kPeriod + 10)},
                         .sequences = 2,
                         .tokens = i == 0   ? 64
                                   : i == 3 ? 5
                                            : 1,
                         .context = 64 + i});
    const std::vector<GenerationCall> found = generationCalls(calls, {});
    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found[0].type, StepType::Prefill);
    EXPECT_EQ(found[1].type, StepType::Decode);
    EXPECT_EQ(found[3].type, StepType::Other) << "a part of a prompt, or a speculative step";
    EXPECT_FALSE(found[3].why.empty());
    EXPECT_EQ(found[4].type, StepType::Decode);
}

TEST(ModelCalls, LeavesOutBlocksThatFitInNoMemory)
{
    // A context of 2^61 times 8 bytes is 0 in 64 bits.
    std::vector<ModelCall> calls;
    std::vector<LivedBlock> blocks;
    for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t start = i * kPeriod;
        calls.push_back({.time = {timestampAt(start), timestampAt(start + kPeriod / 2)}});
        for (const std::int64_t bytes : {(std::int64_t{1} << 61) - 3 + i, std::int64_t{4096}})
            blocks.push_back({timestampAt(start + 10), Timestamp::max(), bytes});
        blocks.push_back({timestampAt(start + kPeriod / 2 + 10), Timestamp::max(), std::int64_t{1} << 50});
    }
    EXPECT_TRUE(generationCalls(calls, blocks).empty());
}

} // namespace
} // namespace tilescope::analysis
