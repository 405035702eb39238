#include "core/session/supervisor/engine_keeper.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/version.h"
#include "core/machine/torch_location.h"
#include "core/session/protocol/event.h"

#include <fmt/format.h>

#include <csignal>

namespace tilescope::session {

namespace {

constexpr int kProtocolVersion = 1;
/// Exit code of the dynamic loader and the shell if a program or its libraries are missing.
constexpr int kLoaderExit = 127;

ErrorKind kindFromWord(const std::string& word)
{
    return word == "usage"         ? ErrorKind::Usage
           : word == "environment" ? ErrorKind::Environment
                                   : ErrorKind::Failure;
}

} // namespace

EngineKeeper::EngineKeeper(const SweepOptions& options, std::vector<std::string> devices,
                           std::stop_token stop, std::function<void(Event&&)> take,
                           std::vector<std::string> srun)
    : options_(options), devices_(std::move(devices)), stop_(std::move(stop)), take_(std::move(take)),
      srun_(std::move(srun)),
      program_(options.engine.empty() ? siblingProgram("TILESCOPE_ENGINE", "tilescope-engine")
                                      : options.engine),
      wake_(stop_, [this] { wakeEvent_.signal(); }),
      wakeAtOnce_(options.atOnce, [this] { wakeEvent_.signal(); })
{
    if (const auto torch = machine::torchFromEnvironment())
        environment_["LD_LIBRARY_PATH"] = machine::libraryPathWith(*torch);
}

bool EngineKeeper::start()
{
    do {
        launch();
        pumpUntil([this] { return hello_; }, SteadyTime::clock::now() + options_.timeouts.startUp,
                  "it did not start in time");
    } while (!hello_ && !stop_.stop_requested() && loadOtherTorch());
    return hello_;
}

void EngineKeeper::launch()
{
    std::vector<std::string> arguments{"--file", options_.file.string(), "--command", options_.commandLine};
    for (const std::string& device : devices_)
        arguments.insert(arguments.end(), {"--device", device});
    if (options_.counterInterval)
        arguments.insert(arguments.end(),
                         {"--counter-interval", std::to_string(options_.counterInterval->count())});
    hello_ = false;
    fatal_.reset();
    toldToStop_ = false;
    killAt_ = SteadyTime::max();
    killedBecause_.clear();
    if (srun_.empty()) {
        engine_ = std::make_unique<EngineProcess>(program_, arguments, environment_);
        return;
    }
    arguments.insert(arguments.begin(), program_.string());
    arguments.insert(arguments.begin(), srun_.begin() + 1, srun_.end());
    engine_ = std::make_unique<EngineProcess>(srun_.front(), arguments, environment_,
                                              ChildProcess::Kind::ThroughSrun);
}

/// True if the engine did not load because LibTorch is missing and another one was found.
bool EngineKeeper::loadOtherTorch()
{
    if (!endedWith(kLoaderExit))
        return false;
    const std::string words = engine_->lastWords();
    if (!searchedTorch_) {
        searchedTorch_ = true;
        if (const auto torch = machine::findTorch()) {
            environment_["LD_LIBRARY_PATH"] = machine::libraryPathWith(*torch);
            return true;
        }
    }
    throw Error{.what = "the engine cannot be loaded (" + words + ")",
                .where = program_.string(),
                .remedy = fmt::format(
                    "name the torch folder of a torch {} wheel in TILESCOPE_TORCH, or install one for "
                    "python3",
                    machine::kTorchVersion),
                .kind = ErrorKind::Environment};
}

std::optional<std::string> EngineKeeper::finish()
{
    engine_->closeInput();
    pump([] { return false; }, SteadyTime::clock::now() + options_.timeouts.sealing,
         "it did not seal its file in time");
    if (fatal_)
        throwFatal();
    std::optional<std::string> died = endedInOrder() ? std::nullopt : std::optional(howItDied());
    engine_.reset();
    return died;
}

void EngineKeeper::pumpUntil(const std::function<bool()>& happened, SteadyTime deadline,
                             const std::string& lateBecause)
{
    pump([&] { return fatal_ || happened(); }, deadline, lateBecause);
    if (fatal_)
        throwFatal();
}

void EngineKeeper::pump(const std::function<bool()>& happened, SteadyTime deadline,
                        const std::string& lateBecause)
{
    while (!happened() && !engine_->ended()) {
        stopWhereAsked();
        if (SteadyTime::clock::now() >= deadline && killedBecause_.empty()) {
            killedBecause_ = lateBecause;
            engine_->signal(SIGKILL);
        }
        engine_->pump(std::min(deadline, killAt_), wakeEvent_.descriptor(),
                      [this](Event&& event) { take(std::move(event)); });
        wakeEvent_.reset();
    }
}

void EngineKeeper::poll()
{
    if (engine_->ended())
        return;
    stopWhereAsked();
    engine_->pump(SteadyTime::clock::now(), -1, [this](Event&& event) { take(std::move(event)); });
}

void EngineKeeper::kill(const std::string& reason)
{
    if (engine_->ended() || wasKilled())
        return;
    killedBecause_ = reason;
    engine_->signal(SIGKILL);
}

void EngineKeeper::stopWhereAsked()
{
    if (!stop_.stop_requested())
        return;
    if (!toldToStop_) {
        toldToStop_ = true;
        killAt_ = SteadyTime::clock::now() + options_.timeouts.afterStop;
        engine_->signal(SIGTERM);
    }
    const bool atOnce = options_.atOnce.stop_requested();
    if ((atOnce || SteadyTime::clock::now() >= killAt_) && killedBecause_.empty()) {
        killedBecause_ =
            atOnce ? "stopped at once, before its step had ended" : "stopped, but its step did not end";
        engine_->signal(SIGKILL);
    }
}

void EngineKeeper::take(Event&& event)
{
    if (auto* fatal = std::get_if<FatalEvent>(&event))
        fatal_ = std::move(*fatal);
    else if (const auto* hello = std::get_if<HelloEvent>(&event))
        greet(*hello);
    else
        take_(std::move(event));
}

void EngineKeeper::greet(const HelloEvent& hello)
{
    if (hello.version != kProtocolVersion || hello.programVersion != version())
        throw Error{.what = fmt::format("the engine has version {}, this program {}", hello.programVersion,
                                        version()),
                    .where = program_.string(),
                    .remedy = "install both from one release",
                    .kind = ErrorKind::Environment};
    requireSameMakers(options_.before, hello.makers, options_.file);
    hello_ = true;
}

void EngineKeeper::throwFatal()
{
    const FatalEvent fatal = *fatal_;
    pump([] { return false; }, SteadyTime::clock::now() + options_.timeouts.pastTimeout, "it did not end");
    throw Error{
        .what = fatal.what, .where = fatal.where, .remedy = fatal.remedy, .kind = kindFromWord(fatal.kind)};
}

bool EngineKeeper::endedWith(int code) const
{
    return engine_->exit().signal == 0 && engine_->exit().code == code;
}

bool EngineKeeper::endedInOrder() const
{
    return stoppedAsTold() || endedWith(0) || endedWith(kRestartExit);
}

bool EngineKeeper::stoppedAsTold() const
{
    constexpr int kCancelledExit = 130;
    return toldToStop_ && endedWith(kCancelledExit);
}

bool EngineKeeper::cancelled() const
{
    return toldToStop_ && (wasKilled() || stoppedAsTold());
}

std::string EngineKeeper::howItDied() const
{
    const std::string words = engine_->lastWords();
    std::string how = killedBecause_;
    if (how.empty()) {
        how = "the engine ended with " + engine_->exit().text();
        if (engine_->exit().signal == SIGKILL)
            how += ", perhaps because the machine ran out of memory";
    }
    return words.empty() ? how : how + ": " + words;
}

} // namespace tilescope::session
