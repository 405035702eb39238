// How often `tilescope compare` is right, evaluated on pairs of equal runs drawn from recordings.
//
//   bench_compare extract FILE.tscope SET_UP [NOTE]   the runs of the file as a recording, on standard output
//   bench_compare [--pairs N] RECORDING…        evaluates N pairs (2000) of each recording, and the interval of one run
//
// The last line of an evaluation is one JSON object; it fails if a set-up exceeds its bounds.

#include "core/analysis/stats/effective_number.h"
#include "core/analysis/stats/random.h"
#include "core/analysis/stats/statistics.h"
#include "core/base/error.h"
#include "core/query/compare/compare_tables.h"
#include "core/query/compare/traced_groups.h"
#include "core/store/run_reader.h"
#include "tests/bench/compare/recorded_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace tilescope;
using bench::Evaluation;
using bench::Known;

std::string valueOf(const std::vector<EnvironmentEntry>& entries, const std::string& key)
{
    for (const EnvironmentEntry& entry : entries)
        if (entry.key == key)
            return entry.value;
    return {};
}

/// The groups of all runs that take the most time, of each kind.
std::set<std::string> costliest(const bench::Recording& recording)
{
    constexpr std::size_t kMost = 20;
    std::map<std::string, std::map<std::string, double>> totals; // by kind, which the key begins with
    for (const bench::RecordedRun& run : recording.runs)
        for (const analysis::GroupTimes& group : run.groups)
            for (const double time : group.runs.front())
                totals[group.key.substr(0, group.key.find(' '))][group.key] += time;
    std::set<std::string> keys;
    for (const auto& [kind, groups] : totals) {
        std::vector<std::pair<double, std::string>> order;
        for (const auto& [key, total] : groups)
            order.emplace_back(-total, key);
        std::sort(order.begin(), order.end());
        for (std::size_t i = 0; i < std::min(kMost, order.size()); ++i)
            keys.insert(order[i].second);
    }
    return keys;
}

/// All runs with the same groups, in the same order. A group that a run lacks has the time 0.
void align(bench::Recording& recording)
{
    const std::set<std::string> keys = costliest(recording);
    for (bench::RecordedRun& run : recording.runs) {
        std::vector<analysis::GroupTimes> aligned;
        for (const std::string& key : keys) {
            const auto found = std::ranges::find(run.groups, key, &analysis::GroupTimes::key);
            const std::size_t steps = run.groups.empty() ? 0 : run.groups.front().runs.front().size();
            aligned.push_back(found != run.groups.end()
                                  ? *found
                                  : analysis::GroupTimes{.key = key, .runs = {std::vector<double>(steps)}});
        }
        run.groups = std::move(aligned);
    }
}

int extract(const std::string& file, const std::string& setUp, const std::string& note)
{
    const store::RunReader reader(file);
    bench::Recording recording{.setUp = setUp};
    double load = 0;
    for (const store::RunRecord& run : reader.runs()) {
        if (run.result.status != RunStatus::Ok)
            continue;
        const std::vector<EnvironmentEntry> environment = reader.environment(run.run);
        load = std::max(load, std::atof(valueOf(environment, "load").c_str()));
        const std::string gpu = valueOf(environment, "gpu.name");
        const std::string processor = gpu.empty() ? valueOf(environment, "cpu.model") : gpu;
        recording.about = (processor.empty() ? "" : processor + ", ") + valueOf(environment, "cpu.threads") +
                          " processors, " + run.program;
        bench::RecordedRun recorded{.step = run.traits().isImported
                                                ? query::recordedRun(reader, run)
                                                : query::timedRun(reader, run, Phase::Step, false)};
        recording.threads = recorded.step.threads;
        const query::TracedGroups groups = query::tracedGroups(reader, std::vector{run.run});
        const auto add = [&recorded](const char* kind, const std::vector<analysis::GroupTimes>& list) {
            for (analysis::GroupTimes group : list) {
                group.key = kind + group.key;
                recorded.groups.push_back(std::move(group));
            }
        };
        add("op ", groups.ops);
        add("kernel ", groups.kernels);
        add("range ", groups.ranges);
        recording.runs.push_back(std::move(recorded));
    }
    if (recording.runs.empty())
        throw Error{.what = "holds no finished run", .where = file};
    recording.about += fmt::format(", load average up to {:.2f}", load);
    if (!note.empty())
        recording.about += "; " + note;
    align(recording);
    bench::writeRecording(std::cout, recording);
    return 0;
}

