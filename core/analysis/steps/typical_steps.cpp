#include "core/analysis/steps/typical_steps.h"

#include "core/analysis/stats/statistics.h"
#include "core/analysis/stats/steady_state.h"

#include <algorithm>
#include <cmath>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kFewest = 8;          ///< for a steady state
constexpr std::size_t kMostOfFew = 3;       ///< that are left out of fewer steps
constexpr std::size_t kMostShare = 5;       ///< one in so many may be left out
constexpr double kOtherLevel = 1.1;         ///< ratio
constexpr double kLong = 1.5;               ///< times the others
constexpr double kLongBesideOne = 3;        ///< the same if only one step follows, or all later ones vary
constexpr double kShort = 0.5;              ///< times the others
constexpr double kDeviations = 6;           ///< an outlier is so many away from the median
constexpr double kNormalDeviation = 1.4826; ///< of a median absolute deviation

void chooseAmongFew(std::span<const double> walls, std::vector<bool>& isTypical)
{
    if (walls.size() < 2)
        return;
    const std::size_t candidates = std::min(kMostOfFew, walls.size() - 1);
    double longest = *std::max_element(walls.begin() + static_cast<std::ptrdiff_t>(candidates), walls.end());
    std::size_t typical = walls.size() - candidates;
    for (std::size_t i = candidates; i-- > 0;) {
        isTypical[i] = walls[i] < (typical == 1 ? kLongBesideOne : kLong) * longest;
        if (isTypical[i]) {
            longest = std::max(longest, walls[i]);
            ++typical;
        }
    }
}

/// Whether the steps recur at equal distances.
bool recur(std::span<const std::size_t> steps)
{
    if (steps.size() < 3)
        return false;
    for (std::size_t i = 2; i < steps.size(); ++i)
        if (steps[i] - steps[i - 1] != steps[1] - steps[0])
            return false;
    return true;
}

/// The steps that differ from the median of all those from `from` on, by the logarithm of their times.
std::vector<std::size_t> outliersOf(std::span<const double> walls, std::size_t from)
{
    std::vector<double> logs;
    for (const double wall : walls.subspan(from))
        logs.push_back(std::log(wall));
    const double middle = median(logs);
    std::vector<double> distances;
    for (const double each : logs)
        distances.push_back(std::abs(each - middle));
    const double spread = kDeviations * kNormalDeviation * median(distances);
    std::vector<std::size_t> outliers;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        const double distance = logs[i] - middle;
        if (distance > std::max(spread, std::log(kLong)) || -distance > std::max(spread, -std::log(kShort)))
            outliers.push_back(from + i);
    }
    return outliers;
}

} // namespace

TypicalSteps typicalSteps(std::span<const double> walls)
{
    TypicalSteps steps{.isTypical = std::vector<bool>(walls.size(), true)};
    if (walls.size() < kFewest) {
        chooseAmongFew(walls, steps.isTypical);
        return steps;
    }
    const SteadyState state = steadyState(walls);
    const std::size_t most = walls.size() / kMostShare;
    // Levels within a tenth of the last one belong to it.
    std::size_t settled = 0;
    for (const Level& level : state.levels)
        if (std::abs(std::log(level.median / state.levels.back().median)) > std::log(kOtherLevel))
            settled = level.end;
    std::size_t from = 0;
    if (settled <= most) {
        std::fill_n(steps.isTypical.begin(), settled, false);
        from = settled;
    } else if (settled < walls.size()) {
        steps.changesAt = settled;
        steps.before = median(walls.first(settled));
        steps.after = median(walls.subspan(settled));
    }
    // However much the later ones vary.
    while (from < std::min(kMostOfFew, most) &&
           walls[from] > kLongBesideOne * *std::ranges::max_element(walls.subspan(from + 1)))
        steps.isTypical[from++] = false;
    // A change of level makes its rarer level look like outliers.
    const std::vector<std::size_t> outliers = outliersOf(walls, from);
    if (from + outliers.size() <= most && !recur(outliers))
        for (const std::size_t each : outliers)
            steps.isTypical[each] = false;
    return steps;
}

} // namespace tilescope::analysis
