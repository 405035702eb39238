#include "core/config/quick.h"

#include "core/config/spec_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::config {

using ::testing::ElementsAre;

namespace {

std::vector<ExperimentSpec> quickOf(const char* yaml)
{
    return quickEdition(parseSpec(yaml, "spec.yaml"));
}

template <class Value>
std::vector<Value> all(const std::vector<ExperimentSpec>& specs, Value ExperimentSpec::*key)
{
    std::vector<Value> values;
    for (const ExperimentSpec& spec : specs)
        values.push_back(spec.*key);
    return values;
}

} // namespace

TEST(Quick, TakesFewStepsAndNeverMoreThanWereAskedFor)
{
    const auto many = quickOf("{workload: attention, warmup: 10, steps: 100, trace_steps: 5}");
    EXPECT_EQ(many[0].warmup, 1);
    EXPECT_EQ(many[0].steps, 3);
    EXPECT_EQ(many[0].traceSteps, 1);
    const auto few = quickOf("{workload: attention, warmup: 0, steps: 2, trace_steps: 0}");
    EXPECT_EQ(few[0].warmup, 0);
    EXPECT_EQ(few[0].steps, 2);
    EXPECT_EQ(few[0].traceSteps, 0);
    EXPECT_EQ(quickOf("{workload: attention, repeat: 5}")[0].repeat, 1);
}

TEST(Quick, MakesOnePointOfThoseThatBecomeTheSame)
{
    const auto specs =
        quickOf("{workload: attention, seq_len: 64, sweep: {steps: [2, 10, 100], seed: [0, 1]}}");
    EXPECT_THAT(all(specs, &ExperimentSpec::steps), ElementsAre(2, 2, 3, 3));
    EXPECT_THAT(all(specs, &ExperimentSpec::seed), ElementsAre(0, 1, 0, 1));
}

TEST(Quick, KeepsTheProportionsOfLengths)
{
    const auto specs = quickOf("{workload: attention, sweep: {seq_len: [256, 1024, 4096, 8192, 16384]}}");
    EXPECT_THAT(all(specs, &ExperimentSpec::seqLen), ElementsAre(8, 32, 128, 256, 512));
    EXPECT_THAT(all(specs, &ExperimentSpec::kvLen), ElementsAre(8, 32, 128, 256, 512));
    EXPECT_THAT(all(quickOf("{workload: attention, sweep: {seq_len: [100, 512]}}"), &ExperimentSpec::seqLen),
                ElementsAre(100, 512))
        << "short ones stay as they are";
    EXPECT_THAT(
        all(quickOf("{workload: attention, sweep: {seq_len: [1, 1048576]}}"), &ExperimentSpec::seqLen),
        ElementsAre(1, 512));
}

TEST(Quick, RunsTheTinyModelWhateverItsSize)
{
    const auto specs =
        quickOf("{workload: lm, context: 256, sweep: {size: [small, 2.7B], precision: [fp32, bf16]}}");
    ASSERT_EQ(specs.size(), 2U) << "of two sizes one is left, in each precision";
    for (const ExperimentSpec& spec : specs) {
        EXPECT_EQ(spec.size, "tiny");
        EXPECT_EQ(spec.dModel, 128);
        EXPECT_EQ(spec.dFf, 512);
        EXPECT_EQ(spec.layers, 2);
        EXPECT_EQ(spec.heads, 4);
        EXPECT_EQ(spec.context, 128);
        EXPECT_EQ(spec.vocab, 1250);
    }
    EXPECT_EQ(quickOf("{workload: lm, vocab: 50257}")[0].vocab, 50257 / 64);
    EXPECT_EQ(quickOf("{workload: lm, vocab: 1000}")[0].vocab, 1000) << "a small one stays as it is";
}

TEST(Quick, GeneratesFewTokensWithHeadsThatTheTinyModelHas)
{
    const auto specs =
        quickOf("{workload: lm, mode: generate, new_tokens: 128, sweep: {kv_heads: [12, 6, 3]}}");
    EXPECT_THAT(all(specs, &ExperimentSpec::kvHeads), ElementsAre(4, 2, 1));
    EXPECT_THAT(all(specs, &ExperimentSpec::newTokens), ElementsAre(8, 8, 8));
    EXPECT_THAT(all(specs, &ExperimentSpec::steps), ElementsAre(8, 8, 8));
    const auto few = quickOf("{workload: lm, mode: generate, new_tokens: 2}");
    EXPECT_EQ(few[0].newTokens, 2);
    EXPECT_EQ(few[0].steps, 2);
}

TEST(Quick, KeepsDimensionsThatAreChosen)
{
    const Overrides chosen{{"layers", "12"}};
    const auto specs =
        quickEdition(parseSpec("{workload: lm, size: small, layers: 12}", "spec.yaml"), chosen);
    ASSERT_EQ(specs.size(), 1U);
    EXPECT_EQ(specs[0].layers, 12);
    EXPECT_EQ(specs[0].dModel, 128);
}

} // namespace tilescope::config
