#include "core/query/generation/generation_table.h"

#include "core/config/schema.h"
#include "core/config/spec_file.h"
#include "core/model/generation.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/two_ranks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace tilescope::query {
namespace {

constexpr const char* kProductOfDecode = "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT";
constexpr const char* kFlash = "flash_fwd_splitkv_kernel";

class GenerationOf : public ::testing::Test {
protected:
    GenerationTable read(testing::FakeTrace& trace, const std::string& device = "cuda:0")
    {
        {
            store::RunWriter writer(file_, trace.strings());
            store::RunHeader header{"serve", "trace", R"({"workload":"trace"})", "h", "Tilescope test"};
            header.clockOrigin = timestampAt(0);
            writer.beginRun(header);
            writer.write(trace.batch());
            RunResult result;
            result.device = device;
            writer.endRun(result);
        }
        const store::RunReader reader(file_);
        return generation(reader, {});
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_.path() / "a.tscope";
};

void expectSums(const GenerationTable& table)
{
    for (const GenerationRow& row : table.rows) {
        EXPECT_EQ(std::accumulate(row.parts.begin(), row.parts.end(), Nanoseconds(0)), row.gpuBusy());
        EXPECT_EQ(row.gpuBusy() + row.gpuIdle(), row.wall());
        EXPECT_GE(row.gpuIdle(), Nanoseconds(0));
    }
}

TEST_F(GenerationOf, MarkedIterationsHaveBatchContextAndParts)
{
    testing::FakeTrace trace;
    trace.step(0, 0, 1000)
        .range("step/execute_context_2(sq64sk64sqsq0sqsk0)_generation_1(sq1sk200sqsq1sqsk200)", 0, 900);
    trace.kernel(kProductOfDecode, 100, 500).at("step").launchedAt(10);
    trace.step(1, 1000, 1500).range("step/step[DECODE bs=2]", 1000, 1400);
    trace.kernel(kProductOfDecode, 1100, 1200).at("step").launchedAt(1010);
    trace.kernel(kFlash, 1150, 1260).at("step").launchedAt(1020);
    trace.kernel("vectorized_elementwise_kernel", 1260, 1300).at("step/Sampler_0").launchedAt(1030);
    trace.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1290, 1330).at("step").launchedAt(1040);
    trace.step(2, 1500, 2100).range("step/step[DECODE bs=2]", 1500, 2000);
    trace.kernel(kProductOfDecode, 1600, 1700).at("step").launchedAt(1510);
    const GenerationTable table = read(trace);
    EXPECT_EQ(table.source, IterationSource::Marks);
    ASSERT_EQ(table.rows.size(), 3U);
    expectSums(table);
    const GenerationRow& prefill = table.rows[0];
    EXPECT_EQ(prefill.iteration.type, StepType::Prefill);
    EXPECT_TRUE(prefill.iteration.isMixed);
    EXPECT_EQ(prefill.iteration.sequences, 3);
    EXPECT_EQ(prefill.iteration.newTokens, 65);
    EXPECT_DOUBLE_EQ(prefill.iteration.context.value_or(0), 264.0 / 3);
    EXPECT_DOUBLE_EQ(prefill.tokensPerSecond().value_or(0), 65 / 1e-6);
    const GenerationRow& decode = table.rows[1];
    EXPECT_EQ(decode.iteration.sequences, 2);
    EXPECT_FALSE(decode.iteration.context) << "SGLang's mark has none";
    EXPECT_EQ(decode.part(GenerationPart::Attention), Nanoseconds(110)) << "before products at the same time";
    EXPECT_EQ(decode.part(GenerationPart::Products), Nanoseconds(50));
    EXPECT_EQ(decode.part(GenerationPart::Sampling), Nanoseconds(40));
    EXPECT_EQ(decode.part(GenerationPart::Communication), Nanoseconds(30)) << "without what runs beside it";
    EXPECT_EQ(decode.gpuIdle(), Nanoseconds(270));
    ASSERT_TRUE(table.perToken);
    EXPECT_EQ(table.perToken->n, 2);
    EXPECT_DOUBLE_EQ(table.perToken->p50, 550);
    EXPECT_FALSE(table.firstToken) << "requests of a server are not followed";
    EXPECT_FALSE(decode.bytes);
    EXPECT_FALSE(table.whyNoBytes.empty());
    ASSERT_EQ(table.types.size(), 2U);
    EXPECT_DOUBLE_EQ(table.of(StepType::Decode)->gpuBusy, (230 + 100) / 2.0);
    EXPECT_EQ(table.of(StepType::Decode)->sequences, 2);
}

/// Calls of a model with a cache of 2 layers and 3 sequences, 64 bytes a token for keys and values each; each call joins them.
void generate(testing::FakeTrace& trace, std::int64_t start, std::int64_t prompt, std::int64_t tokens)
{
    constexpr std::int64_t kBatch = 3;
    for (std::int64_t i = 0; i < tokens; ++i) {
        const std::int64_t context = prompt + i;
        const std::int64_t from = start + i * 1000;
        const std::int64_t processed = i == 0 ? prompt : 1;
        trace.range("forward", from, from + 600).range("forward/LlamaForCausalLM", from + 10, from + 590);
        trace.range("forward/LlamaForCausalLM/model", from + 20, from + 500);
        std::uint64_t address = 0x1000;
        for (std::int64_t layer = 0; layer < 2; ++layer) {
            trace.alloc(address, kBatch * processed * 1536, from + 30)
                .free(address, kBatch * processed * 1536, from + 40);
            trace.alloc(address, kBatch * processed * 6144, from + 45)
                .free(address, kBatch * processed * 6144, from + 46);
            for (int both = 0; both < 2; ++both) // a block at the same address ends the one before
                trace.alloc(0x10000 + address + static_cast<std::uint64_t>(both) * 0x100,
                            kBatch * context * 64, from + 50);
            address += 0x2000;
        }
        trace.kernel(kProductOfDecode, from + 100, from + 200)
            .at("forward/LlamaForCausalLM/model")
            .launchedAt(from + 60);
        trace.kernel("reduce_kernel<argmax>", from + 700, from + 720).launchedAt(from + 650);
        trace.alloc(0x90000, (context + 1) * kBatch * 8, from + 800);
    }
}

TEST_F(GenerationOf, CallsOfAModelAreIterationsByTheGrowthOfItsCache)
{
    testing::FakeTrace trace;
    trace.betweenSteps();
    generate(trace, 0, 16, 6);
    generate(trace, 20'000, 40, 9);
    const GenerationTable table = read(trace);
    EXPECT_EQ(table.source, IterationSource::ModelCache);
    EXPECT_EQ(table.marks, "LlamaForCausalLM");
    ASSERT_EQ(table.rows.size(), 15U);
    expectSums(table);
    EXPECT_EQ(table.rows[0].iteration.type, StepType::Prefill);
    EXPECT_EQ(table.rows[6].iteration.type, StepType::Prefill);
    EXPECT_EQ(table.rows[7].iteration.type, StepType::Decode);
    EXPECT_EQ(table.rows[7].iteration.context, 41);
    EXPECT_EQ(table.rows[7].iteration.sequences, 3);
    EXPECT_EQ(table.rows[7].wall(), Nanoseconds(1000)) << "until the next call begins";
    EXPECT_EQ(table.rows[5].wall(), Nanoseconds(580)) << "the last of its generation ends with its call";
    EXPECT_EQ(table.rows[7].part(GenerationPart::Sampling), Nanoseconds(20))
        << "launched outside of the call";
    ASSERT_TRUE(table.firstToken);
    EXPECT_EQ(table.firstToken->n, 2);
    EXPECT_EQ(table.perToken->n, 13);
    EXPECT_EQ(table.rows[7].iteration.cacheBytes, 41 * 3 * 64 * 4);
}

TEST_F(GenerationOf, ProgramsThatTrainOrOnlyEvaluateShowNone)
{
    testing::FakeTrace trains;
    for (int step = 0; step < 4; ++step) {
        trains.step(step, step * 1000, step * 1000 + 900)
            .range("step/forward", step * 1000, step * 1000 + 300);
        trains.range("step/forward/LlamaForCausalLM", step * 1000 + 10, step * 1000 + 290);
        trains.range("step/backward", step * 1000 + 300, step * 1000 + 600);
        trains.kernel(kProductOfDecode, step * 1000 + 20, step * 1000 + 200)
            .at("step/forward")
            .launchedAt(step * 1000 + 11);
    }
    EXPECT_TRUE(read(trains).rows.empty());
}

TEST_F(GenerationOf, EvaluationShowsNone)
{
    testing::FakeTrace evaluates;
    evaluates.betweenSteps();
    for (int call = 0; call < 6; ++call) {
        evaluates.range("forward", call * 1000, call * 1000 + 500);
        evaluates.range("forward/LlamaForCausalLM", call * 1000 + 10, call * 1000 + 490);
        evaluates.alloc(0x1000, 64'000, call * 1000 + 20).free(0x1000, 64'000, call * 1000 + 30);
    }
    EXPECT_TRUE(read(evaluates).rows.empty());
}

TEST_F(GenerationOf, AStepWhosePhaseIsDecodeIsAnIteration)
{
    testing::FakeTrace own;
    for (int step = 0; step < 3; ++step) {
        own.step(step, step * 1000, step * 1000 + 900).range("step/decode", step * 1000, step * 1000 + 700);
        own.range("step/sample", step * 1000 + 700, step * 1000 + 900);
        own.kernel("vectorized_elementwise_kernel", step * 1000 + 750, step * 1000 + 800)
            .at("step/sample")
            .launchedAt(step * 1000 + 701);
    }
    const GenerationTable table = read(own);
    ASSERT_EQ(table.rows.size(), 3U);
    EXPECT_EQ(table.source, IterationSource::Steps);
    EXPECT_EQ(table.rows[1].iteration.type, StepType::Decode);
    EXPECT_EQ(table.rows[1].part(GenerationPart::Sampling), Nanoseconds(50));
}

TEST_F(GenerationOf, MarksThatFollowEachOtherInAStepAreIterations)
{
    testing::FakeTrace trace;
    for (std::int32_t step = 0; step < 2; ++step) {
        const std::int64_t start = step * 10'000;
        trace.step(step, start, start + 9000).range("step/prefill", start + 100, start + 2100);
        trace.kernel(kProductOfDecode, start + 200, start + 1200).at("step/prefill").launchedAt(start + 110);
        for (int i = 0; i < 3; ++i) {
            const std::int64_t from = start + 3000 + i * 1000;
            trace.range("step/decode_step " + std::to_string(i), from, from + 900);
            trace.kernel(kProductOfDecode, from + 100, from + 400).at("step").launchedAt(from + 10);
        }
    }
    const GenerationTable table = read(trace);
    EXPECT_EQ(table.source, IterationSource::Marks);
    ASSERT_EQ(table.rows.size(), 8U);
    expectSums(table);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const Iteration& iteration = table.rows[i].iteration;
        EXPECT_EQ(iteration.number, static_cast<std::int32_t>(i));
        EXPECT_FALSE(iteration.step) << "it is a part of a step";
        EXPECT_EQ(iteration.type, i % 4 == 0 ? StepType::Prefill : StepType::Decode) << i;
        EXPECT_EQ(iteration.generation, i < 4 ? 0 : 1) << i;
    }
    ASSERT_TRUE(table.firstToken);
    EXPECT_DOUBLE_EQ(table.firstToken->p50, 2000);
    ASSERT_TRUE(table.perToken);
    EXPECT_EQ(table.perToken->n, 6);
    EXPECT_DOUBLE_EQ(table.perToken->p50, 900);
    EXPECT_EQ(table.perTokenWords(), "time per output token");
}

TEST_F(GenerationOf, SpeculativeIterationsAreNotTheTimeOfAToken)
{
    testing::FakeTrace trace;
    for (std::int32_t step = 0; step < 3; ++step)
        trace.step(step, step * 1000, step * 1000 + 900)
            .range("step/step[TARGET_VERIFY bs=2]", step * 1000, step * 1000 + 900);
    const GenerationTable table = read(trace);
    ASSERT_TRUE(table.perToken);
    EXPECT_EQ(table.perTokenWords(), "time per decode iteration");
}

TEST_F(GenerationOf, AProcessReadsItsOwnParameters)
{
    testing::FakeTrace trace;
    for (std::int32_t step = 0; step < 2; ++step) {
        const std::int64_t start = step * 1000;
        trace.step(step, start, start + 900).range("step/step[DECODE bs=1]", start, start + 900);
        trace.range("step/decode[bs=1 kv=64]", start, start + 900);
        trace.kernel(kProductOfDecode, start + 100, start + 200).at("step").launchedAt(start + 10);
    }
    trace.alloc(0x100, 1000, 5).category("parameters");
    trace.alloc(0x200, 5000, 6).category("parameters");
    TraceBatch batch = trace.batch();
    batch.allocEvents.back().device = DeviceIndex{1};
    batch.threads.push_back({.thread = ThreadId{1}, .process = ProcessIndex{0}});
    const RunTopology topology = testing::twoRanks(7);
    {
        store::RunWriter writer(file_, trace.strings());
        writer.beginRun({"serve", "trace", R"({"workload":"trace"})", "h", "Tilescope test"});
        writer.writeTopology(topology);
        writer.write(batch);
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }
    const GenerationTable table = generation(store::RunReader(file_), {});
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0].rank, 0);
    EXPECT_EQ(table.rows[0].bytes, 1000 + 64) << "not the parameters on the GPU of rank 1";
    EXPECT_FALSE(table.weightBytes) << "the processes hold different numbers";
}

