#include "core/session/supervisor/supervisor.h"

#include "core/base/plural.h"
#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"
#include "core/session/protocol/event.h"
#include "core/session/protocol/point_line.h"
#include "core/session/supervisor/dead_run.h"
#include "core/session/supervisor/engine_keeper.h"
#include "core/session/supervisor/rank_group.h"

#include <fmt/format.h>

#include <optional>
#include <set>

namespace tilescope::session {

namespace {

constexpr int kDeathsThatEndASweep = 3;
/// Maximum number of log events per point that are passed on.
constexpr int kLogsOfAPoint = 1000;

/// The distinct devices that a sweep requests.
std::vector<std::string> devicesOf(const std::vector<SweepPoint>& points)
{
    std::set<std::string> devices;
    for (const SweepPoint& point : points)
        devices.insert(toText(point.spec.device));
    return {devices.begin(), devices.end()};
}

/// Runs the points of a sweep in an engine, one after the other, and reports each.
class Sweep {
public:
    Sweep(const std::vector<SweepPoint>& points, const SweepOptions& options,
          const std::function<void(const Event&)>& onEvent, std::stop_token stop)
        : points_(points), options_(options), onEvent_(onEvent), stop_(stop),
          engine_(options, devicesOf(points), std::move(stop), [this](Event&& e) { take(std::move(e)); })
    {
    }

    SweepOutcome run();

private:
    struct Current {
        const SweepPoint* point = nullptr;
        RunId run;
        bool announced = false; ///< its point event was passed on
        std::optional<ResultEvent> result;
        SteadyTime started{};
        int logs = 0;
    };

    bool ready(const SweepPoint& point);
    bool runPoint(const SweepPoint& point);
    void watch(RankGroup& group);
    void died();
    void finishEngine();
    void take(Event&& event);
    void takeInPoint(Event&& event);
    void report(const ResultEvent& result);

    const std::vector<SweepPoint>& points_;
    const SweepOptions& options_;
    const std::function<void(const Event&)>& onEvent_;
    const std::stop_token stop_;
    const WorkingCopy::Log log_ = [this](const std::string& text) { onEvent_(LogEvent{"info", text}); };

