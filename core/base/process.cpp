#include "core/base/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace tilescope {

namespace {

struct sigaction fileSizeAction {};
struct sigaction childAction {};

} // namespace

void prepareProcess()
{
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignored, &fileSizeAction);
    sigaction(SIGCHLD, nullptr, &childAction);
    if (childAction.sa_handler == SIG_IGN) {
        struct sigaction usual {};
        usual.sa_handler = SIG_DFL;
        sigaction(SIGCHLD, &usual, nullptr);
    }
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(descriptor, F_GETFD) == -1)
            // open() returns the lowest free descriptor, which is this one. The opposite access mode makes
            // every use fail.
            (void)open("/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

void restoreProcess() noexcept
{
    sigaction(SIGXFSZ, &fileSizeAction, nullptr);
    sigaction(SIGCHLD, &childAction, nullptr);
}

} // namespace tilescope