TEST_F(GenerationOf, ARunOfModeGenerateHasItsTimedStepsAndTheBytesOfItsSpec)
{
    const ExperimentSpec spec =
        config::parseSpec("workload: lm\nmode: generate\nsize: tiny\nbatch: 3\ncontext: 10\nnew_tokens: 4\n",
                          "s.yaml")
            .front();
    testing::FakeTrace trace;
    for (std::int32_t step = 0; step < 4; ++step) {
        const std::int64_t start = step * 1000;
        trace.step(step, start, start + 900)
            .range(step == 0 ? "step/prefill" : "step/decode", start, start + 800);
        trace.kernel(kProductOfDecode, start + 100, start + 200).at("step").launchedAt(start + 10);
    }
    constexpr std::int64_t kMillisecond = 1'000'000;
    std::vector<Sample> samples{{0, SampleKind::Measure, Phase::Prefill, Nanoseconds(20 * kMillisecond)},
                                {0, SampleKind::Measure, Phase::Sample, Nanoseconds(kMillisecond)}};
    for (int token = 1; token < 4; ++token)
        samples.push_back({token, SampleKind::Measure, Phase::Step, Nanoseconds(5 * kMillisecond)});
    {
        store::RunWriter writer(file_, trace.strings());
        writer.beginRun({"generation", "lm", config::toJson(spec), config::specHash(spec), "test"});
        writer.writeSamples(samples);
        writer.write(trace.batch());
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
    }
    const GenerationTable table = generation(store::RunReader(file_), {});
    EXPECT_EQ(table.source, IterationSource::Steps);
    ASSERT_EQ(table.rows.size(), 4U);
    EXPECT_EQ(table.rows[1].iteration.context, 11);
    EXPECT_EQ(table.rows[1].bytes, decodedBytes(spec, 10).count);
    EXPECT_EQ(table.rows[1].bytesSource, BytesSource::Sizes);
    ASSERT_NE(table.of(StepType::Decode), nullptr);
    EXPECT_DOUBLE_EQ(table.of(StepType::Decode)->bytes.value_or(0), meanDecodedBytes(spec));
    ASSERT_TRUE(table.timed);
    EXPECT_DOUBLE_EQ(table.timed->firstTokenMs.value().median, 21);
    EXPECT_DOUBLE_EQ(table.timed->perTokenMs.value().median, 5);
    EXPECT_DOUBLE_EQ(table.perToken.value().p50, 900) << "of traced steps";
}

