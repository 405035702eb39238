#include "core/trace/host/quiet_thread.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace tilescope::trace {

std::thread startQuietThread(const char* name, std::function<void()> run)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread(std::move(run));
        pthread_setname_np(thread.native_handle(), name);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

} // namespace tilescope::trace
