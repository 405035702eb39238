#pragma once

#include "core/analysis/compare/comparison.h"
#include "core/analysis/compare/run_comparison.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::bench {

/// A run of a recording: its steps, and its groups (ops or kernels, and ranges) as one run each.
struct RecordedRun {
    analysis::TimedRun step = {};
    std::vector<analysis::GroupTimes> groups = {};
};

/// Runs of one spec that were recorded under one set of conditions, in the order of time; all do the same work.
struct Recording {
    std::string setUp;      ///< cpu quiet
    std::string about = {}; ///< machine and command
    int threads = 0;        ///< that compute the steps on a CPU; 0: not known
    std::vector<RecordedRun> runs = {};
};

/// Reads what write() wrote.
/// \throws std::runtime_error  the file is not a recording
Recording readRecording(const std::filesystem::path& file);
void writeRecording(std::ostream& out, const Recording& recording);

/// How often a verdict was given, with the 95 % upper confidence bound by a bootstrap over the runs: pairs
/// share runs, so they are not independent trials. Each resample is judged by half as many pairs as there are, so that
/// the bound contains little of the chance of drawing them.
struct Rate {
    double of100 = 0;
    double upperOf100 = 0;
};

/// The verdicts of `tilescope compare` on pairs drawn from a recording.
struct Evaluation {
    int pairs = 0;
    int repeats = 0;                     ///< runs of a side
    Rate falseVerdicts;                  ///< faster or slower, where both sides are alike
    Rate inconclusiveAlike;              ///< inconclusive for the same pairs
    std::optional<double> coverage = {}; ///< of 100 intervals, those that contain 1; none without intervals
    double found = 0;                    ///< of 100 with B slowed: slower
    double inconclusive = 0;             ///< of 100 with B slowed
    Rate falseGroups; ///< ops, kernels and ranges called slower or faster, of those tested, alike
    Rate falseTables; ///< pairs with at least one such group
};

enum class Known : std::uint8_t {
    Nothing,   ///< only the drawn runs
    OtherRuns, ///< all other runs of the recording are known to be repeats
};

struct Draws {
    int pairs = 2000;
    int resamples = 200;    ///< of the bootstrap
    double slowdown = 1.10; ///< of B, made by scaling all its times: A and B are separate real runs
    std::uint64_t seed = 20'250'101;
};

/// Draws pairs of `repeats` runs a side and applies the rule to them, as if they had been taken in turn.
Evaluation evaluate(const Recording& recording, int repeats, Known known, const Draws& draws = {});

/// The verdicts on two commands of which the second began after the first, while the load of the host changed.
struct SequentialEvaluation {
    int pairs = 0;
    int repeats = 0;       ///< runs of a command
    int falseVerdicts = 0; ///< faster or slower, where both do the same work
    int falseGates = 0;    ///< --gate 3% exceeded
    int found = 0;         ///< slower, where B takes three times as long
    int foundFaster = 0;   ///< faster, where A does
};

/// Which runs are taken in turn.
struct Turns {
    int pairs = 1000;
    int repeats = 5;     ///< runs of a side
    double factor = 1.5; ///< by which B takes longer
    std::uint64_t seed = Draws{}.seed;
};

/// The verdicts on runs that were taken in turn.
struct TurnsEvaluation {
    int pairs = 0;
    int falseVerdicts = 0; ///< where both sides do the same work
    int falseInTheEnd = 0; ///< of the same, with the repeats that are asked for until there is a verdict
    int covered = 0;       ///< intervals that contain 1 where both sides do the same work
    int foundAtOnce = 0;   ///< slower, where B takes longer
    int found = 0;         ///< slower, where B takes longer, with the repeats that are asked for
    int gaveUp = 0;        ///< of the others: no number of repeats was asked for
    double repeats = 0;    ///< that the verdict took, on average
};

/// Draws pairs of commands of `repeats` runs, each as they were recorded, the second at most 50 runs after the first.
SequentialEvaluation evaluateCommands(const Recording& recording, int repeats, int pairs,
                                      std::uint64_t seed = Draws{}.seed);

/// The commands of the recording, one after the other: the first and second five runs, the third and fourth, …, so that
/// no run is in two pairs.
SequentialEvaluation measuredCommands(const Recording& recording, int repeats);

/// The runs of each side that `compare --measure` takes of specs like this, unless it is told how many.
int usualRepeats(const Recording& recording);

/// Draws stretches of the recording and takes their runs by turns as A and B. Where more runs are asked for than there are,
/// it draws pairs of neighbouring runs.
TurnsEvaluation evaluateTurns(const Recording& recording, const Turns& turns);

} // namespace tilescope::bench