std::string rateJson(const bench::Rate& rate)
{
    return fmt::format("{{\"of_100\": {:.2f}, \"upper_of_100\": {:.2f}}}", rate.of100, rate.upperOf100);
}

std::string coverageText(const Evaluation& e, const char* unit)
{
    return e.coverage ? fmt::format("{:.2f}{}", *e.coverage, unit) : "nothing (no intervals)";
}

std::string evaluationJson(const Evaluation& e)
{
    return fmt::format(
        R"({{"pairs": {}, "repeats": {}, "false_verdicts": {}, "inconclusive_alike": {}, )"
        R"("coverage_of_100": {}, "slower_by_10_percent": {{"found_of_100": {:.2f}, )"
        R"("inconclusive_of_100": {:.2f}}}, "false_groups": {}, "pairs_with_false_groups": {}}})",
        e.pairs, e.repeats, rateJson(e.falseVerdicts), rateJson(e.inconclusiveAlike),
        e.coverage ? coverageText(e, "") : "null", e.found, e.inconclusive, rateJson(e.falseGroups),
        rateJson(e.falseTables));
}

void print(const char* what, const Evaluation& e)
{
    std::printf("  %-24s false %5.2f %% (at most %5.2f), covers %s, 10 %% found %5.1f, inconclusive %5.1f; "
                "groups false %5.2f %% (%5.2f), in %5.2f %% of pairs\n",
                what, e.falseVerdicts.of100, e.falseVerdicts.upperOf100, coverageText(e, " %").c_str(),
                e.found, e.inconclusive, e.falseGroups.of100, e.falseGroups.upperOf100, e.falseTables.of100);
}

/// A step that takes 3 % longer, with this number of runs per side: the limits of `compare --gate 3%`.
struct SmallSlowdown {
    static constexpr double kSlowdown = 1.03;
    static constexpr std::array kRepeats{5, 10, 20};

    std::string setUp;
    double deviation = 0;                     ///< of the medians of runs, per cent
    std::vector<Evaluation> evaluations = {}; ///< by kRepeats; fewer if the recording has too few runs

    static SmallSlowdown of(const bench::Recording& recording, int pairs)
    {
        SmallSlowdown slowdown{.setUp = recording.setUp};
        std::vector<double> medians;
        for (const bench::RecordedRun& run : recording.runs)
            medians.push_back(std::log(analysis::median(run.step.times)));
        slowdown.deviation =
            100 * analysis::summarise(medians).value_or(analysis::Statistics{}).standardDeviation.value_or(0);
        for (const int repeats : kRepeats)
            if (2 * static_cast<std::size_t>(repeats) <= recording.runs.size())
                slowdown.evaluations.push_back(
                    bench::evaluate(recording, repeats, Known::Nothing,
                                    {.pairs = pairs, .resamples = 1, .slowdown = kSlowdown}));
        return slowdown;
    }

    void print() const
    {
        std::printf("  %-24s runs deviate by %5.2f %%:", setUp.c_str(), deviation);
        for (const Evaluation& e : evaluations)
            std::printf("  %2d of each: %5.2f %% false, %5.1f %% found;", e.repeats, e.falseVerdicts.of100,
                        e.found);
        std::printf("\n");
    }

    std::string json() const
    {
        std::string list;
        for (const Evaluation& e : evaluations)
            list += fmt::format(R"({}{{"repeats": {}, "false_of_100": {:.2f}, "found_of_100": {:.2f}}})",
                                list.empty() ? "" : ", ", e.repeats, e.falseVerdicts.of100, e.found);
        return fmt::format(R"({{"deviation_percent": {:.3f}, "by_repeats": [{}]}})", deviation, list);
    }
};

/// The recordings of a changing load: commands one after the other, and runs in turn.
struct ChangingLoad {
    static constexpr int kPairs = 10'000;
    static constexpr double kMostFalse = 0.055;
    static constexpr double kMostFalseOfFew =
        0.09; // of 100 pairs, what a rate of 5 % exceeds with a probability of 3 %
    static constexpr double kLeastFound = 0.8;
    // Three times as long. Threads that wait for each other lose much more time than they waited for a core.
    static constexpr double kLeastFoundOfThreads = 0.9;
    static constexpr double kLeastFoundBySingleRunsOfThreads = 0.75;
    // Recordings of other programs: of one thread, and of several.
    static constexpr double kLeastFoundOfRecording = 0.95;
    static constexpr double kLeastFoundOfRecordedThreads = 0.5;
    static constexpr double kLeastFoundBySingleRunsOfRecordedThreads = 0.15;

