#include "core/session/supervisor.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/machine/torch_location.h"
#include "core/model/text.h"
#include "core/session/dead_run.h"
#include "core/session/engine_loop.h"
#include "core/session/engine_process.h"
#include "core/session/point_line.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

namespace tilescope::session {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr int kDeathsThatEndASweep = 3;
constexpr int kProtocolVersion = 1;
/// Log events of one point that are handed on; the rest of a flood is not.
constexpr int kLogsOfAPoint = 1000;
/// What the dynamic loader and the shell exit with where a program or its libraries are not there.
constexpr int kLoaderExit = 127;

SteadyTime now()
{
    return SteadyTime::clock::now();
}

/// Writing to an engine that has just died must not end this process. Blocks SIGPIPE in this thread and takes
/// what came in the meantime.
class WithoutSigpipe {
public:
    WithoutSigpipe()
    {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~WithoutSigpipe()
    {
        const timespec atOnce{};
        while (sigismember(&before_, SIGPIPE) == 0 && sigtimedwait(&pipe_, nullptr, &atOnce) > 0) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    WithoutSigpipe(const WithoutSigpipe&) = delete;
    WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

private:
    sigset_t pipe_{};
    sigset_t before_{};
};

/// A descriptor that poll() can wait for and any thread may ring.
class Bell {
public:
    Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    void ring() const
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(descriptor_.get(), &one, sizeof(one));
    }
    int descriptor() const { return descriptor_.get(); }
    void silence() const
    {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t length = read(descriptor_.get(), &count, sizeof(count));
    }

private:
    FileDescriptor descriptor_;
};

ErrorKind kindFromWord(const std::string& word)
{
    return word == "usage"         ? ErrorKind::Usage
           : word == "environment" ? ErrorKind::Environment
                                   : ErrorKind::Failure;
}

/// What became of the engine while it was waited for.
enum class Wait { Happened, Ended };

class Sweep {
public:
    Sweep(const std::vector<SweepPoint>& points, const SweepOptions& options,
          const std::function<void(const Event&)>& onEvent, std::stop_token stop)
        : points_(points), options_(options), onEvent_(onEvent), stop_(std::move(stop)),
          program_(options.engine.empty() ? siblingProgram("TILESCOPE_ENGINE", "tilescope-engine")
                                          : options.engine)
    {
    }

    SweepOutcome run();

private:
    struct Current {
        const SweepPoint* point = nullptr;
        RunId run;
        bool announced = false; ///< its point event was handed on
        std::optional<ResultEvent> result;
        std::string killedBecause; ///< why we killed the engine; empty where we did not
        SteadyTime started{};
        int logs = 0;
    };

    bool ready(const SweepPoint& point);
    void start();
    bool awaitHello();
    void failStart();
    bool loadOtherTorch();
    bool runPoint(const SweepPoint& point);
    void died();
    void finishEngine();
    Wait pumpUntil(const std::function<bool()>& happened, SteadyTime deadline,
                   const std::string& lateBecause);
    void stopWhereAsked();
    void take(Event&& event);
    void takeInPoint(Event&& event);
    void report(const ResultEvent& result);
    [[noreturn]] void throwFatal();
    std::string howItDied() const;
    bool endedWith(int code) const;
    bool stoppedAsTold() const;

    const std::vector<SweepPoint>& points_;
    const SweepOptions& options_;
    const std::function<void(const Event&)>& onEvent_;
    std::stop_token stop_;
    const fs::path program_;
    std::map<std::string, std::string> environment_;
    bool searchedTorch_ = false;

