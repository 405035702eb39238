#pragma once

#include <csignal>

namespace tilescope::session {

/// While it lives, writing to a pipe that nobody reads is an error and not the end of this process: blocks
/// SIGPIPE in this thread and takes what came in the meantime. Lives and dies in one thread.
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

} // namespace tilescope::session
