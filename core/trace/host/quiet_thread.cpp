#include "core/trace/host/quiet_thread.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace tilescope::trace {

namespace {

/// Used at the start of a thread, so that the memory of all thread-local variables of this library is reserved: the C library ends the
/// process if there is none when a thread first uses it.
thread_local volatile bool hasMemory = false;

} // namespace

std::thread startQuietThread(const char* name, std::function<void()> run)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread([run = std::move(run)] {
            hasMemory = true;
            run();
        });
        pthread_setname_np(thread.native_handle(), name);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

} // namespace tilescope::trace
