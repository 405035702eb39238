#include "core/analysis/comparison.h"
#include "core/analysis/student_t.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace tilescope::analysis {

namespace {

struct Moments {
    double n = 0;
    double mean = 0;
    double variance = 0; ///< of the mean
};

Moments momentsOf(std::span<const double> values)
{
    Moments moments{.n = static_cast<double>(values.size())};
    moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / moments.n;
    if (values.size() < 2)
        return moments;
    double squares = 0;
    for (const double value : values)
        squares += (value - moments.mean) * (value - moments.mean);
    moments.variance = squares / (moments.n - 1) / moments.n;
    return moments;
}

/// How well a difference of means is known: each mean has the run-to-run deviation besides that of its steps.
/// All are estimated, each with degrees of freedom of its own (Satterthwaite's formula).
struct Spread {
    double variance = 0;
    double degrees = 1e6;
};

Spread spreadOf(const Moments& a, const Moments& b, const RunToRun& runToRun)
{
    const double between = runToRun.deviation * runToRun.deviation * (a.mean * a.mean + b.mean * b.mean);
    Spread spread{.variance = between + a.variance + b.variance};
    double uncertainty = between * between / runToRun.degrees;
    for (const Moments& moments : {a, b})
        if (moments.n >= 2)
            uncertainty += moments.variance * moments.variance / (moments.n - 1);
    if (uncertainty > 0)
        spread.degrees = std::min(1e6, spread.variance * spread.variance / uncertainty);
    return spread;
}

/// Welch's test of equal means.
double welch(const Moments& a, const Moments& b, const Spread& spread)
{
    if (spread.variance <= 0)
        return a.mean == b.mean ? 1 : 0;
    return studentTwoSided((b.mean - a.mean) / std::sqrt(spread.variance), spread.degrees);
}

ConfidenceInterval intervalOf(double difference, const Spread& spread)
{
    const double half =
        spread.variance > 0 ? studentCritical(0.05, spread.degrees) * std::sqrt(spread.variance) : 0;
    return {.low = difference - half, .high = difference + half};
}

bool sameCount(double a, double b)
{
    return std::abs(a - b) < 1e-9;
}

GroupDifference matched(const GroupTimes* a, const GroupTimes* b, const RunToRun& runToRun)
{
    GroupDifference difference{.key = a ? a->key : b->key};
    Moments momentsA;
    Moments momentsB;
    if (a) {
        momentsA = momentsOf(a->perStep);
        difference.a = momentsA.mean;
        difference.instancesA = a->instancesPerStep;
    }
    if (b) {
        momentsB = momentsOf(b->perStep);
        difference.b = momentsB.mean;
        difference.instancesB = b->instancesPerStep;
    }
    const Spread spread = spreadOf(momentsA, momentsB, runToRun);
    if ((!a || momentsA.n >= 2) && (!b || momentsB.n >= 2))
        difference.difference95 = intervalOf(momentsB.mean - momentsA.mean, spread);
    if (!a || !b) {
        difference.verdict = a ? GroupVerdict::Gone : GroupVerdict::New;
        return difference;
    }
    if (momentsA.mean > 0)
        difference.ratio = momentsB.mean / momentsA.mean;
    if (!sameCount(difference.instancesA, difference.instancesB))
        difference.verdict = GroupVerdict::Count;
    else if (momentsA.n >= 2 && momentsB.n >= 2)
        difference.p = welch(momentsA, momentsB, spread);
    return difference;
}

double changeOf(const GroupDifference& difference)
{
    return std::abs(difference.b.value_or(0) - difference.a.value_or(0));
}

} // namespace

std::string_view wordOf(GroupVerdict verdict)
{
    static constexpr std::array<std::string_view, 7> words{"none", "slower", "faster",  "count",
                                                           "new",  "gone",   "untested"};
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
                                           const ComparisonOptions& options)
{
    std::map<std::string_view, std::pair<const GroupTimes*, const GroupTimes*>> pairs;
    for (const GroupTimes& group : a)
        pairs[group.key].first = &group;
    for (const GroupTimes& group : b)
        pairs[group.key].second = &group;

    std::vector<GroupDifference> differences;
    std::vector<std::size_t> tested;
    std::vector<double> pValues;
    for (const auto& [key, pair] : pairs) {
        differences.push_back(matched(pair.first, pair.second, options.runToRun));
        if (differences.back().p) {
            tested.push_back(differences.size() - 1);
            pValues.push_back(*differences.back().p);
        }
    }
    const std::vector<bool> found = discoveries(pValues, options.falseDiscovery);
    for (std::size_t i = 0; i < tested.size(); ++i) {
        GroupDifference& difference = differences[tested[i]];
        difference.verdict = !found[i]                       ? GroupVerdict::Same
                             : *difference.b > *difference.a ? GroupVerdict::Slower
                                                             : GroupVerdict::Faster;
    }
    std::stable_sort(
        differences.begin(), differences.end(),
        [](const GroupDifference& x, const GroupDifference& y) { return changeOf(x) > changeOf(y); });
    return differences;
}

} // namespace tilescope::analysis
