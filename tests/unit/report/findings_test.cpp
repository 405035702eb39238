#include "core/report/findings.h"

#include "tests/support/temporary_folder.h"
#include "tests/unit/report/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilescope::report {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

namespace {

/// Forward takes N² ns; flash takes half of that from 1024 on and twice as long below; naive does not fit at
/// 16384.
FakeResult scalingOf(const ExperimentSpec& spec)
{
    const auto length = static_cast<double>(spec.seqLen);
    FakeResult result{.forwardMs = length * length * 1e-6, .backwardMs = 2 * length * length * 1e-6};
    if (spec.backend == Backend::Flash) {
        const double factor = spec.seqLen >= 1024 ? 0.5 : 2;
        result.forwardMs *= factor;
        result.backwardMs *= factor;
        result.peak = Bytes{spec.seqLen * 1000};
    } else {
        result.peak = Bytes{spec.seqLen * spec.seqLen};
    }
    if (spec.backend == Backend::Naive && spec.seqLen == 16384)
        result.status = RunStatus::Oom;
    return result;
}

class Findings : public ::testing::Test {
protected:
    void SetUp() override
    {
        writeStudyFile(folder / "s.tscope", "scaling", config::Edition::Full, scalingOf);
        study = studyRuns(openRecordings({folder / "s.tscope"}), "scaling").at(0);
    }

    std::string sentence(FindingTemplate wanted) const
    {
        wanted.part = "lengths";
        const std::vector<Finding> findings = makeFindings(wanted, study);
        return findings.size() == 1 ? findings[0].text : std::to_string(findings.size()) + " findings";
    }

    testing::TemporaryFolder folder;
    StudyRuns study;
};

} // namespace

TEST_F(Findings, SpreadNamesTheSmallestAndTheLargestPoint)
{
    EXPECT_EQ(sentence({.rule = "spread",
                        .say = "Backward over forward: {median}, {points} points.",
                        .quantity = {.value = "backward", .from = {{"backend", "naive"}}, .over = "forward"},
                        .by = {"seq_len"}}),
              "Backward over forward: 2.00, 10 points.");
    EXPECT_THAT(sentence({.rule = "spread",
                          .say = "{least_at}; {largest_at}; {points}",
                          .quantity = {.value = "peak"},
                          .by = {"backend", "seq_len"}}),
                "Backend naive, seq_len 512; backend sdpa, seq_len 16384; 32");
}

TEST_F(Findings, RatiosNeedBothPoints)
{
    const FindingTemplate faster{.rule = "mean",
                                 .say = "{mean} {points}",
                                 .quantity = {.value = "step",
                                              .from = {{"backend", "naive"}},
                                              .over = "step",
                                              .overFrom = {{"backend", "flash"}}},
                                 .by = {"seq_len"}};
    // 512: 0.5; 1024 to 8192: 2 each; 16384 ran out of memory.
    EXPECT_EQ(sentence(faster), "1.52 10");
    EXPECT_NEAR(makeFindings(faster, study).at(0).effect, std::log(2), 1e-6); // times are whole nanoseconds
}

TEST_F(Findings, ARatioWithEveryKeyOfTheRowsDividesByThatPoint)
{
    const FindingTemplate toShortest{.rule = "spread",
                                     .say = "{range}",
                                     .quantity = {.value = "peak",
                                                  .from = {{"backend", "flash"}},
                                                  .over = "peak",
                                                  .overFrom = {{"backend", "flash"}, {"seq_len", "512"}}},
                                     .by = {"backend", "seq_len"}};
    EXPECT_EQ(sentence(toShortest),
              "1.00 (backend flash, seq_len 512) to 32.0 (backend flash, seq_len 16384)");
}

TEST_F(Findings, GrowthHasExponentsWithIntervals)
{
    const std::string text = sentence({.rule = "growth",
                                       .say = "{exponents}",
                                       .quantity = {.value = "peak"},
                                       .x = "seq_len",
                                       .series = "backend"});
    EXPECT_THAT(text, HasSubstr("Flash as seq_len^1.00 (95 % 1.00 to 1.00, 6 points)"));
    EXPECT_THAT(text, HasSubstr("naive as seq_len^2.00 (95 % 2.00 to 2.00, 5 points)"));
}

