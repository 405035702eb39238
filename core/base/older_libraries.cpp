// Keeps the programs runnable on systems whose C++ library is older than the compiler's.

#include <condition_variable>
#include <mutex>

#include <pthread.h>

namespace std {

/// GCC 12 gave this member a new symbol version (GLIBCXX_3.4.30), for nothing but its exception
/// specification; it would be the only thing that keeps the programs from systems with GCC 11's library, such
/// as RHEL 9. The linker takes this definition instead of the shared library's. It does what libstdc++'s own
/// does.
void condition_variable::wait(unique_lock<mutex>& lock)
{
    pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}

} // namespace std
