// Checks the rule of comparisons on real runs, recorded with tests/bench/compare/record. The rule is
// calibrated on them.

#include "core/analysis/compare/several_threads.h"
#include "tests/bench/compare/recorded_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

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

TEST_P(RecordedRuns, AreAtLeastFifty)
{
    EXPECT_GE(recording_.runs.size(), 50U);
    for (const RecordedRun& run : recording_.runs)
        EXPECT_GE(run.step.times.size(), 6U);
}

TEST_P(RecordedRuns, FewPairsOfEqualSingleRunsAreCalledDifferent)
{
    const Evaluation single = evaluate(recording_, 1, Known::Nothing, kDraws);
    // In two runs of the recording of one thread, the processors took twice as long for the same work. Pairs one after the
    // other have a test of their own.
    EXPECT_LE(single.falseVerdicts.upperOf100, recording_.setUp.starts_with("changing record") ? 15 : 10);
    EXPECT_LE(single.falseGroups.upperOf100, 5);
    EXPECT_FALSE(single.coverage) << "one run of each has no interval";
}

TEST_P(RecordedRuns, IntervalsOfFiveRunsEachCoverTheRatio)
{
    const Evaluation five = evaluate(recording_, 5, Known::Nothing, kDraws);
    EXPECT_LE(five.falseVerdicts.upperOf100, 10);
    ASSERT_TRUE(five.coverage);
    EXPECT_GE(*five.coverage, 95);
    EXPECT_LE(five.falseGroups.upperOf100, 5);
    if (recording_.setUp == "cpu quiet" || recording_.setUp == "cuda quiet") {
        // The runs of a pair are drawn from the whole recording, so they differ more than runs in turn.
        EXPECT_GE(five.found, 70) << "a step that takes 10 % longer";
        EXPECT_LE(five.inconclusive, 30);
    }
}

/// The largest number of `trials` that does not contradict a rate of 5 %: more have a probability below 1e-4.
int mostOf(int trials)
{
    double log = trials * std::log(0.95); // of the probability of no success
    double sum = std::exp(log);
    int most = 0;
    while (sum < 1 - 1e-4) {
        log += std::log(static_cast<double>(trials - most) / (most + 1)) + std::log(0.05 / 0.95);
        sum += std::exp(log);
        ++most;
    }
    return most;
}

/// The smallest number of `trials` that proves a rate above `rate`: so many or more have a probability below 5 % if it is
/// not higher.
int leastOf(int trials, double rate)
{
    double log = trials * std::log(rate); // of the probability that all succeed
    double sum = std::exp(log);
    int least = trials;
    while (least > 0 && sum < 0.05) {
        log += std::log(static_cast<double>(least) / (trials - least + 1)) + std::log((1 - rate) / rate);
        sum += std::exp(log);
        --least;
    }
    return least + 1;
}

TEST_P(RecordedRuns, CommandsOneAfterTheOtherAreRarelyCalledDifferentWhileTheLoadChanges)
{
    if (!recording_.setUp.starts_with("changing"))
        GTEST_SKIP() << "its runs are not in the order of time";
    constexpr int kPairs = 500;
    for (const int repeats : {1, 5}) {
        const SequentialEvaluation commands = evaluateCommands(recording_, repeats, kPairs);
        EXPECT_LE(commands.falseVerdicts, mostOf(kPairs)) << repeats;
        EXPECT_LE(commands.falseGates, mostOf(kPairs)) << repeats;
        // Threads that wait for each other lose much more time than they waited for a core: equal programs differ by a
        // factor of up to ten. The bench draws more pairs and has narrower bounds.
        const bool knowsAllThreads = std::ranges::all_of(
            recording_.runs, [](const RecordedRun& run) { return run.step.someWaiting.has_value(); });
        const double least = knowsAllThreads                                   ? (repeats == 1 ? 0.9 : 0.99)
                             : recording_.threads == analysis::kSeveralThreads ? (repeats == 1 ? 0.15 : 0.45)
                             : recording_.threads != 1                         ? (repeats == 1 ? 0.7 : 0.85)
                             : recording_.setUp.ends_with("one thread")        ? 0.95
                                                                               : 1;
        EXPECT_GE(commands.found, least * kPairs) << repeats << " runs, three times as long";
        EXPECT_GE(commands.foundFaster, least * kPairs) << repeats << " runs, a third";
    }
    const TurnsEvaluation turns = evaluateTurns(recording_, {.pairs = kPairs / 2});
    EXPECT_LE(turns.falseVerdicts, mostOf(kPairs / 2));
    EXPECT_GE(turns.covered, 0.93 * turns.pairs);
}