    WithoutSigpipe withoutSigpipe_;
    Bell bell_;
    std::unique_ptr<EngineProcess> engine_;
    bool hello_ = false;
    std::optional<FatalEvent> fatal_;
    bool toldToStop_ = false;
    SteadyTime killAt_ = SteadyTime::max();
    std::int64_t pointsOfEngine_ = 0;
    int deaths_ = 0; ///< since a point last finished
    RunId lastRun_{0};
    Current current_;
    DoneEvent counts_;
    std::int64_t finished_ = 0;
};

SweepOutcome Sweep::run()
{
    const SteadyTime startedAt = now();
    lastRun_ = lastRunOf(options_.file);
    if (const auto torch = machine::torchFromEnvironment())
        environment_["LD_LIBRARY_PATH"] = machine::libraryPathWith(*torch);
    onEvent_(HelloEvent{kProtocolVersion, "tilescope", version(), options_.file.string(),
                        static_cast<std::int64_t>(points_.size())});
    const std::stop_callback wake(stop_, [this] { bell_.ring(); });
    const std::stop_callback wakeAtOnce(options_.atOnce, [this] { bell_.ring(); });
    for (const SweepPoint& point : points_) {
        if (stop_.stop_requested() || deaths_ >= kDeathsThatEndASweep)
            break;
        current_ = {};
        current_.point = &point;
        bool began = false;
        while (!began && ready(point))
            began = runPoint(point);
        if (!began)
            break;
    }
    finishEngine();
    if (deaths_ >= kDeathsThatEndASweep)
        onEvent_(
            LogEvent{"error", fmt::format("the engine died {} times running; {} points were not run", deaths_,
                                          points_.size() - static_cast<std::size_t>(finished_))});
    counts_.seconds = std::chrono::duration<double>(now() - startedAt).count();
    onEvent_(counts_);
    const bool all = finished_ == static_cast<std::int64_t>(points_.size());
    return {counts_, counts_.cancelled > 0 || (stop_.stop_requested() && !all)};
}

/// An engine that waits for a point; false where the sweep is to end.
bool Sweep::ready(const SweepPoint& point)
{
    if (stop_.stop_requested())
        return false;
    if (engine_ && (engine_->ended() || (point.spec.isolate == Isolation::Process && pointsOfEngine_ > 0)))
        finishEngine();
    while (!engine_) {
        start();
        if (awaitHello())
            return true;
        if (stop_.stop_requested())
            return false;
        if (loadOtherTorch())
            continue;
        failStart();
        if (deaths_ >= kDeathsThatEndASweep) {
            died();
            return false;
        }
        engine_.reset();
    }
    return true;
}

void Sweep::start()
{
    std::vector<std::string> arguments{"--file", options_.file.string(), "--command", options_.commandLine};
    // What a sweep asks for outright is looked at before anything is stored.
    std::set<std::string> devices;
    for (const SweepPoint& point : points_)
        if (devices.insert(toText(point.spec.device)).second)
            arguments.insert(arguments.end(), {"--device", toText(point.spec.device)});
    hello_ = false;
    fatal_.reset();
    toldToStop_ = false;
    killAt_ = SteadyTime::max();
    pointsOfEngine_ = 0;
    current_.killedBecause.clear();
    engine_ = std::make_unique<EngineProcess>(program_, arguments, environment_);
}

bool Sweep::awaitHello()
{
    pumpUntil([this] { return hello_ || fatal_; }, now() + options_.patience.startUp,
              "it did not start in time");
    if (fatal_)
        throwFatal();
    return hello_;
}

/// True where the engine did not load for want of LibTorch and one was found elsewhere.
bool Sweep::loadOtherTorch()
{
    if (!endedWith(kLoaderExit))
        return false;
    const std::string words = engine_->lastWords();
    if (!searchedTorch_) {
        searchedTorch_ = true;
        if (const auto torch = machine::findTorch()) {
            environment_["LD_LIBRARY_PATH"] = machine::libraryPathWith(*torch);
            engine_.reset();
            return true;
        }
    }
    throw Error{.what = "the engine cannot be loaded (" + words + ")",
                .where = program_.string(),
                .mend = fmt::format(
                    "name the torch folder of a torch {} wheel in TILESCOPE_TORCH, or install one for "
                    "python3",
                    machine::kTorchVersion),
                .kind = ErrorKind::Environment};
}

/// An engine ended before it said hello and without a reason: perhaps the next one comes further.
void Sweep::failStart()
{
    ++deaths_;
    current_.started = now();
    onEvent_(LogEvent{"warning", "the engine did not start: " + howItDied()});
}

/// \return false where the engine had ended before it began the point: a fresh one may
bool Sweep::runPoint(const SweepPoint& point)
{
    current_.started = now();
    ++pointsOfEngine_;
    engine_->send(pointLine({point.index, point.of, point.spec}));
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(point.spec.timeoutSeconds));
    pumpUntil([this] { return current_.result || fatal_; }, now() + timeout + options_.patience.pastTimeout,
              fmt::format("it timed out after {:g} s and did not end its step", point.spec.timeoutSeconds));
    if (fatal_)
        throwFatal();
    if (current_.result) {
        deaths_ = 0;
        report(*current_.result);
        return true;
    }
    const bool diedIdle = pointsOfEngine_ > 1 && current_.killedBecause.empty();
    if (!current_.run && (endedWith(kRestartExit) || stoppedAsTold() || diedIdle))
        return false;
    ++deaths_;
    died();
    return true;
}

/// Marks the current point, whose engine is gone, in the file and tells it.
void Sweep::died()
{
    const bool cancelled = toldToStop_ && (!current_.killedBecause.empty() || stoppedAsTold());
    DeadRun death{.run = current_.run,
                  .point = current_.point->index,
                  .lastSeen = lastRun_,
                  .status = cancelled ? RunStatus::Cancelled : RunStatus::Error,
                  .reason = howItDied(),
                  .duration = now() - current_.started};
    engine_.reset();
    const RunId run = recordDeath(options_.file, current_.point->spec, death);
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
    const RunStatus status = fromWord<RunStatus>(result.status).value_or(RunStatus::Error);
    switch (status) {
    case RunStatus::Ok:
        ++counts_.ok;
        break;
    case RunStatus::Oom:
        ++counts_.oom;
        break;
    case RunStatus::Skipped:
        ++counts_.skipped;
        break;
    case RunStatus::Cancelled:
        ++counts_.cancelled;
        break;
    case RunStatus::Error:
    case RunStatus::Running:
    case RunStatus::Interrupted:
        ++counts_.error;
        break;
    }
    onEvent_(result);
}

std::string Sweep::howItDied() const
{
    const std::string words = engine_->lastWords();
    std::string how = current_.killedBecause;
    if (how.empty()) {
        how = "the engine ended with " + engine_->exit().text();
        if (engine_->exit().signal == SIGKILL)
            how += ", perhaps because the machine ran out of memory";
    }
    return words.empty() ? how : how + ": " + words;
}

bool Sweep::endedWith(int code) const
{
    return engine_->exit().signal == 0 && engine_->exit().code == code;
}

/// Whether it ended in good order because it had been told to.
bool Sweep::stoppedAsTold() const
{
    constexpr int kCancelledExit = 130;
    return toldToStop_ && endedWith(kCancelledExit);
}

/// Lets the engine seal its file and end.
void Sweep::finishEngine()
{
    if (!engine_)
        return;
    engine_->closeInput();
    const SweepPoint* next = current_.point;
    current_ = {};
    current_.point = next;
    pumpUntil([] { return false; }, now() + options_.patience.sealing, "it did not seal its file in time");
    if (!stoppedAsTold() && !endedWith(0) && !endedWith(kRestartExit))
        onEvent_(LogEvent{"warning", "after its last point: " + howItDied()});
    engine_.reset();
}

/// Hands on what the engine says until `happened`, or until it has ended. Where the deadline passes first it
/// is killed.
Wait Sweep::pumpUntil(const std::function<bool()>& happened, SteadyTime deadline,
                      const std::string& lateBecause)
{
    while (!happened()) {
        if (engine_->ended())
            return Wait::Ended;
        stopWhereAsked();
        if (now() >= deadline && current_.killedBecause.empty()) {
            current_.killedBecause = lateBecause;
            engine_->signal(SIGKILL);
        }
        engine_->pump(std::min(deadline, killAt_), bell_.descriptor(),
                      [this](Event&& event) { take(std::move(event)); });
        bell_.silence();
    }
    return Wait::Happened;
}

void Sweep::stopWhereAsked()
{
    if (!stop_.stop_requested())
        return;
    if (!toldToStop_) {
        toldToStop_ = true;
        killAt_ = now() + options_.patience.afterStop;
        engine_->signal(SIGTERM);
    }
    const bool atOnce = options_.atOnce.stop_requested();
    if ((atOnce || now() >= killAt_) && current_.killedBecause.empty()) {
        current_.killedBecause =
            atOnce ? "stopped at once, before its step had ended" : "stopped, but its step did not end";
        engine_->signal(SIGKILL);
    }
}

void Sweep::take(Event&& event)
{
    if (auto* fatal = std::get_if<FatalEvent>(&event))
        fatal_ = std::move(*fatal);
    else if (const auto* hello = std::get_if<HelloEvent>(&event)) {
        if (hello->version != kProtocolVersion || hello->programVersion != version())
            throw Error{.what = fmt::format("the engine is of version {}, this program of {}",
                                            hello->programVersion, version()),
                        .where = program_.string(),
                        .mend = "install both from one release",
                        .kind = ErrorKind::Environment};
        requireSameMakers(options_.before, hello->makers, options_.file);
        hello_ = true;
    } else if (std::holds_alternative<LogEvent>(event)) {
        if (++current_.logs <= kLogsOfAPoint)
            onEvent_(event);
    } else if (current_.point && !current_.result) {
        takeInPoint(std::move(event));
    }
}

/// Events of other runs, or out of order, are an engine's mistake and are not handed on.
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

void Sweep::throwFatal()
{
    const FatalEvent fatal = *fatal_;
    pumpUntil([] { return false; }, now() + options_.patience.pastTimeout, "it did not end");
    throw Error{
        .what = fatal.what, .where = fatal.where, .mend = fatal.mend, .kind = kindFromWord(fatal.kind)};
}

} // namespace

std::vector<SweepPoint> numbered(std::vector<ExperimentSpec> specs)
{
    const auto of = static_cast<std::int64_t>(specs.size());
    std::vector<SweepPoint> points;
    points.reserve(specs.size());
    for (ExperimentSpec& spec : specs)
        points.push_back({static_cast<std::int64_t>(points.size()), of, std::move(spec)});
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

SweepOutcome runSweep(const std::vector<ExperimentSpec>& specs, const SweepOptions& options,
                      const std::function<void(const Event&)>& onEvent, std::stop_token stop)
{
    return runSweep(numbered(specs), options, onEvent, std::move(stop));
}

} // namespace tilescope::session
