#include "core/trace/host/quiet_thread.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace tilescope::trace {

namespace {

/// The C library allocates the thread-local storage of this library at a thread's first access to it, and ends the process if there is no
/// memory. Writing this variable when a thread starts allocates it before the program can run out of memory or forbid mmap().
thread_local volatile bool storageIsAllocated = false;

/// Null before glibc 2.35. Found when the library is loaded, as dlsym() takes a lock that another thread may hold while this one forks.
const auto* const sizeOfSequences = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));

/// Whether a new thread may register restartable sequences, which the C library insists on if its first thread did.
bool mayRegisterSequences() noexcept
{
    const unsigned* const size = sizeOfSequences;
    return !size || *size == 0 || syscall(SYS_rseq, nullptr, 0U, 0, 0U) == 0 || errno == EINVAL;
}

/// Whether the first allocation of a new thread, for its thread-local storage, can succeed.
bool mayMapMemory() noexcept
{
    constexpr std::size_t kBytes = std::size_t{64} << 10;
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED && munmap(memory, kBytes) == 0;
}

} // namespace

bool mayWait() noexcept
{
    std::uint32_t word = 0;
    return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) == 0;
}

bool mayStartThread() noexcept
{
    return mayWait() && mayRegisterSequences() && mayMapMemory();
}

std::thread startQuietThread(const char* name, std::function<void()> run)
{
    if (!mayStartThread())
        throw std::system_error(EPERM, std::generic_category());
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
