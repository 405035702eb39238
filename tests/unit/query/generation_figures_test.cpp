#include "core/query/runs/generation_figures.h"

#include "core/config/schema.h"
#include "core/config/spec_file.h"
#include "core/model/generation.h"
#include "core/query/runs/run_tables.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace tilescope::query {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

/// A generation of `tokens` tokens: the prompt takes 20 ms, a token 4 ms + 0.5 ms for choosing it.
std::vector<Sample> samplesOf(int tokens, SampleKind kind = SampleKind::Measure)
{
    std::vector<Sample> samples{{0, kind, Phase::Prefill, Nanoseconds(20 * kMillisecond)},
                                {0, kind, Phase::Sample, Nanoseconds(kMillisecond / 2)}};
    for (int token = 1; token < tokens; ++token) {
        samples.push_back({token, kind, Phase::Step, Nanoseconds(9 * kMillisecond / 2)});
        samples.push_back({token, kind, Phase::Decode, Nanoseconds(4 * kMillisecond)});
        samples.push_back({token, kind, Phase::Sample, Nanoseconds(kMillisecond / 2)});
    }
    return samples;
}

RunRow generationRow(const std::string& yaml, const std::vector<Sample>& samples, bool hasCeiling = true)
{
    const testing::TemporaryFolder folder;
    const auto file = folder / "generation.tscope";
    const ExperimentSpec spec = config::parseSpec(yaml, "s.yaml").front();
    {
        const StringTable strings;
        store::RunWriter writer(file, strings);
        writer.beginRun({"generation", "lm", config::toJson(spec), config::specHash(spec), "test"});
        writer.writeEnvironment(std::vector<EnvironmentEntry>{{"host", "box"}});
        writer.writeSamples(samples);
        RunResult result;
        result.device = "cpu";
        writer.endRun(result);
        if (hasCeiling) {
            const std::vector<Ceiling> ceilings{{"cpu:box", "box", "copy", 1e9, "B/s", 5, 0, 1, "test"},
                                                {"cpu:other", "other", "copy", 7e9, "B/s", 5, 0, 2, "test"}};
            writer.writeCeilings(ceilings);
        }
    }
    const store::RunReader reader(file);
    return runs(reader).rows.front();
}

const std::string kYaml =
    "workload: lm\nmode: generate\nsize: tiny\nbatch: 3\ncontext: 10\nnew_tokens: 120\n";

} // namespace

TEST(GenerationFigures, AreThoseOfTheTimedGeneration)
{
    std::vector<Sample> samples = samplesOf(120, SampleKind::Warmup);
    const std::vector<Sample> timed = samplesOf(120);
    samples.insert(samples.end(), timed.begin(), timed.end());
    const RunRow row = generationRow(kYaml, samples);
    ASSERT_TRUE(row.generation);
    const GenerationFigures& figures = *row.generation;
    ASSERT_TRUE(figures.firstTokenMs && figures.perTokenMs);
    EXPECT_EQ(figures.firstTokenMs->n, 1);
    EXPECT_DOUBLE_EQ(figures.firstTokenMs->median, 20.5);
    EXPECT_EQ(figures.perTokenMs->n, 119);
    EXPECT_DOUBLE_EQ(figures.perTokenMs->median, 4.5);
    EXPECT_EQ(figures.perTokenMs->n, row.stepMs()->n);
    EXPECT_DOUBLE_EQ(figures.perTokenP99Ms.value(), 4.5);
    EXPECT_NEAR(figures.tokensPerSecond.value(), 3 / 4.5e-3, 1e-6);
    // 3 sequences at positions 10 to 128, tiny: 2 layers 128 wide, in fp32.
    const ExperimentSpec spec = config::parseSpec(kYaml, "s.yaml").front();
    EXPECT_EQ(figures.bytesPerToken, meanDecodedBytes(spec));
    EXPECT_NEAR(figures.bandwidthPercent.value(), 100 * *figures.bytesPerToken / 4.5e-3 / 1e9, 1e-9);
    EXPECT_EQ(figures.cache.count, 2LL * 2 * 3 * 128 * 129 * 4);
}

TEST(GenerationFigures, LackWhatIsUnknown)
{
    const RunRow row = generationRow(kYaml, samplesOf(20), false);
    ASSERT_TRUE(row.generation);
    EXPECT_FALSE(row.generation->bandwidthPercent); // no ceiling of the device
    EXPECT_FALSE(row.generation->perTokenP99Ms);    // too few tokens
    const RunRow one =
        generationRow("workload: lm\nmode: generate\nsize: tiny\nnew_tokens: 1\n", samplesOf(1));
    ASSERT_TRUE(one.generation);
    EXPECT_TRUE(one.generation->firstTokenMs);
    EXPECT_FALSE(one.generation->perTokenMs);
    EXPECT_FALSE(one.generation->tokensPerSecond);
}

TEST(GenerationFigures, FirstTokensAreThoseOfAllRepeats)
{
    const testing::TemporaryFolder folder;
    const auto file = folder / "repeats.tscope";
    const std::vector<ExperimentSpec> specs{config::parseSpec(kYaml, "s.yaml").front(),
                                            config::parseSpec(kYaml + "seed: 1\n", "s.yaml").front()};
    {
        const StringTable strings;
        store::RunWriter writer(file, strings);
        // Three repeats of a point, of which the last failed, and another point.
        for (const int run : {0, 1, 2, 3}) {
            const ExperimentSpec& spec = specs[run == 3 ? 1 : 0];
            writer.beginRun({"generation", "lm", config::toJson(spec), config::specHash(spec), "test"});
            std::vector<Sample> samples = samplesOf(3);
            samples.front().wall += Nanoseconds(run * kMillisecond);
            writer.writeSamples(samples);
            RunResult result;
            result.device = "cpu";
            result.status = run == 2 ? RunStatus::Cancelled : RunStatus::Ok;
            writer.endRun(result);
        }
    }
    const store::RunReader reader(file);
    const RunsTable table = runs(reader);
    ASSERT_EQ(table.rows.size(), 4U);
    for (const std::size_t run : {0, 1}) {
        const auto& first = table.rows[run].generation->firstTokenMs;
        ASSERT_TRUE(first);
        EXPECT_EQ(first->n, 2);
        EXPECT_DOUBLE_EQ(first->mean, 21);
        EXPECT_EQ(table.rows[run].generation->perTokenMs->n, 2); // of the run alone
    }
    EXPECT_EQ(table.rows[2].generation->firstTokenMs->n, 1);
    EXPECT_DOUBLE_EQ(table.rows[2].generation->firstTokenMs->median, 22.5);
    EXPECT_EQ(table.rows[3].generation->firstTokenMs->n, 1);
    EXPECT_DOUBLE_EQ(table.rows[3].generation->firstTokenMs->median, 23.5);
}

TEST(GenerationFigures, OtherModesHaveNone)
{
    EXPECT_FALSE(generationRow("workload: lm\nmode: forward\nsize: tiny\n", {}).generation);
}

} // namespace tilescope::query
