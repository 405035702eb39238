// Stands before libc in a program that is to be tested (LD_PRELOAD) and plays tricks on it.
//
//   FAULT_PROGRAM     only programs whose name holds this text are played tricks on; unset: all
//   FAULT_CLOCK       a file of eight bytes, the seconds (int64) by which the clock on the wall is wrong; may
//   change
//                     while the program runs
//   FAULT_KILL_AT     SIGKILL right before the N-th operation that changes a file or a folder
//   FAULT_OPERATIONS  a file that gets the number of those operations, and of those that wait for the disk,
//   when the
//                     program ends
//   FAULT_MEMORY      `NAME N`: from the N-th on, allocations of the library whose file holds NAME fail; the
//                     third number in FAULT_OPERATIONS is that of its allocations
//   FAULT_THREADS     NAME: the library cannot start threads
//   FAULT_LOCKS       `none`: a filesystem without locks of open files, like some network filesystems

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

template <class Function> Function* next(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool isMeant()
{
    static const bool meant = [] {
        const char* name = std::getenv("FAULT_PROGRAM");
        return !name || std::strstr(program_invocation_short_name, name) != nullptr;
    }();
    return meant;
}

std::int64_t clockError()
{
    static const volatile std::int64_t* const seconds = []() -> const volatile std::int64_t*
    {
        const char* file = std::getenv("FAULT_CLOCK");
        const int descriptor = file && isMeant() ? open(file, O_RDONLY | O_CLOEXEC) : -1;
        if (descriptor < 0)
            return nullptr;
        void* memory = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, descriptor, 0);
        close(descriptor);
        return memory == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(memory);
    }
    ();
    return seconds ? *seconds : 0;
}

std::atomic<long> operations = 0;
std::atomic<long> syncs = 0;

void atOperation()
{
    static const long killAt = [] {
        const char* text = std::getenv("FAULT_KILL_AT");
        return text && isMeant() ? std::atol(text) : 0;
    }();
    if (++operations == killAt)
        kill(getpid(), SIGKILL);
}

/// Pipes and terminals are not files: the output of a program does not count.
void atOperation(int descriptor)
{
    const int before = errno;
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        atOperation();
    errno = before;
}

/// Whether the code at an address is that of a library; takes no lock.
bool isIn(const void* address, const char* library)
{
    dl_find_object found{};
    return library && *library && _dl_find_object(const_cast<void*>(address), &found) == 0 &&
           found.dlfo_link_map && std::strstr(found.dlfo_link_map->l_name, library) != nullptr;
}

std::atomic<long> allocations = 0;

/// Whether the allocation that code at this address asks for is to fail.
bool isWithoutMemory(const void* caller)
{
    static std::array<char, 64> library{}; // filled before there are threads
    static long first = -1;
    if (first < 0 && environ) { // the loader allocates before there is an environment
        const char* text = std::getenv("FAULT_MEMORY");
        first = 0;
        if (text && isMeant() && std::sscanf(text, "%63s %ld", library.data(), &first) != 2)
            first = 0;
    }
    return first > 0 && isIn(caller, library.data()) && ++allocations >= first;
}

struct AtEnd {
    ~AtEnd()
    {
        const char* file = std::getenv("FAULT_OPERATIONS");
        const long count = operations;
        std::FILE* stream = file && isMeant() ? std::fopen(file, "w") : nullptr;
        if (stream) {
            std::fprintf(stream, "%ld %ld %ld\n", count, syncs.load(), allocations.load());
            std::fclose(stream);
        }
    }
};
const AtEnd atEnd;

} // namespace

extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes)
{
    return isWithoutMemory(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes)
{
    return isWithoutMemory(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes)
{
    return isWithoutMemory(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes)
{
    return isWithoutMemory(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument)
{
    static auto* const real =
        next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    if (isIn(__builtin_return_address(0), std::getenv("FAULT_THREADS")))
        return EAGAIN;
    return real(thread, attributes, run, argument);
}

int clock_gettime(clockid_t clock, timespec* result)
{
    static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
    const int code = real(clock, result);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        result->tv_sec += clockError();
    return code;
}

int gettimeofday(timeval* result, void* zone)
{
    static auto* const real = next<int(timeval*, void*)>("gettimeofday");
    const int code = real(result, zone);
    if (code == 0)
        result->tv_sec += clockError();
    return code;
}

time_t time(time_t* result)
{
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}

ssize_t write(int descriptor, const void* bytes, size_t length)
{
    static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
    atOperation(descriptor);
    return real(descriptor, bytes, length);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t length, off_t at)
{
    static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    atOperation(descriptor);
    return real(descriptor, bytes, length, at);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t length, off64_t at)
{
    static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
    atOperation(descriptor);
    return real(descriptor, bytes, length, at);
}

int ftruncate64(int descriptor, off64_t length)
{
    static auto* const real = next<int(int, off64_t)>("ftruncate64");
    atOperation(descriptor);
    return real(descriptor, length);
}

int ftruncate(int descriptor, off_t length)
{
    return ftruncate64(descriptor, length);
}

int fsync(int descriptor)
{
    static auto* const real = next<int(int)>("fsync");
    ++syncs;
    atOperation(descriptor);
    return real(descriptor);
}

int fdatasync(int descriptor)
{
    static auto* const real = next<int(int)>("fdatasync");
    ++syncs;
    atOperation(descriptor);
    return real(descriptor);
}

int fcntl64(int descriptor, int command, ...)
{
    static auto* const real = next<int(int, int, ...)>("fcntl64");
    static const bool locks = !(std::getenv("FAULT_LOCKS") && isMeant());
    va_list arguments;
    va_start(arguments, command);
    void* argument = va_arg(arguments, void*); // an int travels in the same register
    va_end(arguments);
    if (!locks && (command == F_OFD_SETLK || command == F_OFD_GETLK)) {
        errno = ENOLCK;
        return -1;
    }
    return real(descriptor, command, argument);
}

int fcntl(int descriptor, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    return fcntl64(descriptor, command, argument);
}

int unlink(const char* path) noexcept
{
    static auto* const real = next<int(const char*)>("unlink");
    atOperation();
    return real(path);
}

int rename(const char* from, const char* to) noexcept
{
    static auto* const real = next<int(const char*, const char*)>("rename");
    atOperation();
    return real(from, to);
}

} // extern "C"