    bench::SequentialEvaluation single;
    bench::SequentialEvaluation five;
    bench::SequentialEvaluation measuredSingle;
    bench::SequentialEvaluation measuredFive;
    bench::TurnsEvaluation turns;
    int threads = 0;
    bool isRecording = false;

    explicit ChangingLoad(const bench::Recording& recording)
        : single(bench::evaluateCommands(recording, 1, kPairs)),
          five(bench::evaluateCommands(recording, 5, kPairs)),
          measuredSingle(bench::measuredCommands(recording, 1)),
          measuredFive(bench::measuredCommands(recording, 5)),
          turns(bench::evaluateTurns(recording, {.pairs = kPairs / 10})), threads(recording.threads),
          isRecording(recording.setUp.starts_with("changing record"))
    {
    }

    bool isGood() const
    {
        const auto isRight = [this](const bench::SequentialEvaluation& e, double most) {
            constexpr int kEnough = 100; // fewer pairs say little about a share below 1
            const bool isSingle = e.repeats == 1;
            const double least =
                threads == 1 && !isRecording ? 1
                : e.pairs < kEnough          ? 0
                : threads == 1               ? kLeastFoundOfRecording
                : isRecording
                    ? (isSingle ? kLeastFoundBySingleRunsOfRecordedThreads : kLeastFoundOfRecordedThreads)
                    : (isSingle ? kLeastFoundBySingleRunsOfThreads : kLeastFoundOfThreads);
            return std::max(e.falseVerdicts, e.falseGates) <= most * e.pairs &&
                   std::min(e.found, e.foundFaster) >= least * e.pairs;
        };
        return isRight(single, kMostFalse) && isRight(five, kMostFalse) &&
               isRight(measuredSingle, kMostFalseOfFew) && isRight(measuredFive, kMostFalseOfFew) &&
               std::max(turns.falseVerdicts, turns.falseInTheEnd) <= kMostFalse * turns.pairs &&
               turns.found >= kLeastFound * turns.pairs;
    }

    void print() const
    {
        print("drawn", single);
        print("drawn", five);
        print("measured", measuredSingle);
        print("measured", measuredFive);
        std::printf(
            "  in turn, 5 runs:            of %5d pairs %4d false, %4d with the repeats that are asked for; "
            "half as long again found in %.1f %%, in %.1f %% with these repeats (%.1f on average)\n",
            turns.pairs, turns.falseVerdicts, turns.falseInTheEnd, 100.0 * turns.foundAtOnce / turns.pairs,
            100.0 * turns.found / turns.pairs, turns.repeats);
    }

    static void print(const char* how, const bench::SequentialEvaluation& e)
    {
        std::printf(
            "  commands of %d run%s, %-9s of %5d pairs %4d false, gate of 3 %% exceeded %4d; three times "
            "as long found in %5.1f %%, a third in %5.1f %%\n",
            e.repeats, e.repeats == 1 ? "" : "s", how, e.pairs, e.falseVerdicts, e.falseGates,
            100.0 * e.found / e.pairs, 100.0 * e.foundFaster / e.pairs);
    }

    std::string json() const
    {
        const auto commands = [](const bench::SequentialEvaluation& e) {
            return fmt::format(
                R"({{"pairs": {}, "repeats": {}, "false": {}, "false_gates": {}, "three_times_found": {}, )"
                R"("a_third_found": {}}})",
                e.pairs, e.repeats, e.falseVerdicts, e.falseGates, e.found, e.foundFaster);
        };
        return fmt::format(R"({{"single": {}, "five": {}, "measured_single": {}, "measured_five": {}, )"
                           R"("in_turn": {{"pairs": {}, "false": {}, "false_in_the_end": {}, )"
                           R"("half_as_long_again_found_at_once": {}, "half_as_long_again_found": {}, )"
                           R"("given_up": {}, "mean_repeats": {:.2f}}}}})",
                           commands(single), commands(five), commands(measuredSingle), commands(measuredFive),
                           turns.pairs, turns.falseVerdicts, turns.falseInTheEnd, turns.foundAtOnce,
                           turns.found, turns.gaveUp, turns.repeats);
    }
};

