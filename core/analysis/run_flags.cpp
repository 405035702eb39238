#include "core/analysis/run_flags.h"

#include "core/analysis/steady_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kFewestSteps = 8;
constexpr double kClockChange = 0.03;
constexpr double kBusy = 0.02;

template <class... Values> std::string format(const char* pattern, Values... values)
{
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(), pattern, values...);
    return text.data();
}

double milliseconds(double nanoseconds)
{
    return nanoseconds / 1e6;
}

void addSteadiness(std::vector<RunFlag>& flags, const RunConditions& run)
{
    std::vector<double> all = run.warmup;
    all.insert(all.end(), run.timed.begin(), run.timed.end());
    const SteadyState state = steadyState(all);
    const std::size_t warm = run.warmup.size();
    if (state.reached && state.from <= warm)
        return;
    const double settled = state.levels.back().median;
    if (!state.reached) {
        flags.push_back(
            {"unsteady", format("the last %zu of %zu timed steps take %.4g ms, those before %.4g ms",
                                all.size() - state.from, run.timed.size(), milliseconds(settled),
                                milliseconds(state.levels[state.levels.size() - 2].median))});
        return;
    }
    const std::size_t late = state.from - warm;
    const double first = state.levels.front().median;
    // Slow steps that end in the first half are a start; anything else is a change on the way.
    if (first > settled && late <= run.timed.size() / 2)
        flags.push_back(
            {"warm-up-too-short",
             format("the first %zu timed steps belong to it: set warmup to %zu", late, state.from)});
    else
        flags.push_back({"unsteady", format("from timed step %zu on a step takes %.4g ms instead of %.4g ms",
                                            late, milliseconds(settled),
                                            milliseconds(state.levels[state.levels.size() - 2].median))});
}

void addDrift(std::vector<RunFlag>& flags, const RunConditions& run)
{
    const auto drift = driftOf(run.timed);
    if (drift && drift->seen())
        flags.push_back(
            {"drift", format("%+.1f %% over the timed steps (99.9 %% interval %+.1f to %+.1f)",
                             100 * drift->change, 100 * drift->change999.low, 100 * drift->change999.high)});
}

} // namespace

std::vector<RunFlag> flagsOf(const RunConditions& run)
{
    std::vector<RunFlag> flags;
    if (run.timed.size() >= kFewestSteps) {
        addSteadiness(flags, run);
        // A level that changes drifts too: one of the two says enough.
        if (flags.empty())
            addDrift(flags, run);
    }
    if (!run.slowdowns.empty()) {
        std::string reasons;
        for (const std::string& reason : run.slowdowns)
            reasons += (reasons.empty() ? "" : ", ") + reason;
        flags.push_back({"throttled", reasons});
    }
    if (run.clockBefore && run.clockAfter && *run.clockBefore > 0 &&
        std::abs(*run.clockAfter / *run.clockBefore - 1) >= kClockChange)
        flags.push_back({"clock-changed", format("SM clock %.0f to %.0f MHz during the timed steps",
                                                 *run.clockBefore, *run.clockAfter)});
    if (run.waiting && *run.waiting >= kBusy)
        flags.push_back({"busy-host", format("a thread waited for a core for %.1f %% of the timed steps",
                                             100 * *run.waiting)});
    else if (run.stolen && *run.stolen >= kBusy)
        flags.push_back(
            {"busy-host", format("the hypervisor gave %.1f %% of the machine to others", 100 * *run.stolen)});
    return flags;
}

} // namespace tilescope::analysis
