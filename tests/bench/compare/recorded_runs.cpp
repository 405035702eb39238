#include "tests/bench/compare/recorded_runs.h"

#include "core/analysis/compare/gate.h"
#include "core/analysis/stats/random.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <ostream>
#include <set>
#include <stdexcept>

namespace tilescope::bench {

namespace {

using Json = nlohmann::ordered_json;
using analysis::GroupTimes;
using analysis::GroupVerdict;
using analysis::Random;
using analysis::TimedRun;
using analysis::Verdict;

double rounded(double value)
{
    return std::round(value * 1e5) / 1e5;
}

/// Indexes of the runs of both sides, each run at most once.
struct Draw {
    std::vector<std::size_t> a;
    std::vector<std::size_t> b;
};

/// The runs of a side with the times of a measurement in turn: A B, B A, …
std::vector<TimedRun> inTurn(std::vector<TimedRun> runs, int side)
{
    for (std::size_t i = 0; i < runs.size(); ++i)
        runs[i].started = static_cast<std::int64_t>(2 * i) + 1 + ((side == 1) != (i % 2 == 1) ? 1 : 0);
    return runs;
}

/// Draws from `pool`, which may hold a run more than once.
Draw drawFrom(const std::vector<std::size_t>& pool, int repeats, Random& random)
{
    std::set<std::size_t> taken;
    const auto next = [&] {
        for (;;)
            if (const std::size_t run = pool[random.below(pool.size())]; taken.insert(run).second)
                return run;
    };
    Draw draw;
    for (int i = 0; i < repeats; ++i) {
        draw.a.push_back(next());
        draw.b.push_back(next());
    }
    return draw;
}

/// The verdicts on one pair.
struct Said {
    Verdict alike = Verdict::Inconclusive;
    Verdict slowed = Verdict::Inconclusive;
    bool hasInterval = false;
    bool covers = false;
    int groupsTested = 0;
    int groupsFalse = 0;
};

class Judge {
public:
    Judge(const Recording& recording, Known known, double slowdown)
        : recording_(recording), known_(known), slowdown_(slowdown)
    {
    }

    /// The verdicts on a pair, and on the same with B slowed.
    Said ofBoth(const Draw& draw) const
    {
        Said said = of(draw, true);
        said.slowed = compared(draw, slowdown_).verdict;
        return said;
    }

    Said of(const Draw& draw, bool withGroups) const
    {
        const analysis::TimeDifference alike = compared(draw, 1);
        Said said{.alike = alike.verdict};
        if (alike.ratio95) {
            said.hasInterval = true;
            said.covers = alike.ratio95->low <= 1 && alike.ratio95->high >= 1;
        }
        if (!withGroups)
            return said;
        for (const auto& group : analysis::compareGroups(groupsOf(draw.a), groupsOf(draw.b), alike.between)) {
            said.groupsTested += group.p.has_value();
            said.groupsFalse +=
                group.verdict == GroupVerdict::Slower || group.verdict == GroupVerdict::Faster;
        }
        return said;
    }

private:
    analysis::TimeDifference compared(const Draw& draw, double factor) const
    {
        analysis::KnownDeviation known;
        if (known_ == Known::OtherRuns)
            known.repeats.push_back(othersThan(draw));
        return *analysis::compareRuns(inTurn(stepsOf(draw.a, 1), 0), inTurn(stepsOf(draw.b, factor), 1),
                                      known);
    }
    std::vector<TimedRun> stepsOf(const std::vector<std::size_t>& runs, double factor) const
    {
        std::vector<TimedRun> steps;
        for (const std::size_t run : runs) {
            steps.push_back(recording_.runs[run].step);
            for (double& time : steps.back().times)
                time *= factor;
        }
        return steps;
    }
    std::vector<double> othersThan(const Draw& draw) const
    {
        std::vector<double> medians;
        for (std::size_t run = 0; run < recording_.runs.size(); ++run)
            if (std::ranges::find(draw.a, run) == draw.a.end() &&
                std::ranges::find(draw.b, run) == draw.b.end())
                medians.push_back(analysis::median(recording_.runs[run].step.times));
        return medians;
    }
    std::vector<GroupTimes> groupsOf(const std::vector<std::size_t>& runs) const
    {
        std::vector<GroupTimes> groups = recording_.runs[runs.front()].groups;
        for (std::size_t i = 1; i < runs.size(); ++i)
            for (std::size_t g = 0; g < groups.size(); ++g)
                groups[g].runs.push_back(recording_.runs[runs[i]].groups[g].runs.front());
        return groups;
    }