    EngineKeeper engine_;
    std::int64_t pointsOfEngine_ = 0;
    int deaths_ = 0; ///< number since the last finished point
    RunId lastRun_{0};
    Current current_;
    DoneEvent counts_;
    std::int64_t finished_ = 0;
};

SweepOutcome Sweep::run()
{
    const SteadyTime startedAt = SteadyTime::clock::now();
    std::vector<std::string> notices;
    bringHomeLeftCopy(options_.file, [&](const std::string& text) { notices.push_back(text); });
    lastRun_ = lastRunOf(options_.file);
    onEvent_(HelloEvent{1, "tilescope", version(), options_.file.string(),
                        static_cast<std::int64_t>(points_.size())});
    for (const std::string& text : notices)
        log_(text);
    std::int64_t notBegun = 0;
    for (const SweepPoint& point : points_) {
        if (stop_.stop_requested() || deaths_ >= kDeathsThatEndASweep)
            break;
        if (options_.afterPoint.stop_requested()) {
            notBegun = static_cast<std::int64_t>(points_.size()) - finished_;
            break;
        }
        current_ = {};
        current_.point = &point;
        bool began = false;
        while (!began && ready(point))
            began = runPoint(point);
        if (!began)
            break;
    }
    if (points_.empty())
        sealLeftOpen(options_.file, log_);
    finishEngine();
    if (deaths_ >= kDeathsThatEndASweep) {
        const std::int64_t left = static_cast<std::int64_t>(points_.size()) - finished_;
        onEvent_(LogEvent{"error", fmt::format("the engine died {} times in a row; {} {} not run", deaths_,
                                               left, plural(left, "point was", "points were"))});
    }
    counts_.seconds = std::chrono::duration<double>(SteadyTime::clock::now() - startedAt).count();
    onEvent_(counts_);
    const bool all = finished_ == static_cast<std::int64_t>(points_.size());
    return {counts_, counts_.cancelled > 0 || (stop_.stop_requested() && !all), notBegun};
}

/// Samples of kernels have lines only if the process watched from the start which modules it loads.
bool needsOwnProcess(const ExperimentSpec& spec)
{
    return spec.isolate == Isolation::Process || spec.inside;
}

/// Ensures that an engine waits for a point; false if the sweep should end.
bool Sweep::ready(const SweepPoint& point)
{
    if (engine_.present() && (engine_.ended() || (needsOwnProcess(point.spec) && pointsOfEngine_ > 0)))
        finishEngine();
    while (!stop_.stop_requested()) {
        if (engine_.present())
            return true;
        pointsOfEngine_ = 0;
        current_.started = SteadyTime::clock::now();
        if (engine_.start())
            return true;
        if (stop_.stop_requested())
            break;
        // It ended before its hello event without a reason; another attempt may succeed.
        ++deaths_;
        onEvent_(LogEvent{"warning", "the engine did not start: " + engine_.howItDied()});
        if (deaths_ >= kDeathsThatEndASweep) {
            died();
            break;
        }
        engine_.clear();
    }
    return false;
}

/// \return false if the engine ended before it began the point; a new one may succeed
bool Sweep::runPoint(const SweepPoint& point)
{
    current_.started = SteadyTime::clock::now();
    ++pointsOfEngine_;
    std::optional<RankGroup> group;
    if (hasRanks(point.spec)) {
        group.emplace(point, options_, stop_, onEvent_);
        group->send(point);
    }
    engine_.send(pointLine(
        {point.index, point.of, point.spec, group ? std::optional(group->rankInfo()) : std::nullopt}));
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(point.spec.timeoutSeconds));
    engine_.pumpUntil(
        [&] {
            if (group && !current_.result)
                watch(*group);
            return current_.result.has_value();
        },
        SteadyTime::clock::now() + timeout + options_.timeouts.pastTimeout,
        fmt::format("it timed out after {:g} s and did not end its step", point.spec.timeoutSeconds));
    if (current_.result) {
        deaths_ = 0;
        report(*current_.result);
        return true;
    }
    const bool diedIdle = pointsOfEngine_ > 1 && !engine_.wasKilled();
    if (!current_.run && (engine_.endedWith(kRestartExit) || engine_.stoppedAsTold() || diedIdle))
        return false;
    ++deaths_;
    died();
    return true;
}

/// A group of ranks ends with its first rank that dies.
void Sweep::watch(RankGroup& group)
{
    if (const auto died = group.poll())
        engine_.kill(*died);
    else if (const auto line = group.joinLine())
        engine_.send(*line);
}

/// Records the end of the current point, whose engine is gone, and reports it.
void Sweep::died()
{
    DeadRun death{.run = current_.run,
                  .point = current_.point->index,
                  .lastSeen = lastRun_,
                  .status = engine_.cancelled() ? RunStatus::Cancelled : RunStatus::Error,
                  .reason = engine_.howItDied(),
                  .duration = SteadyTime::clock::now() - current_.started};
    if (hasRanks(current_.point->spec) && !engine_.wasKilled())
        death.reason = "rank 0: " + death.reason;
    engine_.clear();
    const RunId run = recordDeath(options_.file, current_.point->spec, death, log_);
    if (!current_.announced)
        onEvent_(PointEvent{current_.point->index, current_.point->of, run.value,
                            config::toJson(current_.point->spec)});
    ResultEvent result;
    result.run = run.value;
    result.status = wordOf(death.status);
    result.reason = death.reason;
    report(result);
}

void Sweep::report(const ResultEvent& result)
{
    lastRun_.value = std::max(lastRun_.value, result.run);
    ++finished_;
    counts_.add(result.runStatus());
    onEvent_(result);
}

/// Lets the engine seal its file and end.
void Sweep::finishEngine()
{
    if (!engine_.present())
        return;
    const SweepPoint* next = current_.point;
    current_ = {};
    current_.point = next;
    if (const auto died = engine_.finish()) {
        onEvent_(LogEvent{"warning", "after its last point: " + *died});
        sealLeftOpen(options_.file, log_);
    }
}

void Sweep::take(Event&& event)
{
    if (std::holds_alternative<LogEvent>(event)) {
        if (++current_.logs <= kLogsOfAPoint)
            onEvent_(event);
    } else if (current_.point && !current_.result) {
        takeInPoint(std::move(event));
    }
}

/// Ignores events of other runs or out of order, which are errors of the engine.
void Sweep::takeInPoint(Event&& event)
{
    if (const auto* point = std::get_if<PointEvent>(&event)) {
        if (current_.announced || point->index != current_.point->index)
            return;
        current_.announced = true;
        current_.run = RunId{point->run};
        onEvent_(event);
        return;
    }
    const auto ofThisRun = [this](const auto& e) {
        if constexpr (requires { e.run; })
            return RunId{e.run} == current_.run;
        else
            return false;
    };
    if (!current_.announced || !std::visit(ofThisRun, event))
        return;
    if (auto* result = std::get_if<ResultEvent>(&event))
        current_.result = std::move(*result);
    else
        onEvent_(event);
}

} // namespace

std::vector<SweepPoint> numbered(std::vector<ExperimentSpec> specs)
{
    std::int64_t of = 0;
    int rounds = 0;
    for (const ExperimentSpec& spec : specs) {
        of += spec.repeat;
        rounds = std::max(rounds, spec.repeat);
    }
    std::vector<SweepPoint> points;
    points.reserve(static_cast<std::size_t>(of));
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < specs.size(); ++i)
            if (round < specs[i].repeat)
                points.push_back({.index = static_cast<std::int64_t>(points.size()),
                                  .of = of,
                                  .spec = specs[i],
                                  .point = static_cast<std::int64_t>(i),
                                  .repetition = round});
    return points;
}

int SweepOutcome::exitCode() const
{
    if (cancelled)
        return 130;
    return counts.error > 0 ? 3 : 0;
}

SweepOutcome runSweep(const std::vector<SweepPoint>& points, const SweepOptions& options,
                      const std::function<void(const Event&)>& onEvent, std::stop_token stop)
{
    return Sweep(points, options, onEvent, std::move(stop)).run();
}

} // namespace tilescope::session
