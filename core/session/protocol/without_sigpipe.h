#pragma once

#include <csignal>

namespace tilescope::session {

/// During its lifetime, writing to a pipe without a reader returns an error instead of ending the process.
/// Blocks SIGPIPE in this thread and consumes a pending one at the end. Construct and destroy it in the same
/// thread.
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