    const Recording& recording_;
    Known known_;
    double slowdown_;
};

/// Shares of the verdicts on the draws, in per cent.
struct Shares {
    double falseVerdicts = 0;
    double inconclusive = 0;
    double falseGroups = 0;
    double falseTables = 0;
};

Shares sharesOf(const std::vector<Said>& all)
{
    double tested = 0;
    Shares shares;
    for (const Said& said : all) {
        shares.falseVerdicts += said.alike == Verdict::Faster || said.alike == Verdict::Slower;
        shares.inconclusive += said.alike == Verdict::Inconclusive;
        shares.falseGroups += said.groupsFalse;
        shares.falseTables += said.groupsFalse > 0;
        tested += said.groupsTested;
    }
    const double each = 100.0 / static_cast<double>(all.size());
    shares.falseVerdicts *= each;
    shares.inconclusive *= each;
    shares.falseTables *= each;
    shares.falseGroups *= tested > 0 ? 100 / tested : 0;
    return shares;
}

double upperOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return analysis::quantile(values, 0.95);
}

} // namespace

Recording readRecording(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    const Json json = Json::parse(stream, nullptr, false);
    if (!json.is_object() || !json.contains("runs"))
        throw std::runtime_error(file.string() + " is no recording");
    Recording recording{
        .setUp = json.at("set_up"), .about = json.at("about"), .threads = json.value("threads", 0)};
    for (const Json& run : json.at("runs")) {
        RecordedRun& recorded = recording.runs.emplace_back();
        recorded.step.times = run.at("steps_ms").get<std::vector<double>>();
        recorded.step.disturbed = run.at("disturbed");
        recorded.step.threads = recording.threads;
        if (const auto waiting = run.find("waiting"); waiting != run.end() && waiting->is_number())
            recorded.step.waiting = waiting->get<double>();
        if (const auto waiting = run.find("some_waiting"); waiting != run.end() && waiting->is_number())
            recorded.step.someWaiting = waiting->get<double>();
        for (std::size_t i = 0; i < json.at("groups").size(); ++i)
            recorded.groups.push_back({.key = json.at("groups")[i],
                                       .runs = {run.at("groups_us")[i].get<std::vector<double>>()},
                                       .instancesPerStep = 1});
    }
    return recording;
}

void writeRecording(std::ostream& out, const Recording& recording)
{
    Json groups = Json::array();
    for (const GroupTimes& group : recording.runs.front().groups)
        groups.push_back(group.key);
    out << "{\"set_up\": " << Json(recording.setUp) << ",\n \"about\": " << Json(recording.about)
        << ",\n \"threads\": " << recording.threads << ",\n \"groups\": " << groups << ",\n \"runs\": [";
    for (std::size_t i = 0; i < recording.runs.size(); ++i) {
        const RecordedRun& run = recording.runs[i];
        Json steps = Json::array();
        for (const double time : run.step.times)
            steps.push_back(rounded(time));
        Json times = Json::array();
        for (const GroupTimes& group : run.groups) {
            Json values = Json::array();
            for (const double time : group.runs.front())
                values.push_back(std::round(time) / 1e3);
            times.push_back(values);
        }
        out << (i ? ",\n" : "\n") << "  {\"disturbed\": " << (run.step.disturbed ? "true" : "false");
        if (run.step.waiting)
            out << ", \"waiting\": " << Json(rounded(*run.step.waiting));
        if (run.step.someWaiting)
            out << ", \"some_waiting\": " << Json(rounded(*run.step.someWaiting));
        out << ", \"steps_ms\": " << steps << ", \"groups_us\": " << times << "}";
    }
    out << "\n ]}\n";
}

