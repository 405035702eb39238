#include "core/analysis/compare/comparison.h"
#include "core/analysis/stats/statistics.h"
#include "core/analysis/stats/student_t.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace tilescope::analysis {

namespace {

constexpr double kDegreesOfGuess = 2;

/// Statistics of a group on one side.
struct GroupSide {
    double runs = 0;
    double mean = 0;     ///< mean of the runs' means
    double variance = 0; ///< variance of `mean`
    double degrees = 0;  ///< degrees of freedom of the variance; 0: unknown
    double spread = 0;   ///< deviation between the steps of a single run / its mean
};

double varianceOfMean(std::span<const double> values, double mean)
{
    const auto n = static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return squares / (n - 1) / n;
}

GroupSide sideOf(const GroupTimes& group)
{
    std::vector<double> means;
    for (const std::vector<double>& steps : group.runs)
        means.push_back(meanOf(steps));
    GroupSide side{.runs = static_cast<double>(means.size()), .mean = meanOf(means)};
    // Runs are the samples; for a single run its steps are.
    const std::vector<double>& values = means.size() == 1 ? group.runs.front() : means;
    if (values.size() < 2)
        return side;
    side.variance = varianceOfMean(values, side.mean);
    side.degrees = static_cast<double>(values.size() - 1);
    if (means.size() == 1 && side.mean > 0)
        side.spread = std::sqrt(side.variance * static_cast<double>(values.size())) / side.mean;
    return side;
}

/// The uncertainty of a difference of means.
struct Spread {
    double variance = 0;
    double degrees = 1e6;
};

/// The variance between runs, but at least the given deviation between runs. A single run shows only the
/// variance of its steps, which is added to that. Degrees of freedom by Satterthwaite's formula.
Spread spreadOf(const GroupSide& a, const GroupSide& b, const BetweenRuns& between)
{
    double deviation = between.deviation;
    double degrees = between.degrees;
    for (const GroupSide& side : {a, b}) {
        // Without repeats, the deviation of the step time is assumed to hold for a group.
        if (side.runs == 1)
            degrees = std::min(degrees, kDegreesOfGuess);
        deviation = std::max(deviation, side.spread);
    }
    Spread spread;
    double uncertainty = 0;
    double expected = 0; // deviation assumed for single runs, and the lower bound for repeats
    for (const GroupSide& side : {a, b}) {
        if (side.runs == 0)
            continue;
        const double share = deviation * deviation * side.mean * side.mean / side.runs;
        expected += share;
        const double variance = side.runs >= 2 ? std::max(side.variance, share) : side.variance + share;
        spread.variance += variance;
        if (side.runs >= 2 && side.variance >= share) {
            uncertainty += variance * variance / side.degrees;
            expected -= share;
        } else if (side.degrees > 0) {
            uncertainty += side.variance * side.variance / side.degrees;
        }
    }
    uncertainty += expected * expected / degrees;
    // Sides that were not taken in turn may be shifted against each other.
    double shifted = 0;
    for (const GroupSide& side : {a, b})
        shifted += side.runs > 0 ? std::pow(between.shift * side.mean, 2) : 0;
    spread.variance += shifted;
    uncertainty += shifted * shifted / between.shiftDegrees;
    if (uncertainty > 0)
        spread.degrees = std::min(1e6, spread.variance * spread.variance / uncertainty);
    return spread;
}

double welch(const GroupSide& a, const GroupSide& b, const Spread& spread)
{
    if (spread.variance <= 0)
        return a.mean == b.mean ? 1 : 0;
    return studentTwoSided((b.mean - a.mean) / std::sqrt(spread.variance), spread.degrees);
}

ConfidenceInterval intervalOf(double difference, const Spread& spread, double alpha)
{
    const double half =
        spread.variance > 0 ? studentCritical(alpha, spread.degrees) * std::sqrt(spread.variance) : 0;
    return {.low = difference - half, .high = difference + half};
}

bool sameCount(double a, double b)
{
    return std::abs(a - b) < 1e-9;
}

/// A group during its evaluation.
struct Candidate {
    GroupDifference difference = {};
    Spread spread = {};
    bool hasSpread = false;
};

Candidate matched(const GroupTimes* a, const GroupTimes* b, const BetweenRuns& between)
{
    Candidate candidate{.difference = {.key = a ? a->key : b->key}};
    GroupDifference& difference = candidate.difference;
    const GroupSide sideA = a ? sideOf(*a) : GroupSide{};
    const GroupSide sideB = b ? sideOf(*b) : GroupSide{};
    if (a) {
        difference.a = sideA.mean;
        difference.instancesA = a->instancesPerStep;
    }
    if (b) {
        difference.b = sideB.mean;
        difference.instancesB = b->instancesPerStep;
    }
    candidate.spread = spreadOf(sideA, sideB, between);
    candidate.hasSpread = (!a || sideA.degrees > 0) && (!b || sideB.degrees > 0);
    if (!a || !b) {
        difference.verdict = a ? GroupVerdict::Gone : GroupVerdict::New;
        return candidate;
    }
    if (sideA.mean > 0)
        difference.ratio = sideB.mean / sideA.mean;
    if (!sameCount(difference.instancesA, difference.instancesB))
        difference.verdict = GroupVerdict::Count;
    else if (candidate.hasSpread)
        difference.p = welch(sideA, sideB, candidate.spread);
    return candidate;
}

/// The verdict on a tested group that both sides have.
GroupVerdict testedVerdict(const GroupDifference& difference, bool isDiscovery)
{
    if (isDiscovery)
        return *difference.b > *difference.a ? GroupVerdict::Slower : GroupVerdict::Faster;
    const double least = kNoDifference * *difference.a;
    const ConfidenceInterval& interval = *difference.difference95;
    return interval.low >= -least && interval.high <= least ? GroupVerdict::NoDifference
                                                            : GroupVerdict::Inconclusive;
}

double changeOf(const GroupDifference& difference)
{
    return std::abs(difference.b.value_or(0) - difference.a.value_or(0));
}

} // namespace

