#pragma once

#include "core/session/protocol/wake_event.h"
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

/// Manages the engine process of a sweep: starts it with a suitable LibTorch, waits for its events up to a
/// deadline, stops it on request and kills it if it does not react. One thread; every wait is bounded.
class EngineKeeper {
public:
    /// \param devices  requested devices; an engine checks them before anything is stored
    /// \param take     receives all events except hello and fatal ones
    /// \param srun     command that starts the engine on another node; empty: it runs here
    EngineKeeper(const SweepOptions& options, std::vector<std::string> devices, std::stop_token stop,
                 std::function<void(Event&&)> take, std::vector<std::string> srun = {});

    /// Whether there is an engine that has not been cleared; it may have ended.
    bool present() const { return engine_ != nullptr; }
    bool ended() const { return engine_->ended(); }

    /// Starts an engine and waits for its hello event.
    /// \return                      false if it did not arrive: the engine is still present, and howItDied()
    ///                              gives the reason
    /// \throws Error (Environment)  no engine can be started, or it lacks something that was explicitly
    ///                              requested
    bool start();
    /// Sends one line to its standard input.
    void send(std::string_view line) { engine_->send(line); }
    /// No more lines: it seals its file and ends.
    void closeInput() { engine_->closeInput(); }
    /// Passes on its events until `happened` returns true or the engine has ended. Kills the engine after the
    /// deadline, with that reason.
    /// \throws Error  the reason for which the engine cannot continue
    void pumpUntil(const std::function<bool()>& happened, SteadyTime deadline,
                   const std::string& lateBecause);
    /// Passes on the events that have arrived; waits for none.
    void poll();
    /// Kills the engine for that reason.
    void kill(const std::string& reason);
    std::int64_t pid() const { return engine_->pid(); }
    /// The reason for which the engine cannot continue, if it sent one.
    const std::optional<FatalEvent>& fatal() const { return fatal_; }
    /// Lets it seal its file and end.
    /// \return        how it died if it did not end normally
    /// \throws Error  the reason for which it could not seal the file
    std::optional<std::string> finish();
    /// Discards an engine that has ended.
    void clear() { engine_.reset(); }

    // For an engine that has ended:
    bool wasKilled() const { return !killedBecause_.empty(); } ///< by the supervisor
    bool endedWith(int code) const;
    bool endedInOrder() const;  ///< its file is sealed
    bool stoppedAsTold() const; ///< it ended normally after a request to stop
    bool cancelled() const;     ///< it ended normally or was killed after a request to stop
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
    const std::vector<std::string> srun_;
    const std::filesystem::path program_;
    std::map<std::string, std::string> environment_;
    bool searchedTorch_ = false;

    WithoutSigpipe withoutSigpipe_;
    WakeEvent wakeEvent_;
    const std::stop_callback<std::function<void()>> wake_;
    const std::stop_callback<std::function<void()>> wakeAtOnce_;

    // The current engine.
    std::unique_ptr<EngineProcess> engine_;
    bool hello_ = false;
    std::optional<FatalEvent> fatal_;
    bool toldToStop_ = false;
    SteadyTime killAt_ = SteadyTime::max();
    std::string killedBecause_; ///< why we killed it; empty if we did not
};

} // namespace tilescope::session