TEST_P(RecordedRuns, CommandsThatDoNotKnowTheirWaitingAreRarelyCalledDifferent)
{
    if (!recording_.setUp.starts_with("changing"))
        GTEST_SKIP() << "its runs are not in the order of time";
    Recording recording = recording_; // as another program's, of which only the load of the host is known
    for (RecordedRun& run : recording.runs) {
        run.step.waiting.reset();
        run.step.threads = 0;
        run.step.hostWasLoaded = true;
    }
    constexpr int kPairs = 500;
    for (const int repeats : {1, 5}) {
        const SequentialEvaluation commands = evaluateCommands(recording, repeats, kPairs);
        EXPECT_LE(commands.falseVerdicts, mostOf(kPairs)) << repeats;
        EXPECT_LE(commands.falseGates, mostOf(kPairs)) << repeats;
    }
}

TEST_P(RecordedRuns, RepeatsUntilThereIsAVerdictRarelyCallEqualRunsDifferent)
{
    const int usual = usualRepeats(recording_);
    for (const int repeats : usual > 5 ? std::vector{5, usual} : std::vector{5}) {
        const TurnsEvaluation turns = evaluateTurns(recording_, {.pairs = 250, .repeats = repeats});
        EXPECT_LE(turns.falseInTheEnd, mostOf(turns.pairs)) << repeats;
    }
}

TEST_P(RecordedRuns, HalfAsLongAgainIsFoundUnderLoadWithTheRepeatsThatAreAskedFor)
{
    if (recording_.setUp.find("quiet") != std::string::npos)
        GTEST_SKIP() << "its host was quiet";
    const TurnsEvaluation turns = evaluateTurns(recording_, {.pairs = 250});
    EXPECT_GE(turns.found, leastOf(turns.pairs, 0.8)) << turns.repeats << " repeats";
    EXPECT_LE(turns.falseVerdicts, mostOf(turns.pairs));
}

TEST_P(RecordedRuns, ATenthLongerIsFoundInTurnOnAQuietHost)
{
    if (recording_.setUp.find("quiet") == std::string::npos)
        GTEST_SKIP() << "its host was busy";
    const int repeats = usualRepeats(recording_);
    EXPECT_EQ(repeats > 5, recording_.setUp.find("short") != std::string::npos);
    const TurnsEvaluation turns =
        evaluateTurns(recording_, {.pairs = 250, .repeats = repeats, .factor = 1.1});
    EXPECT_GE(turns.foundAtOnce, leastOf(turns.pairs, 0.8)) << repeats << " repeats";
    const TurnsEvaluation five = evaluateTurns(recording_, {.pairs = 250, .factor = 1.1});
    EXPECT_GE(five.found, leastOf(five.pairs, 0.8)) << "with the repeats that five runs of each ask for";
}

TEST_P(RecordedRuns, ThreeTimesAsLongIsFoundOneAfterTheOtherOnAQuietHost)
{
    if (recording_.setUp.find("quiet") == std::string::npos)
        GTEST_SKIP() << "its host was busy";
    const SequentialEvaluation five = evaluateCommands(recording_, 5, 250);
    EXPECT_EQ(five.found, five.pairs);
    EXPECT_EQ(five.foundFaster, five.pairs);
    EXPECT_LE(five.falseVerdicts, mostOf(five.pairs));
}

TEST(BinomialBound, IsExact)
{
    // By hand: of two trials none succeeds with 0.9025, at most one with 0.9975.
    EXPECT_EQ(mostOf(2), 2);
    // Tables of the binomial distribution: P(X > 9 | 100, 0.05) = 0.0282, P(X > 14) = 1.4e-4, P(X > 15) = 3.7e-5.
    EXPECT_EQ(mostOf(100), 15);
    // P(X >= 87 | 100, 0.8) = 0.0469, P(X >= 86) = 0.0804.
    EXPECT_EQ(leastOf(100, 0.8), 87);
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