Evaluation evaluate(const Recording& recording, int repeats, Known known, const Draws& draws)
{
    constexpr int kGroupsOfEvery = 8; // pair of a resample: they take longest
    const Judge judge(recording, known, draws.slowdown);
    Random random(draws.seed);
    std::vector<std::size_t> all(recording.runs.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = i;
    std::vector<Said> said;
    for (int pair = 0; pair < draws.pairs; ++pair)
        said.push_back(judge.ofBoth(drawFrom(all, repeats, random)));
    std::vector<double> falseVerdicts;
    std::vector<double> inconclusive;
    std::vector<double> falseGroups;
    std::vector<double> falseTables;
    for (int resample = 0; resample < draws.resamples; ++resample) {
        std::vector<std::size_t> pool;
        while (std::set<std::size_t>(pool.begin(), pool.end()).size() <
               2 * static_cast<std::size_t>(repeats)) {
            pool.clear();
            for (std::size_t i = 0; i < all.size(); ++i)
                pool.push_back(random.below(all.size()));
        }
        std::vector<Said> again;
        for (int pair = 0; pair < draws.pairs / 2; ++pair)
            again.push_back(judge.of(drawFrom(pool, repeats, random), pair % kGroupsOfEvery == 0));
        const Shares shares = sharesOf(again);
        falseVerdicts.push_back(shares.falseVerdicts);
        inconclusive.push_back(shares.inconclusive);
        falseGroups.push_back(shares.falseGroups);
        falseTables.push_back(kGroupsOfEvery * shares.falseTables);
    }
    const Shares shares = sharesOf(said);
    Evaluation evaluation{.pairs = draws.pairs,
                          .repeats = repeats,
                          .falseVerdicts = {shares.falseVerdicts, upperOf(falseVerdicts)},
                          .inconclusiveAlike = {shares.inconclusive, upperOf(inconclusive)},
                          .falseGroups = {shares.falseGroups, upperOf(falseGroups)},
                          .falseTables = {shares.falseTables, upperOf(falseTables)}};
    double intervals = 0;
    double covered = 0;
    for (const Said& one : said) {
        intervals += one.hasInterval;
        covered += one.covers;
        evaluation.found += one.slowed == Verdict::Slower;
        evaluation.inconclusive += one.slowed == Verdict::Inconclusive;
    }
    if (intervals > 0)
        evaluation.coverage = 100 * covered / intervals;
    evaluation.found *= 100.0 / draws.pairs;
    evaluation.inconclusive *= 100.0 / draws.pairs;
    return evaluation;
}

namespace {

/// Runs of a recording from `from` on, with their times multiplied.
std::vector<TimedRun> stretch(const Recording& recording, std::size_t from, std::size_t count, double factor)
{
    std::vector<TimedRun> runs;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t run = from + i;
        runs.push_back(recording.runs[run].step);
        runs.back().started = static_cast<std::int64_t>(run + 1);
        for (double& time : runs.back().times)
            time *= factor;
    }
    return runs;
}

bool isDifferent(Verdict verdict)
{
    return verdict == Verdict::Slower || verdict == Verdict::Faster;
}

/// Two neighbouring runs, one of each side.
struct NeighbouringRuns {
    std::size_t first = 0;
    bool isFirstB = false;
};

/// Both sides of pairs that were taken in turn.
analysis::TimeDifference takenInTurn(const Recording& recording, const std::vector<NeighbouringRuns>& pairs,
                                     double factor)
{
    std::vector<TimedRun> a;
    std::vector<TimedRun> b;
    for (std::size_t i = 0; i < 2 * pairs.size(); ++i) {
        const NeighbouringRuns& pair = pairs[i / 2];
        const bool isB = (i % 2 == 0) == pair.isFirstB;
        TimedRun run = stretch(recording, pair.first + i % 2, 1, isB ? factor : 1).front();
        run.started = static_cast<std::int64_t>(i + 1);
        (isB ? b : a).push_back(std::move(run));
    }
    return *analysis::compareRuns(a, b);
}

/// Pairs one after the other, or, if there are not so many, from anywhere. Which run of a pair is of which side is drawn,
/// so that draws from a short recording differ.
std::vector<NeighbouringRuns> drawPairs(const Recording& recording, std::size_t count, Random& random)
{
    const std::size_t size = recording.runs.size();
    std::vector<NeighbouringRuns> pairs;
    const bool areEnough = 2 * count <= size;
    const std::size_t from = areEnough ? random.below(size - 2 * count + 1) : 0;
    for (std::size_t pair = 0; pair < count; ++pair)
        pairs.push_back({.first = areEnough ? from + 2 * pair : random.below(size - 1),
                         .isFirstB = random.below(2) == 1});
    return pairs;
}

} // namespace