std::string_view wordOf(GroupVerdict verdict)
{
    static constexpr std::array<std::string_view, 8> words{
        "inconclusive", "no-difference", "slower", "faster", "count", "new", "gone", "untested"};
    return words[static_cast<std::size_t>(verdict)];
}

std::vector<bool> discoveries(std::span<const double> pValues, double q)
{
    std::vector<std::size_t> order(pValues.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return pValues[a] < pValues[b]; });
    std::size_t accepted = 0;
    for (std::size_t rank = 1; rank <= order.size(); ++rank)
        if (pValues[order[rank - 1]] <= q * static_cast<double>(rank) / static_cast<double>(order.size()))
            accepted = rank;
    std::vector<bool> found(pValues.size());
    for (std::size_t rank = 0; rank < accepted; ++rank)
        found[order[rank]] = true;
    return found;
}

std::vector<GroupDifference> compareGroups(std::span<const GroupTimes> a, std::span<const GroupTimes> b,
                                           const BetweenRuns& between, double falseDiscovery)
{
    std::map<std::string_view, std::pair<const GroupTimes*, const GroupTimes*>> pairs;
    for (const GroupTimes& group : a)
        pairs[group.key].first = &group;
    for (const GroupTimes& group : b)
        pairs[group.key].second = &group;

    std::vector<Candidate> candidates;
    std::vector<double> pValues;
    for (const auto& [key, pair] : pairs) {
        candidates.push_back(matched(pair.first, pair.second, between));
        if (candidates.back().difference.p)
            pValues.push_back(*candidates.back().difference.p);
    }
    const std::vector<bool> found = discoveries(pValues, falseDiscovery);
    // The p-value below which a group is a discovery. Using it as the level of the intervals makes both
    // agree.
    const auto discovered = static_cast<double>(std::count(found.begin(), found.end(), true));
    const double alpha =
        pValues.empty() ? falseDiscovery
                        : falseDiscovery * std::max(1.0, discovered) / static_cast<double>(pValues.size());
    std::vector<GroupDifference> differences;
    std::size_t tested = 0;
    for (Candidate& candidate : candidates) {
        GroupDifference& difference = candidate.difference;
        if (candidate.hasSpread)
            difference.difference95 =
                intervalOf(difference.b.value_or(0) - difference.a.value_or(0), candidate.spread, alpha);
        if (difference.p)
            difference.verdict = testedVerdict(difference, found[tested++]);
        differences.push_back(std::move(difference));
    }
    std::stable_sort(
        differences.begin(), differences.end(),
        [](const GroupDifference& x, const GroupDifference& y) { return changeOf(x) > changeOf(y); });
    return differences;
}

} // namespace tilescope::analysis
