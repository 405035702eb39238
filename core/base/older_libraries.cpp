// Lets the programs run on systems whose C++ library is older than the compiler's.

#include <condition_variable>
#include <mutex>

#include <pthread.h>

namespace std {

/// GCC 12 gave this member a new symbol version (GLIBCXX_3.4.30) because its exception specification changed.
/// Without this definition, that symbol alone would prevent the programs from running with GCC 11's library,
/// for example on RHEL 9. The body is that of libstdc++. Weak, because a static C++ library brings its own.
[[gnu::weak]] void condition_variable::wait(unique_lock<mutex>& lock)
{
    pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}

} // namespace std