namespace {

/// Adds the verdicts on two commands of `count` runs that began with these.
void judgeCommands(const Recording& recording, std::size_t first, std::size_t second, std::size_t count,
                   SequentialEvaluation& evaluation)
{
    constexpr double kFactor = 3;
    const auto compared = [&](double factorA, double factorB) {
        return *analysis::compareRuns(stretch(recording, first, count, factorA),
                                      stretch(recording, second, count, factorB));
    };
    const analysis::TimeDifference alike = compared(1, 1);
    ++evaluation.pairs;
    evaluation.falseVerdicts += isDifferent(alike.verdict);
    evaluation.falseGates += analysis::gateOf(&alike, 0.03).outcome == analysis::GateOutcome::Exceeded;
    evaluation.found += compared(1, kFactor).verdict == Verdict::Slower;
    evaluation.foundFaster += compared(kFactor, 1).verdict == Verdict::Faster;
}

} // namespace

SequentialEvaluation evaluateCommands(const Recording& recording, int repeats, int pairs, std::uint64_t seed)
{
    constexpr std::size_t kFarthest = 50;
    const auto count = static_cast<std::size_t>(repeats);
    Random random(seed);
    SequentialEvaluation evaluation{.repeats = repeats};
    for (int pair = 0; pair < pairs; ++pair) {
        const std::size_t first = random.below(recording.runs.size() - 2 * count + 1);
        const std::size_t most = std::min(kFarthest, recording.runs.size() - first - 2 * count);
        judgeCommands(recording, first, first + count + random.below(most + 1), count, evaluation);
    }
    return evaluation;
}

SequentialEvaluation measuredCommands(const Recording& recording, int repeats)
{
    const auto count = static_cast<std::size_t>(repeats);
    SequentialEvaluation evaluation{.repeats = repeats};
    for (std::size_t first = 0; first + 2 * count <= recording.runs.size(); first += 2 * count)
        judgeCommands(recording, first, first + count, count, evaluation);
    return evaluation;
}

int usualRepeats(const Recording& recording)
{
    constexpr double kEnoughMs = 1500;
    double sum = 0;
    for (const RecordedRun& run : recording.runs)
        sum = std::accumulate(run.step.times.begin(), run.step.times.end(), sum);
    const double wanted = std::ceil(kEnoughMs * static_cast<double>(recording.runs.size()) / sum);
    return static_cast<int>(std::clamp(wanted, 5.0, 20.0));
}

namespace {

/// The runs in turn that follow a comparison, with the repeats that it asks for until there is a verdict.
struct Repeated {
    analysis::TimeDifference last;
    std::size_t repeats = 0; ///< of each, at the last
};

Repeated repeatUntilDecided(const Recording& recording, analysis::TimeDifference first, std::size_t repeats,
                            double factor, Random& random)
{
    Repeated repeated{.last = first, .repeats = repeats};
    while (repeated.last.verdict == Verdict::Inconclusive) {
        const auto asked = repeated.last.repeatsNeeded();
        if (!asked)
            break;
        repeated.repeats = static_cast<std::size_t>(*asked);
        repeated.last = takenInTurn(recording, drawPairs(recording, repeated.repeats, random), factor);
    }
    return repeated;
}

} // namespace

TurnsEvaluation evaluateTurns(const Recording& recording, const Turns& turns)
{
    Random random(turns.seed);
    TurnsEvaluation evaluation{.pairs = turns.pairs};
    const auto repeats = static_cast<std::size_t>(turns.repeats);
    for (int pair = 0; pair < turns.pairs; ++pair) {
        const std::vector<NeighbouringRuns> pairs = drawPairs(recording, repeats, random);
        const analysis::TimeDifference alike = takenInTurn(recording, pairs, 1);
        evaluation.falseVerdicts += isDifferent(alike.verdict);
        evaluation.covered += alike.ratio95->low <= 1 && alike.ratio95->high >= 1;
        evaluation.falseInTheEnd +=
            isDifferent(repeatUntilDecided(recording, alike, repeats, 1, random).last.verdict);
        const analysis::TimeDifference slowed = takenInTurn(recording, pairs, turns.factor);
        evaluation.foundAtOnce += slowed.verdict == Verdict::Slower;
        const Repeated more = repeatUntilDecided(recording, slowed, repeats, turns.factor, random);
        evaluation.found += more.last.verdict == Verdict::Slower;
        evaluation.gaveUp += more.last.verdict == Verdict::Inconclusive;
        evaluation.repeats += static_cast<double>(more.repeats) / turns.pairs;
    }
    return evaluation;
}

} // namespace tilescope::bench
