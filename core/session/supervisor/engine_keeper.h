#pragma once

#include "core/session/protocol/bell.h"
#include "core/session/protocol/without_sigpipe.h"
#include "core/session/supervisor/engine_process.h"
#include "core/session/supervisor/supervisor.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::session {

/// Keeps an engine process for a sweep: starts it with a LibTorch that it can load, waits for what it says
/// with patience and a deadline, tells it to stop when that is asked for, and kills it where it does not.
/// One thread; everything it waits for ends in bounded time.
class EngineKeeper {
public:
    /// \param devices  what the sweep asks for; looked at by an engine before anything is stored
    /// \param take     gets every event but hello and fatal ones
    EngineKeeper(const SweepOptions& options, std::vector<std::string> devices, std::stop_token stop,
                 std::function<void(Event&&)> take);

    /// There is one that has not been cleared away; it may have ended.
    bool present() const { return engine_ != nullptr; }
    bool ended() const { return engine_->ended(); }

    /// Starts an engine and waits until it says hello.
    /// \return                      false where it did not: it is still present, and howItDied() tells
    /// \throws Error (Environment)  no engine can be started here, or it lacks what was asked outright
    bool start();
    /// One line for its standard input.
    void send(std::string_view line) { engine_->send(line); }
    /// Hands on what it says until `happened`, or until it has ended. Where the deadline passes first it is
    /// killed, for that reason.
    /// \throws Error  that the engine said it cannot go on for
    void pumpUntil(const std::function<bool()>& happened, SteadyTime deadline,
                   const std::string& lateBecause);
    /// Lets it seal its file and end.
    /// \return        how it died where it did not end in good order
    /// \throws Error  that it said it could not do that for
    std::optional<std::string> finish();
    /// What is left of an engine that has ended.
    void clear() { engine_.reset(); }

    // Of an engine that has ended:
    bool wasKilled() const { return !killedBecause_.empty(); } ///< by us
    bool endedWith(int code) const;
    bool stoppedAsTold() const; ///< it ended in good order because it had been told to
    bool cancelled() const;     ///< so, or killed after it had been told to stop
    std::string howItDied() const;

private:
    void launch();
    bool loadOtherTorch();
    void pump(const std::function<bool()>& happened, SteadyTime deadline, const std::string& lateBecause);
    void stopWhereAsked();
    void take(Event&& event);
    void greet(const HelloEvent& hello);
    [[noreturn]] void throwFatal();

    const SweepOptions& options_;
    const std::vector<std::string> devices_;
    const std::stop_token stop_;
    const std::function<void(Event&&)> take_;
    const std::filesystem::path program_;
    std::map<std::string, std::string> environment_;
    bool searchedTorch_ = false;

    WithoutSigpipe withoutSigpipe_;
    Bell bell_;
    const std::stop_callback<std::function<void()>> wake_;
    const std::stop_callback<std::function<void()>> wakeAtOnce_;

    // Of the present engine.
    std::unique_ptr<EngineProcess> engine_;
    bool hello_ = false;
    std::optional<FatalEvent> fatal_;
    bool toldToStop_ = false;
    SteadyTime killAt_ = SteadyTime::max();
    std::string killedBecause_; ///< why we killed it; empty where we did not
};

} // namespace tilescope::session
