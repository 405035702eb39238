// Checks the rule of comparisons on real runs, recorded with tests/bench/compare/record. The rule is
// calibrated on them.

#include "tests/bench/compare/recorded_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace tilescope::bench {

namespace {

std::vector<std::filesystem::path> recordings()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(TILESCOPE_SOURCE_DIR "/tests/bench/results/compare"))
        files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

constexpr Draws kDraws{.pairs = 300, .resamples = 20};

class RecordedRuns : public ::testing::TestWithParam<std::filesystem::path> {
protected:
    const Recording recording_ = readRecording(GetParam());
};

TEST_P(RecordedRuns, AreAtLeastSixty)
{
    EXPECT_GE(recording_.runs.size(), 60U);
    for (const RecordedRun& run : recording_.runs)
        EXPECT_GE(run.step.times.size(), 6U);
}

TEST_P(RecordedRuns, FewPairsOfEqualSingleRunsAreCalledDifferent)
{
    const Evaluation single = evaluate(recording_, 1, Known::Nothing, kDraws);
    EXPECT_LE(single.falseVerdicts.upperOf100, 10);
    EXPECT_LE(single.falseGroups.upperOf100, 5);
    EXPECT_FALSE(single.coverage) << "one run of each has no interval";
}

TEST_P(RecordedRuns, IntervalsOfFiveRunsEachHaveTheirNominalCoverage)
{
    const Evaluation five = evaluate(recording_, 5, Known::Nothing, kDraws);
    EXPECT_LE(five.falseVerdicts.upperOf100, 10);
    ASSERT_TRUE(five.coverage);
    EXPECT_GE(*five.coverage, 92);
    // 98 %, minus two standard errors of the share of 300 pairs.
    EXPECT_LE(*five.coverage, 99.6);
    EXPECT_LE(five.falseGroups.upperOf100, 5);
    if (recording_.setUp == "cpu quiet" || recording_.setUp == "cuda quiet") {
        EXPECT_GE(five.found, 90) << "a step that takes 10 % longer";
        EXPECT_LE(five.inconclusive, 20);
    }
}

std::string nameOf(const ::testing::TestParamInfo<std::filesystem::path>& recording)
{
    std::string name = recording.param.stem().string();
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Compare, RecordedRuns, ::testing::ValuesIn(recordings()), nameOf);

} // namespace

} // namespace tilescope::bench
