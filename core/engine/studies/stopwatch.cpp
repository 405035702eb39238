#include "core/engine/studies/stopwatch.h"

#include "core/base/units.h"

#include <algorithm>
#include <chrono>

namespace tilescope::engine {

Stopwatch::Times Stopwatch::secondsPerCall(const std::function<void()>& work, int samples) const
{
    const double sampleSeconds = device_.isCuda() ? 0.05 : 0.02;
    // The first calls choose kernels and allocate workspaces. Doubles the number of calls until they fill a
    // sample.
    std::int64_t repeats = 1;
    double took = seconds(work, repeats);
    while ((took = seconds(work, repeats)) < sampleSeconds)
        repeats = std::max(repeats * 2, static_cast<std::int64_t>(static_cast<double>(repeats) *
                                                                  std::min(100.0, sampleSeconds / took)));
    Times times{.calls = repeats, .seconds = {}};
    for (int i = 0; i < samples; ++i)
        times.seconds.push_back(seconds(work, repeats) / static_cast<double>(repeats));
    return times;
}

double Stopwatch::seconds(const std::function<void()>& work, std::int64_t repeats) const
{
    device_.synchronize();
    const Timestamp start = TraceClock::now();
    for (std::int64_t i = 0; i < repeats; ++i)
        work();
    device_.synchronize();
    return std::chrono::duration<double>(TraceClock::now() - start).count();
}

} // namespace tilescope::engine
