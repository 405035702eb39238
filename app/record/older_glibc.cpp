// Lets the library load into programs that run with an older C library than that of the build, from glibc 2.28 on.
//
// The linker redirects every call of these functions, those of the static C++ library included, to __wrap_NAME
// (--wrap). Where the function moved into libc.so, its old symbol version still exists and is the one that both
// libraries have; the others are replaced by what they are made of.

#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

// NOLINTBEGIN(bugprone-reserved-identifier): the linker prescribes the names
#define TILESCOPE_OLD(result, name, parameters, arguments)                                                   \
    result old_##name parameters;                                                                            \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5");                                                  \
    result __wrap_##name parameters                                                                          \
    {                                                                                                        \
        return old_##name arguments;                                                                         \
    }

extern "C" {

TILESCOPE_OLD(void*, dlopen, (const char* file, int mode), (file, mode))
TILESCOPE_OLD(void*, dlsym, (void* library, const char* name), (library, name))
TILESCOPE_OLD(int, pthread_create,
              (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
              (thread, attributes, start, argument))
TILESCOPE_OLD(int, pthread_attr_setstacksize, (pthread_attr_t * attributes, size_t bytes),
              (attributes, bytes))
TILESCOPE_OLD(int, pthread_detach, (pthread_t thread), (thread))
TILESCOPE_OLD(int, pthread_join, (pthread_t thread, void** result), (thread, result))
TILESCOPE_OLD(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
TILESCOPE_OLD(void*, pthread_getspecific, (pthread_key_t key), (key))
TILESCOPE_OLD(int, pthread_setspecific, (pthread_key_t key, const void* value), (key, value))
TILESCOPE_OLD(int, pthread_key_create, (pthread_key_t * key, void (*end)(void*)), (key, end))
TILESCOPE_OLD(int, __pthread_key_create, (pthread_key_t * key, void (*end)(void*)), (key, end))
TILESCOPE_OLD(int, pthread_key_delete, (pthread_key_t key), (key))
TILESCOPE_OLD(int, pthread_once, (pthread_once_t * once, void (*function)()), (once, function))
TILESCOPE_OLD(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* before), (how, set, before))
TILESCOPE_OLD(int, __fxstat64, (int version, int descriptor, struct stat64* facts),
              (version, descriptor, facts))
TILESCOPE_OLD(int, __xstat, (int version, const char* file, struct stat* facts), (version, file, facts))
TILESCOPE_OLD(int, __lxstat, (int version, const char* file, struct stat* facts), (version, file, facts))

int old_pthread_setname_np(pthread_t thread, const char* name);
__asm__(".symver old_pthread_setname_np,pthread_setname_np@GLIBC_2.12");
int __wrap_pthread_setname_np(pthread_t thread, const char* name)
{
    return old_pthread_setname_np(thread, name);
}

constexpr int kVersion = 1; // of the structure, on x86-64

int __wrap_fstat64(int descriptor, struct stat64* facts)
{
    return __wrap___fxstat64(kVersion, descriptor, facts);
}

int __wrap_stat(const char* file, struct stat* facts)
{
    return __wrap___xstat(kVersion, file, facts);
}

int __wrap_lstat(const char* file, struct stat* facts)
{
    return __wrap___lxstat(kVersion, file, facts);
}

pid_t __wrap_gettid()
{
    return static_cast<pid_t>(syscall(SYS_gettid));
}

/// From glibc 2.30 on. The wait ends early if the wall clock is set forward: callers check their clock.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* until)
{
    constexpr long kSecond = 1'000'000'000;
    timespec now{};
    timespec wall{};
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &wall);
    wall.tv_sec += until->tv_sec - now.tv_sec;
    wall.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (wall.tv_nsec < 0) {
        wall.tv_nsec += kSecond;
        --wall.tv_sec;
    } else if (wall.tv_nsec >= kSecond) {
        wall.tv_nsec -= kSecond;
        ++wall.tv_sec;
    }
    return pthread_cond_timedwait(condition, mutex, &wall);
}

/// Nothing here draws random numbers; the static C++ library has the call.
unsigned __wrap_arc4random()
{
    unsigned value = 0;
    static_cast<void>(!syscall(SYS_getrandom, &value, sizeof(value), 0));
    return value;
}

/// Only a hint by which the static C++ library avoids atomic operations: false is always right.
char __wrap___libc_single_threaded = 0;
}
// NOLINTEND(bugprone-reserved-identifier)
