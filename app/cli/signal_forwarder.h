#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>

namespace tilescope::cli {

/// Passes signals to this process on to the program that runs in its place, from construction to destruction. One thread,
/// one object at a time.
///
/// A signal is passed on only if the program has not received it itself. The terminal sends its signals to the program as
/// well; so does everyone who signals the whole process group or job. A signal does not tell to whom it was sent, so a
/// child in the same group that only counts its signals is asked: what reaches it has reached the program. A direct signal
/// is therefore passed on 20 ms late. A program that ignores a signal here (nohup) ignores it there, too. SIGPIPE does not
/// end this process: it outlives a reader of its output.
class SignalForwarder {
public:
    /// Blocks the signals until startedAs(): what arrives meanwhile is delivered when it is known to whom.
    SignalForwarder();
    ~SignalForwarder();
    SignalForwarder(const SignalForwarder&) = delete;
    SignalForwarder& operator=(const SignalForwarder&) = delete;

    /// Between fork() and exec(): the program gets the signals as they were.
    void restoreInChild() const;
    void startedAs(pid_t program) const;
    /// Before waitpid() frees its number. Signals are dropped from now on.
    void ended() const;

private:
    static constexpr std::array kPassedOn{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

    void startWitness();

    std::array<struct sigaction, kPassedOn.size()> actions_{};
    struct sigaction pipeAction_ {};
    sigset_t mask_{};
    pid_t witness_ = -1; ///< the child in the same group; -1: there is none, and every signal is passed on
};

} // namespace tilescope::cli