TEST_F(GenerationOf, CallsOfAModelInAMarkedLoopAreIterations)
{
    testing::FakeTrace trace;
    trace.step(0, 0, 900).range("step/prefill", 0, 900).range("step/LlamaForCausalLM_0", 10, 500);
    trace.kernel(kProductOfDecode, 100, 300).at("step/LlamaForCausalLM_0").launchedAt(20);
    trace.step(1, 1000, 4000).range("step/decode", 1000, 4000);
    for (std::int64_t from = 1000; from < 4000; from += 1000) {
        trace.range("step/LlamaForCausalLM_0", from + 10, from + 500);
        trace.range("step/DraftModel_0", from + 600, from + 650);
        trace.range("step/DraftModel_0", from + 700, from + 750);
        trace.kernel(kProductOfDecode, from + 100, from + 300)
            .at("step/LlamaForCausalLM_0")
            .launchedAt(from + 20);
        trace.kernel("vectorized_elementwise_kernel", from + 800, from + 840)
            .at("step")
            .launchedAt(from + 790);
    }
    const GenerationTable table = read(trace);
    ASSERT_EQ(table.rows.size(), 4U);
    expectSums(table);
    EXPECT_EQ(table.rows[0].iteration.type, StepType::Prefill);
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
        EXPECT_EQ(table.rows[i].iteration.type, StepType::Decode) << i;
        EXPECT_EQ(table.rows[i].iteration.generation, 0) << i;
        EXPECT_EQ(table.rows[i].part(GenerationPart::Products), Nanoseconds(200)) << i;
        EXPECT_EQ(table.rows[i].part(GenerationPart::Sampling), Nanoseconds(40)) << i;
    }
    EXPECT_EQ(table.rows[1].wall(), Nanoseconds(1010)) << "from the range's begin to the second call";
    EXPECT_EQ(table.rows[2].wall(), Nanoseconds(1000));
    EXPECT_EQ(table.rows[3].wall(), Nanoseconds(990));
}

} // namespace
} // namespace tilescope::query
