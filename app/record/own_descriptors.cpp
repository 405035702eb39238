#include "app/record/own_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace tilescope::record {

namespace {

// From Linux 5.9 on; the C library of the build may lack both.
constexpr long kCloseRange = 436;
constexpr unsigned kUnshare = 1U << 1;

/// Closes every descriptor of the calling thread's table.
void closeAll() noexcept
{
    // /proc/self has the table of the process' first thread.
    if (DIR* folder = opendir("/proc/thread-self/fd")) {
        while (const dirent* entry = readdir(folder))
            if (const int descriptor = std::atoi(entry->d_name);
                entry->d_name[0] != '.' && descriptor != dirfd(folder))
                close(descriptor);
        closedir(folder);
        return;
    }
    constexpr rlim_t kMost = 1 << 20;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t descriptor = 0; descriptor < std::min(limit.rlim_cur, kMost); ++descriptor)
        close(static_cast<int>(descriptor));
}

int callFunction(void* function)
{
    try {
        (*static_cast<const std::function<void()>*>(function))();
        return 0;
    } catch (...) {
        return 1;
    }
}

} // namespace

int separateDescriptors() noexcept
{
    if (syscall(kCloseRange, 0U, ~0U, kUnshare) != 0) {
        if (unshare(CLONE_FILES) != 0)
            return errno;
        closeAll();
    }
    // A library that prints must not print into a file of the recorder.
    errno = 0;
    for (int standard = 0; standard <= STDERR_FILENO; ++standard)
        if (open("/", O_PATH | O_CLOEXEC) != standard)
            return errno != 0 ? errno : EBADF;
    return 0;
}

bool callWithCopiedDescriptors(const std::function<void()>& function) noexcept
{
    constexpr std::size_t kStackBytes = 1 << 18;
    void* stack =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    // Without a signal at its end, wait() of the program does not find the process.
    const pid_t process =
        clone(&callFunction, static_cast<char*>(stack) + kStackBytes, CLONE_VM | CLONE_VFORK,
              const_cast<void*>(static_cast<const void*>(&function)));
    int status = -1;
    while (process > 0 && waitpid(process, &status, __WCLONE) < 0 && errno == EINTR) {
    }
    munmap(stack, kStackBytes);
    return process > 0 && status == 0;
}

} // namespace tilescope::record