TEST_F(Findings, GrowthOfLinesThatAreNumbersNamesTheirKey)
{
    EXPECT_THAT(sentence({.rule = "growth",
                          .say = "It grows: {exponents}.",
                          .quantity = {.value = "peak", .from = {{"backend", "naive"}}},
                          .x = "seq_len",
                          .series = "heads"}),
                HasSubstr("heads 8 as seq_len^2.00"));
}

TEST_F(Findings, NoGrowthIsCalledOneThatMayBeNone)
{
    // About 1 ms at each length, by turns a little above and below.
    writeStudyFile(folder / "flat.tscope", "scaling", config::Edition::Full, [](const ExperimentSpec& spec) {
        const bool isOdd = std::lround(std::log2(static_cast<double>(spec.seqLen))) % 2 == 1;
        return FakeResult{.forwardMs = isOdd ? 1.05 : 1.0, .backwardMs = 1};
    });
    study = studyRuns(openRecordings({folder / "flat.tscope"}), "scaling").at(0);
    EXPECT_THAT(
        sentence({.rule = "growth",
                  .say = "Time grows: {exponents}.",
                  .quantity = {.value = "forward", .from = {{"backend", "naive"}}},
                  .x = "seq_len"}),
        MatchesRegex("Time grows: exponent not distinguishable from 0 \\(95 % -0\\.[0-9]+ to 0\\.[0-9]+, "
                     "[0-9] points\\)\\."));
}

TEST_F(Findings, GrowthOfOnePointIsASentenceToo)
{
    EXPECT_EQ(sentence({.rule = "growth",
                        .say = "It grows: {exponents}.",
                        .quantity = {.value = "peak", .from = {{"backend", "naive"}, {"seq_len", "512"}}},
                        .x = "seq_len"}),
              "It grows: exponent not determined from 1 point; a slope takes at least 3.");
}

TEST_F(Findings, CrossoverIsThePointFromWhichOneStaysBelow)
{
    // Below 4096 the timed steps of flash take less than 150 ms, where a factor of two decides nothing.
    EXPECT_EQ(sentence({.rule = "crossover",
                        .say = "faster: {crossovers}",
                        .quantity = {.value = "step"},
                        .by = {"precision"},
                        .x = "seq_len",
                        .series = "backend",
                        .first = "naive",
                        .second = "flash"}),
              "faster: precision bf16: from 4096 on (inconclusive at every point below)");
}

TEST_F(Findings, TheBestTradeSavesMostRelativeToItsCost)
{
    // At 16,384 naive ran out of memory, so there is no comparison; below, flash has the lower peak.
    const std::string text = sentence({.rule = "trade",
                                       .say = "{trades}",
                                       .quantity = {.value = "peak", .over = "step"},
                                       .by = {"seq_len"},
                                       .series = "backend",
                                       .first = "naive"});
    EXPECT_THAT(text, HasSubstr("Seq_len 512: "));
    EXPECT_THAT(text, HasSubstr("seq_len 4096: flash saves"));
    EXPECT_THAT(text, HasSubstr("at no cost"));
    EXPECT_THAT(text, HasSubstr("seq_len 16384: no choice saves any"));
}

TEST_F(Findings, StatusesAreCounted)
{
    EXPECT_EQ(sentence({.rule = "statuses", .say = "{oom}; {skipped}", .by = {"backend", "seq_len"}}),
              "1 of 33 points ran out of memory: backend naive, seq_len 16384; 0");
}

