#include "core/query/compare/recorded_steps.h"

#include "core/analysis/compare/several_threads.h"
#include "core/analysis/time/busy_time.h"
#include "core/model/counter_track.h"
#include "core/model/thread_counter_names.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/steps/step_tables.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>

namespace tilescope::query {

namespace {

constexpr double kPercent = 100;

/// The mean of a counter of the host over steps, weighted by their length; none if it is not known in most of them.
std::optional<double> meanInSteps(const std::vector<CounterTrack>& tracks, std::string_view name,
                                  const std::vector<analysis::Interval>& steps)
{
    constexpr std::int64_t kFewFailed = 2; // the last readings of a process that ends
    constexpr double kMostFailed = 0.1;
    constexpr double kMostly = 0.9;
    const auto track = std::ranges::find_if(
        tracks, [&](const CounterTrack& each) { return !each.device && each.name == name; });
    if (track == tracks.end() || static_cast<double>(track->failed - kFewFailed) >
                                     kMostFailed * static_cast<double>(track->points.size()))
        return {};
    const auto nsOf = [](Timestamp from, Timestamp to) { return static_cast<double>((to - from).count()); };
    double sum = 0;
    double covered = 0;
    double all = 0;
    for (const analysis::Interval& step : steps) {
        all += nsOf(step.start, step.end);
        auto point = std::ranges::upper_bound(track->points, step.start, {}, &CounterPoint::time);
        if (point != track->points.begin())
            --point;
        for (; point != track->points.end() && point->time < step.end; ++point) {
            const auto next = std::next(point);
            const Timestamp until = next == track->points.end() ? track->end : next->time;
            const Timestamp from = std::max(point->time, step.start);
            const double length = std::max(0.0, nsOf(from, std::min(until, step.end)));
            sum += static_cast<double>(point->value) / kPartsOfCounterUnit * length;
            covered += length;
        }
    }
    return covered > 0 && covered >= kMostly * all ? std::optional(sum / covered) : std::nullopt;
}

} // namespace

RecordedSteps recordedStepTimes(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
{
    // The counters are read ten times a second.
    constexpr Nanoseconds kLongEnough{std::chrono::milliseconds(300)};
    constexpr double kNearlyAll = 0.9;
    std::map<std::int32_t, std::vector<double>> walls;
    std::vector<analysis::Interval> typical;
    Nanoseconds total{0};
    for (const StepRow& row : steps(reader, {.run = run, .topology = topology}).rows) {
        const analysis::Interval& wall = row.partition.wall;
        if (wall.length().count() <= 0 || !row.leftOut.empty())
            continue;
        walls[row.step].push_back(milliseconds(wall.length()));
        typical.push_back(wall);
        total += wall.length();
    }
    RecordedSteps recorded;
    for (const auto& [step, ofProcesses] : walls)
        recorded.walls.push_back(std::accumulate(ofProcesses.begin(), ofProcesses.end(), 0.0) /
                                 static_cast<double>(ofProcesses.size()));
    if (total < kLongEnough)
        return recorded;
    const std::vector<CounterTrack> tracks = reader.counterTracks(run);
    const auto waiting = meanInSteps(tracks, kWaitingCounter, typical);
    const auto ofAll = meanInSteps(tracks, kCpuUseCounter, typical);
    const auto ofOne = meanInSteps(tracks, kOneThreadCounter, typical);
    if (!waiting)
        return recorded;
    recorded.waiting = std::clamp(*waiting / kPercent, 0.0, 1.0);
    if (const auto some = meanInSteps(tracks, kSomeWaitingCounter, typical))
        recorded.someWaiting = std::clamp(*some / kPercent, 0.0, 1.0);
    if (reader.counts(run).deviceEvents == 0)
        recorded.threads = ofAll && ofOne && *ofOne >= kNearlyAll * *ofAll ? 1 : analysis::kSeveralThreads;
    return recorded;
}

} // namespace tilescope::query
