#include "core/session/engine/engine_loop.h"

#include "core/analysis/kernels/sample_completion.h"
#include "core/analysis/stats/statistics.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/version.h"
#include "core/config/device_rules.h"
#include "core/config/schema.h"
#include "core/machine/machine.h"
#include "core/machine/torch_location.h"
#include "core/model/ceilings.h"
#include "core/model/environment_facts.h"
#include "core/model/flags.h"
#include "core/model/kernel_samples.h"
#include "core/model/text.h"
#include "core/session/engine/memory_labeller.h"
#include "core/session/engine/rank_clock.h"
#include "core/session/engine/rank_join.h"
#include "core/session/engine/recorder.h"
#include "core/session/engine/traced_counters.h"
#include "core/session/protocol/input_lines.h"
#include "core/session/protocol/maker.h"
#include "core/session/protocol/point_line.h"
#include "core/session/protocol/replay_line.h"
#include "core/session/protocol/run_header.h"
#include "core/session/protocol/timed_watch.h"
#include "core/session/protocol/timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace tilescope::session {

namespace {

using namespace std::chrono_literals;

constexpr int kCancelled = 130;
/// Maximum duration of a step after the supervisor is gone, so that an orphan does not occupy the device.
constexpr auto kOrphanGrace = 60s;
/// Maximum wait of rank 0, at the end of a point, for the others to store theirs; the supervisor kills it if
/// one of them died.
constexpr auto kRankGrace = 600s;
/// The same if rank 0 has given up on another rank, which may be unable to end.
constexpr auto kLostRankGrace = 10s;

/// Admits the first thousand events of a kind per point and a hundred per second after that: progress needs
/// only some samples, and the file contains all.
class EventThrottle {
public:
    bool admit()
    {
        const auto now = std::chrono::steady_clock::now();
        allowance_ =
            std::min(kBurst, allowance_ + kPerSecond * std::chrono::duration<double>(now - last_).count());
        last_ = now;
        if (allowance_ < 1)
            return false;
        allowance_ -= 1;
        return true;
    }

private:
    static constexpr double kBurst = 1000;
    static constexpr double kPerSecond = 100;
    double allowance_ = kBurst;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class LivePoint final : public PointObserver {
public:
    /// \param rankInfo             if other ranks run the point too; rank 0 holds its records until it joins theirs
    /// \param counterInterval  of readings in traced steps; 0: none
    LivePoint(RunId run, Recorder& recorder, EventStream& events, StringTable& strings,
              std::optional<int> gpu, const std::optional<RankInfo>& rankInfo,
              std::chrono::milliseconds counterInterval)
        : run_(run), recorder_(recorder), events_(events), watch_(gpu), memory_(strings),
          counters_(gpu, counterInterval)
    {
        if (rankInfo && rankInfo->rank == 0)
            join_.emplace(*rankInfo, strings);
    }

    void stateChanged(PointState state) override
    {
        state_ = state;
        recorder_.flush();
        watch_.state(state);
        counters_.state(state);
        events_(StateEvent{run_.value, std::string(wordOf(state))});
    }

    void countersRead(std::vector<CounterValue> counters) override
    {
        recorder_.counters(std::move(counters));
    }
    void kernelsSampled(KernelSamples&& samples) override { samples_ = std::move(samples); }
    void factsFound(std::vector<EnvironmentEntry> facts) override { recorder_.environment(std::move(facts)); }

    void sampleTaken(const Sample& sample) override
    {
        recorder_.sample(sample);
        watch_.sample(sample);
        if (sample.phase != Phase::Step)
            return;
        if (sample.kind == SampleKind::Measure)
            steps_.push_back(std::chrono::duration<double, std::milli>(sample.wall).count());
        if (throttle_.admit())
            events_(SampleEvent{run_.value, sample.step, sample.wall.count()});
    }

    /// Reported as an event, not stored.
    void memoryRead(const HeldMemory& reading) override
    {
        if (!memoryThrottle_.admit())
            return;
        const auto count = [](const std::optional<Bytes>& bytes) {
            return bytes ? std::optional(bytes->count) : std::nullopt;
        };
        events_(MemoryEvent{run_.value, reading.step, reading.allocated.count, count(reading.reserved),
                            count(reading.peakAllocated)});
    }

    void memoryLearnt(MemoryFacts&& facts) override { memory_.learn(std::move(facts)); }

    void consume(TraceBatch&& batch) override
    {
        memory_.label(batch);
        counters_.note(batch);
        if (join_)
            join_->hold(std::move(batch));
        else
            recorder_.consume(std::move(batch));
    }

    /// Null but for rank 0 of several.
    RankJoin* join() { return join_ ? &*join_ : nullptr; }

    /// Call after the last batch.
    void storeMemory() { recorder_.memory(memory_.facts()); }
    std::vector<std::string> memoryFlags() const { return memory_.flags(); }
    /// Call after the last batch and after the other ranks were joined.
    void storeCounters()
    {
        std::vector<CounterTrack> tracks = counters_.take();
        if (!tracks.empty())
            recorder_.environment(counters_.environment());
        if (join_)
            tracks = join_->withCounters(std::move(tracks));
        recorder_.counterTracks(tracks);
    }

    /// Call it after the other ranks were joined.
    void storeKernelSamples()
    {
        analysis::completeKernelSamples(samples_, {});
        if (join_)
            samples_ = join_->withKernelSamples(std::move(samples_));
        if (!samples_.empty())
            recorder_.kernelSamples(samples_);
    }

    /// Statistics of the timed steps so far, in ms; none before the first.
    std::optional<analysis::Statistics> steps() const { return analysis::summarise(steps_); }
    const TimedWatch& watch() const { return watch_; }
    /// None before the first.
    std::optional<PointState> state() const { return state_; }

private:
    RunId run_;
    std::optional<PointState> state_;
    Recorder& recorder_;
    EventStream& events_;
    std::vector<double> steps_;
    EventThrottle throttle_;
    EventThrottle memoryThrottle_;
    TimedWatch watch_;
    MemoryLabeller memory_;
    TracedCounters counters_;
    KernelSamples samples_;
    std::optional<RankJoin> join_;
};

/// The GPU's index in `cuda:1`; none for a CPU.
std::optional<int> gpuIndex(std::string_view device)
{
    constexpr std::string_view kPrefix = "cuda:";
    return device.starts_with(kPrefix) ? parseNumber<int>(device.substr(kPrefix.size())) : std::nullopt;
}

void addEntries(std::vector<EnvironmentEntry>& to, std::vector<EnvironmentEntry> from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// A flag that is not registered has no sentence for users.
void requireRegistered(const std::vector<std::string>& flags)
{
    for (const std::string& flag : flags)
        if (findFlag(flag) == nullptr)
            throw Error{.what = "the engine set the unknown flag '" + flag + "'", .kind = ErrorKind::Failure};
}

/// How long a thread waited for a CPU, as a share of the time. None for intervals so short that one scheduler time slice
/// is a large share.
std::optional<double> tellingWaiting(const machine::Conditions& from, const machine::Conditions& to)
{
    constexpr std::chrono::milliseconds kLongEnough{100};
    return to.at - from.at < kLongEnough ? std::nullopt : machine::waitingShare(from, to);
}

/// Adds how long a thread waited for a CPU while ceilings were measured.
void addHostWaiting(std::vector<Ceiling>& ceilings, const machine::Conditions& from,
                    const machine::Conditions& to)
{
    const auto waiting = tellingWaiting(from, to);
    const bool isTold = std::ranges::find(ceilings, kHostWaiting, &Ceiling::kind) != ceilings.end();
    if (!waiting || isTold)
        return;
    Ceiling ceiling;
    ceiling.kind = kHostWaiting;
    ceiling.value = 100 * *waiting;
    ceiling.unit = "%";
    ceiling.n = 1;
    ceilings.push_back(std::move(ceiling));
}

/// The bandwidth of the GPU's NVLinks, which is known rather than measured.
void addNvlink(std::vector<Ceiling>& ceilings, const std::vector<EnvironmentEntry>& about)
{
    const auto bandwidth = parseNumber<double>(factOf(about, "gpu.nvlink"));
    const bool isTold = std::ranges::find(ceilings, kNvlink, &Ceiling::kind) != ceilings.end();
    if (!bandwidth || isTold)
        return;
    Ceiling ceiling;
    ceiling.kind = kNvlink;
    ceiling.value = *bandwidth;
    ceiling.unit = "B/s";
    ceiling.n = 1;
    ceilings.push_back(std::move(ceiling));
}

class EngineLoop {
public:
    EngineLoop(const EngineOptions& options, StringTable& strings, Workbench& workbench, EventStream& events,
               std::stop_token stop)
        : options_(options), workbench_(workbench), events_(events), stop_(std::move(stop)),
          strings_(strings), recorder_(options.file, strings,
                                       {.onFailure = [this] { stopAll_.request_stop(); },
                                        .log =
                                            [this](const std::string& text) {
                                                events_(LogEvent{"info", text});
                                            }})
    {
    }

    int run(Makers makers);

private:
    bool runPoint(const PointLine& point, InputLines& input);
    void joinRanks(const ExperimentSpec& spec, RankJoin& join, RunResult& result, InputLines& input);
    std::optional<JoinLine> awaitJoin(std::chrono::seconds limit, InputLines& input);
    void measureCeilings(const DeviceRequest& request);
    void replay(const ReplayRequest& request);
    std::vector<EnvironmentEntry> environmentBefore(const ExperimentSpec& spec, const std::string& device);
    RunResult runGuarded(const PointLine& point, LivePoint& live);
    std::string stopReason() const;
    void tell(RunId run, const RunResult& result, const LivePoint& live, const RecordSummary& summary);
    void orphaned();

    const EngineOptions& options_;
    Workbench& workbench_;
    EventStream& events_;
    std::stop_token stop_;
    std::stop_source stopAll_; ///< stop was requested, the supervisor is gone, or the file failed
    std::atomic<bool> orphaned_ = false;
    std::optional<Timer> orphanWatch_;
    StringTable& strings_;
    Recorder recorder_;
};

int EngineLoop::run(Makers makers)
{
    const std::stop_callback forward(stop_, [this] { stopAll_.request_stop(); });
    InputLines input(options_.input, options_.output, [this] { orphaned(); });
    events_(HelloEvent{1, "tilescope-engine", version(), options_.file.string(), 0, std::move(makers)});
    bool canGoOn = true;
    while (canGoOn) {
        const std::optional<std::string> line = input.next(stopAll_.get_token());
        if (!line)
            break;
        if (const std::optional<DeviceRequest> device = parseCeilingsLine(*line))
            measureCeilings(*device);
        else if (const std::optional<ReplayRequest> request = parseReplayLine(*line))
            replay(*request);
        else
            canGoOn = runPoint(parsePointLine(*line), input);
    }
    recorder_.close();
    if (!canGoOn)
        return kRestartExit;
    return stopAll_.stop_requested() ? kCancelled : 0;
}

/// Runs on the input thread.
void EngineLoop::orphaned()
{
    orphaned_ = true;
    stopAll_.request_stop();
    orphanWatch_.emplace(kOrphanGrace, [] { std::_Exit(kCancelled); });
}

std::vector<EnvironmentEntry> EngineLoop::environmentBefore(const ExperimentSpec& spec,
                                                            const std::string& device)
{
    std::vector<EnvironmentEntry> entries{
        {"program", programBanner()},           {"build", buildDescription()},
        {"command_line", options_.commandLine}, {"seed", std::to_string(spec.seed)},
        {"spec", config::toJson(spec)},         {"device", device}};
    addEntries(entries, workbench_.environment());
    addEntries(entries, machine::hostEnvironment());
    if (const auto gpu = gpuIndex(device))
        addEntries(entries, machine::gpuEnvironment(*gpu, machine::Moment::Before));
    return entries;
}

RunResult EngineLoop::runGuarded(const PointLine& point, LivePoint& live)
{
    const ExperimentSpec& spec = point.spec;
    std::stop_source stopPoint;
    const std::stop_callback forward(stopAll_.get_token(), [&] { stopPoint.request_stop(); });
    std::atomic<bool> timedOut = false;
    const Timer timeout(std::chrono::duration<double>(spec.timeoutSeconds), [&] {
        timedOut = true;
        stopPoint.request_stop();
    });
    const auto began = std::chrono::steady_clock::now();
    RunResult result = workbench_.runPoint(spec, live, stopPoint.get_token(), point.rankInfo);
    if (result.duration.count() == 0)
        result.duration = std::chrono::steady_clock::now() - began;
    if (result.status == RunStatus::Cancelled && timedOut && !stopAll_.stop_requested()) {
        result.status = RunStatus::Error;
        result.reason = fmt::format("timed out after {:g} s; {}", spec.timeoutSeconds,
                                    live.state() == PointState::Compile
                                        ? "its model was being compiled, so run tilescope compile SPEC first"
                                        : "its steps so far are kept");
    } else if (result.status == RunStatus::Cancelled && result.reason.empty()) {
        result.reason = stopReason();
    }
    return result;
}

std::string EngineLoop::stopReason() const
{
    return orphaned_ ? "the program that started it was killed" : "stopped on request";
}

/// The value of an entry; empty if there is none.
std::string valueOf(const std::vector<EnvironmentEntry>& entries, std::string_view key)
{
    const auto found =
        std::ranges::find_if(entries, [key](const EnvironmentEntry& entry) { return entry.key == key; });
    return found == entries.end() ? std::string() : found->value;
}

void EngineLoop::measureCeilings(const DeviceRequest& request)
{
    const std::string device = workbench_.resolveDevice(request, 0);
    std::vector<EnvironmentEntry> about = machine::hostEnvironment();
    if (const auto gpu = gpuIndex(device))
        addEntries(about, machine::gpuEnvironment(*gpu, machine::Moment::Before));
    const bool isGpu = gpuIndex(device).has_value();
    const machine::Conditions before = machine::conditionsNow({});
    std::vector<Ceiling> ceilings = workbench_.measureCeilings(request);
    addHostWaiting(ceilings, before, machine::conditionsNow({}));
    addNvlink(ceilings, about);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (Ceiling& ceiling : ceilings) {
        ceiling.deviceName = valueOf(about, isGpu ? "gpu.name" : "cpu.model");
        ceiling.device = isGpu ? valueOf(about, "gpu.uuid") : "cpu:" + valueOf(about, "host");
        ceiling.measuredUnixNs = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
        ceiling.program = programBanner();
    }
    recorder_.ceilings(ceilings);
    events_(CeilingsEvent{device, static_cast<std::int64_t>(ceilings.size())});
}

void EngineLoop::replay(const ReplayRequest& request)
{
    const machine::Conditions before = machine::conditionsNow({});
    ReplayResult result = workbench_.replay(request);
    result.waiting = tellingWaiting(before, machine::conditionsNow({}));
    result.device = workbench_.resolveDevice(request.device, 0);
    std::vector<EnvironmentEntry> about = machine::hostEnvironment();
    const auto gpu = gpuIndex(result.device);
    if (gpu)
        addEntries(about, machine::gpuEnvironment(*gpu, machine::Moment::Before));
    result.deviceName = valueOf(about, gpu ? "gpu.name" : "cpu.model");
    events_(ReplayEvent{std::move(result)});
}

/// Adds what the other ranks recorded.
void EngineLoop::joinRanks(const ExperimentSpec& spec, RankJoin& join, RunResult& result, InputLines& input)
{
    const bool isLost = hasFlag(result.flags, FlagKind::RankLost);
    if (const auto others = awaitJoin(isLost ? kLostRankGrace : kRankGrace, input)) {
        std::vector<EnvironmentEntry> peaks = peaksOf(0, result);
        std::vector<std::vector<std::optional<double>>> losses;
        for (const JoinLine::Rank& rank : others->ranks) {
            const RunResult own = join.add(rank, result);
            addEntries(peaks, peaksOf(rank.rank, own));
            losses.push_back(own.losses);
        }
        combineLosses(result.losses, losses, spec);
        join.describeDevices(0, workbench_.environment());
        recorder_.environment(std::move(peaks));
        recorder_.topology(join.topology());
    } else if (result.status == RunStatus::Ok) {
        result.losses.clear(); // those of one rank's batch are not those of the step
        const bool isStopped = stopAll_.stop_requested();
        result.status = isStopped ? RunStatus::Cancelled : RunStatus::Error;
        result.reason = isStopped ? "stopped before the records of all ranks were joined"
                                  : "the other ranks did not end in time";
    }
    if (stopAll_.stop_requested())
        attributeLossToStop(result, stopReason());
    recorder_.consume(join.take());
}

/// None if it does not come in time or a stop is requested.
std::optional<JoinLine> EngineLoop::awaitJoin(std::chrono::seconds limit, InputLines& input)
{
    std::stop_source waiting;
    const std::stop_callback forward(stopAll_.get_token(), [&] { waiting.request_stop(); });
    const Timer timeout(limit, [&] { waiting.request_stop(); });
    const std::optional<std::string> line = input.next(waiting.get_token());
    return line ? parseJoinLine(*line) : std::nullopt;
}

/// \return false if this process can no longer use its device
bool EngineLoop::runPoint(const PointLine& point, InputLines& input)
{
    const std::string device =
        workbench_.resolveDevice(point.spec.device, point.rankInfo ? point.rankInfo->localRank : 0);
    const RunId run = recorder_.begin(runHeader(point.spec, point.index));
    events_(PointEvent{point.index, point.of, run.value, config::toJson(point.spec)});
    recorder_.environment(environmentBefore(point.spec, device));
    LivePoint live(run, recorder_, events_, strings_, gpuIndex(device), point.rankInfo,
                   options_.counterInterval);
    const RankClock clock(point.rankInfo);
    RunResult result;
    if (const auto why = config::whyDeviceCannot(point.spec, gpuIndex(device).has_value())) {
        result.status = RunStatus::Skipped;
        result.reason = *why;
        result.device = device;
    } else {
        result = runGuarded(point, live);
    }
    if (const auto gpu = gpuIndex(device))
        recorder_.environment(machine::gpuEnvironment(*gpu, machine::Moment::After));
    live.stateChanged(PointState::Store);
    std::ranges::move(live.watch().flags(), std::back_inserter(result.flags));
    std::ranges::move(live.memoryFlags(), std::back_inserter(result.flags));
    if (!isReleaseBuild())
        result.flags.push_back(flagText(FlagKind::DevelopmentBuild));
    // Last: of the other ranks' flags only those are added that this rank does not have.
    if (RankJoin* join = live.join())
        joinRanks(point.spec, *join, result, input);
    else if (const RunTopology itself = clock.topology(); !itself.empty())
        recorder_.topology(itself);
    live.storeMemory();
    live.storeCounters();
    live.storeKernelSamples();
    recorder_.environment(live.watch().environment());
    requireRegistered(result.flags);
    const RecordSummary summary = recorder_.end(result);
    tell(run, result, live, summary);
    // A process that lost its device cannot use it again; a new process runs the next point.
    return !hasFlag(result.flags, FlagKind::DeviceLost);
}

void EngineLoop::tell(RunId run, const RunResult& result, const LivePoint& live, const RecordSummary& summary)
{
    for (const RecordSummary::LossCount& loss : summary.losses)
        events_(LossEvent{run.value, loss.kind, loss.severity, loss.count});
    const std::optional<analysis::Statistics> steps = live.steps();
    const std::optional<analysis::ConfidenceInterval> interval =
        steps ? steps->ci95 : std::optional<analysis::ConfidenceInterval>();
    events_(ResultEvent{
        .run = run.value,
        .status = std::string(wordOf(result.status)),
        .reason = result.reason,
        .stepMs = steps ? std::optional(steps->median) : std::nullopt,
        .stepInterval = interval ? std::optional(std::array{interval->low, interval->high}) : std::nullopt,
        .steps = steps ? steps->n : 0,
        .peak = result.peakAllocated ? std::optional(result.peakAllocated->count) : std::nullopt,
        .records = summary.records,
        .flags = result.flags});
}

FatalEvent fatalOf(const Error& error)
{
    const char* kind = error.kind == ErrorKind::Usage         ? "usage"
                       : error.kind == ErrorKind::Environment ? "environment"
                                                              : "failure";
    return {kind, error.what, error.where, error.remedy};
}

/// The maker of each requested device.
/// \throws Error (Environment)  a device does not exist
Makers makersOf(const std::vector<DeviceRequest>& requests, Workbench& workbench)
{
    std::vector<EnvironmentEntry> environment = workbench.environment();
    addEntries(environment, machine::hostEnvironment());
    Makers makers;
    for (const DeviceRequest& request : requests)
        makers[toText(request)] = makerOf(workbench.resolveDevice(request, 0), environment);
    return makers;
}

} // namespace

int runEngine(const EngineOptions& options, StringTable& strings, Workbench& workbench, EventStream& events,
              std::stop_token stop)
{
    try {
        machine::requireLoadedTorch(); // before anything of it is used for a run
        Makers makers = makersOf(options.required, workbench);
        return EngineLoop(options, strings, workbench, events, std::move(stop)).run(std::move(makers));
    } catch (const Error& error) {
        events(fatalOf(error));
        return error.exitCode();
    } catch (...) {
        const Error error{.what = currentExceptionSentence(), .kind = ErrorKind::Failure};
        events(fatalOf(error));
        return error.exitCode();
    }
}

} // namespace tilescope::session