TEST_F(Findings, NothingIsClaimedWithoutData)
{
    EXPECT_EQ(sentence({.rule = "spread",
                        .say = "{range}",
                        .quantity = {.value = "counter.tensor_active"},
                        .by = {"seq_len"}}),
              "Inconclusive (“…”): no point measured it.");
    EXPECT_EQ(sentence({.rule = "mean",
                        .say = "Forward is {mean} times as fast ({range}).",
                        .quantity = {.value = "counter.tensor_active"},
                        .by = {"seq_len"}}),
              "Inconclusive (“Forward is … times as fast (…)”): no point has both values.");
    EXPECT_THAT(sentence({.rule = "boundary", .say = "{predicted}", .x = "seq_len"}),
                HasSubstr("Inconclusive (“…”):"));
}

TEST_F(Findings, EqualPointsAreNotARange)
{
    EXPECT_EQ(sentence({.rule = "spread",
                        .say = "Backward takes {range} times forward.",
                        .quantity = {.value = "backward", .over = "forward"},
                        .by = {"backend", "seq_len"}}),
              "Backward takes 2.00 (all 32 points) times forward.");
}

TEST_F(Findings, EachNamesTheCommandsThatShowItsData)
{
    const auto commands = [this](const std::string& metric) {
        const FindingTemplate wanted{.rule = "spread",
                                     .say = "{range}",
                                     .part = "lengths",
                                     .quantity = {.value = metric},
                                     .by = {"backend", "seq_len"}};
        return makeFindings(wanted, study).at(0).commands;
    };
    EXPECT_THAT(commands("step"), ElementsAre(EndsWith("s.tscope runs --format json")));
    // The first step of the smallest and of the largest point; there, runs are shown one by one.
    const auto ofOneRun = MatchesRegex("tilescope show .*s.tscope samples --run [0-9]+");
    EXPECT_THAT(commands("timed.1"), ElementsAre(ofOneRun, ofOneRun));
}

TEST(Mean, ComparesTheFinalLossesOfTwoPrecisions)
{
    testing::TemporaryFolder folder;
    writeStudyFile(folder / "l.tscope", "fp8", config::Edition::Full, [](const ExperimentSpec& spec) {
        return FakeResult{.loss = spec.precision == Precision::Fp8 ? 3.0 : 2.0};
    });
    const StudyRuns study = studyRuns(openRecordings({folder / "l.tscope"}), "fp8").at(0);
    const auto findings = makeFindings({.rule = "mean",
                                        .say = "{mean} of {points}",
                                        .part = "learning",
                                        .quantity = {.value = "final_loss",
                                                     .from = {{"precision", "fp8"}},
                                                     .over = "final_loss",
                                                     .overFrom = {{"precision", "bf16"}}},
                                        .by = {"seed"}},
                                       study);
    EXPECT_EQ(findings.at(0).text, "1.50 of 5");
}

TEST(Boundary, PredictsWhereMemoryRunsOutAndComparesWithThePoints)
{
    testing::TemporaryFolder folder;
    const double limit = 8.0 * (1LL << 30);
    writeStudyFile(folder / "b.tscope", "oom-boundary", config::Edition::Full,
                   [limit](const ExperimentSpec& spec) {
                       const auto length = static_cast<double>(spec.seqLen);
                       const double peak = 1e6 + 1000 * length + 150 * length * length;
                       return FakeResult{.peak = Bytes{static_cast<std::int64_t>(peak)},
                                         .status = peak > limit ? RunStatus::Oom : RunStatus::Ok};
                   });
    const StudyRuns study = studyRuns(openRecordings({folder / "b.tscope"}), "oom-boundary").at(0);
    const auto findings = makeFindings({.rule = "boundary",
                                        .say = "{predicted} between {largest_ok} and {least_oom}, {agrees}",
                                        .quantity = {.value = "reserved"},
                                        .x = "seq_len"},
                                       study);
    EXPECT_EQ(findings.at(0).text, "7564 between 7168 and 8192, agrees with");
}

TEST(Filled, KeepsUnknownPlaceholdersAndCapitalisesTheFirstLetter)
{
    EXPECT_EQ(filled("{a} and {b} {", {{"a", "one"}}), "One and {b} {");
    EXPECT_EQ(filled("", {}), "");
}

} // namespace tilescope::report