/// Runs of a quiet host in turn, where B takes a tenth longer: five of each, and as many as `compare --measure` takes of
/// short runs.
struct QuietTurns {
    static constexpr int kPairs = 1000;
    static constexpr double kLeastFound = 0.8;
    static constexpr double kMostFalse = 0.055;

    bench::TurnsEvaluation five;
    bench::TurnsEvaluation usual;
    int repeats = 5; ///< that `compare --measure` takes

    explicit QuietTurns(const bench::Recording& recording) : repeats(bench::usualRepeats(recording))
    {
        five = bench::evaluateTurns(recording, {.pairs = kPairs, .factor = 1.1});
        usual = bench::evaluateTurns(recording, {.pairs = kPairs, .repeats = repeats, .factor = 1.1});
    }

    bool isGood() const
    {
        return usual.foundAtOnce >= kLeastFound * usual.pairs &&
               std::max(five.falseInTheEnd, usual.falseInTheEnd) <= kMostFalse * kPairs;
    }

    void print() const
    {
        std::printf("  in turn: a tenth longer found in %.1f %% with 5 runs of each, in %.1f %% with the %d "
                    "that compare "
                    "--measure takes; equal runs called different in %.1f and %.1f %% with the repeats that "
                    "are asked "
                    "for\n",
                    100.0 * five.foundAtOnce / kPairs, 100.0 * usual.foundAtOnce / kPairs, repeats,
                    100.0 * five.falseInTheEnd / kPairs, 100.0 * usual.falseInTheEnd / kPairs);
    }

    std::string json() const
    {
        return fmt::format(
            R"({{"pairs": {}, "five_found": {}, "five_false_in_the_end": {}, "usual_repeats": {}, "usual_found": {}, )"
            R"("usual_false_in_the_end": {}}})",
            kPairs, five.foundAtOnce, five.falseInTheEnd, repeats, usual.foundAtOnce, usual.falseInTheEnd);
    }
};

/// How often the 95 % interval of a run's median covers it, for steps that follow an autoregressive process.
class CorrelatedSteps {
public:
    explicit CorrelatedSteps(int trials)
    {
        for (const int steps : {30, 100, 300, 1000})
            for (const double correlation : {0.0, 0.3, 0.6, 0.9})
                rows_.push_back(rowOf(steps, correlation, trials));
    }

    bool isGood() const { return std::ranges::all_of(rows_, &Row::isGood); }

    void print() const
    {
        std::printf("Intervals of one run, steps of an autoregressive process:\n");
        for (const Row& row : rows_)
            std::printf(
                "  %4d steps, correlation %.1f: %5.1f %% have an interval, of which %5.1f %% cover the "
                "median%s\n",
                row.steps, row.correlation, row.given, row.covered,
                row.steps < static_cast<int>(analysis::kFewestForCorrelation)
                    ? " (marked: holds if independent)"
                    : "");
    }

    std::string json() const
    {
        std::string list;
        for (const Row& row : rows_)
            list += fmt::format(R"({}{{"steps": {}, "correlation": {:.1f}, "given_of_100": {:.2f}, )"
                                R"("covered_of_100": {:.2f}}})",
                                list.empty() ? "" : ", ", row.steps, row.correlation, row.given, row.covered);
        return "[" + list + "]";
    }

private:
    struct Row {
        int steps = 0;
        double correlation = 0;
        double given = 0;   ///< of 100 runs
        double covered = 0; ///< of 100 intervals

        /// Whether the intervals hold what they say.
        bool isGood() const
        {
            const bool saysAll = steps >= static_cast<int>(analysis::kFewestForCorrelation);
            return !(saysAll || correlation == 0) || given == 0 || (covered >= 93 && covered <= 97.5);
        }
    };

    static Row rowOf(int steps, double correlation, int trials)
    {
        analysis::Random random(bench::Draws{}.seed);
        Row row{.steps = steps, .correlation = correlation};
        for (int trial = 0; trial < trials; ++trial) {
            std::vector<double> times;
            double value = random.normal();
            for (int i = 0; i < steps; ++i) {
                times.push_back(std::exp(0.3 * value)); // the median is 1
                value = correlation * value + std::sqrt(1 - correlation * correlation) * random.normal();
            }
            if (const auto interval = analysis::summarise(times)->ci95) {
                ++row.given;
                row.covered += interval->low <= 1 && 1 <= interval->high ? 1 : 0;
            }
        }
        row.covered *= 100 / std::max(1.0, row.given);
        row.given *= 100.0 / trials;
        return row;
    }

