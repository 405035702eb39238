#include "core/trace/host/quiet_thread.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace tilescope::trace {

namespace {

/// The C library allocates the thread-local storage of this library at a thread's first access to it, and ends the process if there is no
/// memory. Writing this variable when a thread starts allocates it before the program can run out of memory or forbid mmap().
thread_local volatile bool storageIsAllocated = false;

} // namespace

std::thread startQuietThread(const char* name, std::function<void()> run)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread([run = std::move(run)] {
            storageIsAllocated = true;
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
