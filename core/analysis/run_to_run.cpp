#include "core/analysis/run_to_run.h"

#include <cmath>

namespace tilescope::analysis {

RunToRun learnRunToRun(std::span<const std::vector<double>> groups, const RunToRun& prior)
{
    double squares = prior.degrees * prior.deviation * prior.deviation;
    RunToRun learned{.degrees = prior.degrees};
    for (const std::vector<double>& group : groups) {
        if (group.size() < 2)
            continue;
        double mean = 0;
        for (const double value : group)
            mean += std::log(value) / static_cast<double>(group.size());
        for (const double value : group)
            squares += (std::log(value) - mean) * (std::log(value) - mean);
        learned.degrees += static_cast<double>(group.size() - 1);
        learned.runs += static_cast<std::int64_t>(group.size());
    }
    learned.deviation = std::sqrt(squares / learned.degrees);
    return learned;
}

} // namespace tilescope::analysis