    std::vector<Row> rows_;
};

int evaluateAll(const std::vector<std::string>& files, int pairs)
{
    constexpr double kMostFalse = 10;
    constexpr double kMostFalseOfRecordings =
        15; // in 2 of 65 runs, the processors took twice as long for the same work
    constexpr double kLeastCovered = 95;
    // With five runs of each on a quiet host, drawn from the whole recording: they differ more than runs in turn.
    constexpr double kLeastFound = 70;
    constexpr double kMostInconclusive = 30;
    std::string json;
    std::vector<SmallSlowdown> slowdowns;
    bool good = true;
    for (const std::string& file : files) {
        const bench::Recording recording = bench::readRecording(file);
        std::printf("%s: %zu runs, %s\n", recording.setUp.c_str(), recording.runs.size(),
                    recording.about.c_str());
        const Evaluation single = bench::evaluate(recording, 1, Known::Nothing, {.pairs = pairs});
        const Evaluation known = bench::evaluate(recording, 1, Known::OtherRuns, {.pairs = pairs});
        const Evaluation five = bench::evaluate(recording, 5, Known::Nothing, {.pairs = pairs});
        print("one run of each", single);
        print("one, others known", known);
        print("five runs of each", five);
        for (const Evaluation* e : {&single, &known, &five})
            good = good &&
                   e->falseVerdicts.upperOf100 <=
                       (recording.setUp.starts_with("changing record") ? kMostFalseOfRecordings : kMostFalse);
        // Single runs are not taken in turn: their interval is wider.
        good = good && five.coverage.value_or(100) >= kLeastCovered;
        std::string changing = "null";
        if (recording.setUp.starts_with("changing")) {
            const ChangingLoad load(recording);
            load.print();
            good = good && load.isGood();
            changing = load.json();
        }
        std::string quiet = "null";
        if (recording.setUp.find("quiet") != std::string::npos) {
            const QuietTurns quietTurns(recording);
            quietTurns.print();
            good = good && quietTurns.isGood();
            quiet = quietTurns.json();
        }
        if (recording.setUp.ends_with("quiet"))
            good = good && five.found >= kLeastFound && five.inconclusive <= kMostInconclusive;
        slowdowns.push_back(SmallSlowdown::of(recording, pairs));
        json += fmt::format(
            R"({}{{"set_up": "{}", "runs": {}, "single": {}, "single_others_known": {}, )"
            R"("five": {}, "slower_by_3_percent": {}, "changing_load": {}, "quiet_in_turn": {}}})",
            json.empty() ? "" : ", ", recording.setUp, recording.runs.size(), evaluationJson(single),
            evaluationJson(known), evaluationJson(five), slowdowns.back().json(), changing, quiet);
    }
    std::printf("Equal runs called different, and a step that takes 3 %% longer found:\n");
    for (const SmallSlowdown& slowdown : slowdowns)
        slowdown.print();
    const CorrelatedSteps correlated(pairs);
    correlated.print();
    good = good && correlated.isGood();
    std::printf("{\"meets_every_bound\": %s, \"set_ups\": [%s], \"correlated_steps\": %s}\n",
                good ? "true" : "false", json.c_str(), correlated.json().c_str());
    return good ? 0 : 1;
}

int run(std::vector<std::string> arguments)
{
    if (arguments.size() >= 3 && arguments[0] == "extract")
        return extract(arguments[1], arguments[2], arguments.size() > 3 ? arguments[3] : "");
    int pairs = 2000;
    if (arguments.size() >= 2 && arguments[0] == "--pairs") {
        pairs = std::atoi(arguments[1].c_str());
        arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
    if (arguments.empty() || pairs < 4)
        throw Error{.what = "no recording is named", .where = "bench_compare"};
    return evaluateAll(arguments, pairs);
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run({argv + 1, argv + argc});
    } catch (const tilescope::Error& error) {
        std::fprintf(stderr, "bench_compare: %s\n", error.sentence().c_str());
        return error.exitCode();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_compare: %s\n", error.what());
        return 3;
    }
}
