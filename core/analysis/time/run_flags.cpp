#include "core/analysis/time/run_flags.h"

#include "core/analysis/stats/steady_state.h"
#include "core/base/quantity.h"
#include "core/model/ceilings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kFewestSteps = 8;
constexpr double kClockChange = 0.03;

template <class... Values> std::string format(const char* pattern, Values... values)
{
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(), pattern, values...);
    return text.data();
}

std::string timeText(double nanoseconds)
{
    return quantity::withUnit(nanoseconds, quantity::Unit::Nanoseconds);
}

/// `timed step 9 takes 65.2 ms`, `timed steps 7 to 8 take 220 ms`: the median of these steps.
std::string levelText(std::span<const double> timed, std::size_t begin, std::size_t end)
{
    const std::string time = timeText(median(timed.subspan(begin, end - begin)));
    if (end - begin == 1)
        return format("timed step %zu takes %s", begin, time.c_str());
    return format("timed steps %zu to %zu take %s", begin, end - 1, time.c_str());
}

void addSteadiness(std::vector<RunFlag>& flags, const RunConditions& run)
{
    std::vector<double> all = run.warmup;
    all.insert(all.end(), run.timed.begin(), run.timed.end());
    const SteadyState state = steadyState(all);
    const std::size_t warm = run.warmup.size();
    if (state.from <= warm)
        return;
    const std::size_t late = state.from - warm;
    // The level that ends when the settled one begins; its warm-up steps do not count.
    const auto before = std::find_if(state.levels.begin(), state.levels.end(),
                                     [&state](const Level& level) { return level.end == state.from; });
    const std::size_t begin = before == state.levels.end() ? 0 : std::max(before->begin, warm) - warm;
    const std::span<const double> timed = run.timed;
    const bool wasSlower = median(timed.subspan(begin, late - begin)) > median(timed.subspan(late));
    // Slow steps that end in the first half are warm-up; any other change is unsteadiness.
    if (state.reached && wasSlower && late <= timed.size() / 2)
        flags.push_back(
            {FlagKind::WarmUpTooShort, format("the first %zu timed %s to it: set warmup to %zu", late,
                                              late == 1 ? "step belongs" : "steps belong", state.from)});
    else
        flags.push_back({FlagKind::Unsteady, levelText(timed, begin, late) + ", " +
                                                 levelText(timed, late, timed.size()) +
                                                 " (medians, counted from 0)"});
}

bool isSteadyWithout(const Drift& drift, std::span<const double> timed)
{
    const double perStep = drift.change * median(timed) / static_cast<double>(timed.size() - 1);
    std::vector<double> level;
    for (std::size_t i = 0; i < timed.size(); ++i)
        level.push_back(timed[i] -
                        perStep * (static_cast<double>(i) - static_cast<double>(timed.size() - 1) / 2));
    const SteadyState state = steadyState(level);
    return state.reached && state.from == 0;
}

// A fitted line describes a small drift. A large drift is rarely linear: the change of its line may exceed the median.
RunFlag driftFlag(const Drift& drift, std::span<const double> timed)
{
    constexpr double kLarge = 0.5;
    const std::size_t quarter = timed.size() / 4;
    const double first = median(timed.first(quarter));
    const double last = median(timed.last(quarter));
    if (std::abs(drift.change) >= kLarge && first > 0 && last > 0)
        return {FlagKind::Drift,
                format("the last %zu of %zu timed steps take %s, %.1f times %s than the first %zu (%s)",
                       quarter, timed.size(), timeText(last).c_str(),
                       std::max(first, last) / std::min(first, last), last < first ? "faster" : "slower",
                       quarter, timeText(first).c_str())};
    return {FlagKind::Drift,
            format("%+.1f %% over the timed steps (99.9 %% interval %+.1f to %+.1f)", 100 * drift.change,
                   100 * drift.change999.low, 100 * drift.change999.high)};
}

} // namespace

std::vector<RunFlag> flagsOf(const RunConditions& run)
{
    std::vector<RunFlag> flags;
    if (run.timed.size() >= kFewestSteps) {
        const auto drift = driftOf(run.timed);
        const bool drifts = drift && drift->seen();
        addSteadiness(flags, run);
        // A slow rise can look like a sequence of levels, and a change of level like a rise. If the times
        // without the slope are steady, the run drifted; otherwise its level changed. Only one of the two is
        // reported.
        if (drifts && (flags.empty() || isSteadyWithout(*drift, run.timed)))
            flags = {driftFlag(*drift, run.timed)};
    }
    if (!run.slowdowns.empty()) {
        std::string reasons;
        for (const std::string& reason : run.slowdowns)
            reasons += (reasons.empty() ? "" : ", ") + reason;
        flags.push_back({FlagKind::Throttled, reasons});
    }
    if (run.clockBefore && run.clockAfter && *run.clockBefore > 0 &&
        std::abs(*run.clockAfter / *run.clockBefore - 1) >= kClockChange)
        flags.push_back({FlagKind::ClockChanged, format("SM clock %.0f to %.0f MHz during the timed steps",
                                                        *run.clockBefore, *run.clockAfter)});
    if (run.waiting && *run.waiting >= kBusyHostShare)
        flags.push_back(
            {FlagKind::BusyHost,
             format("a thread waited for a core for %.1f %% of the timed steps", 100 * *run.waiting)});
    else if (run.stolen && *run.stolen >= kBusyHostShare)
        flags.push_back({FlagKind::BusyHost,
                         format("the hypervisor gave %.1f %% of the machine to others", 100 * *run.stolen)});
    return flags;
}

} // namespace tilescope::analysis
