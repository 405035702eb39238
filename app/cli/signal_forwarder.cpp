#include "app/cli/signal_forwarder.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <new>

namespace tilescope::cli {

namespace {

constexpr int kTimeoutMs =
    20; // the kernel signals a group in one call, a service manager its processes one by one

/// How often the witness has received each signal; shared with it.
using Counts = std::array<std::atomic<int>, 65>;

volatile std::sig_atomic_t programPid = 0;
Counts* counts = nullptr;
std::array<int, 65> seen{};

/// Whether the witness has received a signal that arrives here, within 20 ms.
bool hasReachedGroup(int signal)
{
    if (!counts)
        return false;
    const auto index = static_cast<std::size_t>(signal);
    for (int waited = 0;; ++waited) {
        if (const int now = (*counts)[index].load(); now != seen[index]) {
            seen[index] = now;
            return true;
        }
        if (waited == kTimeoutMs)
            return false;
        const timespec millisecond{.tv_sec = 0, .tv_nsec = 1'000'000};
        nanosleep(&millisecond, nullptr);
    }
}

void passOn(int signal, siginfo_t* info, void* /*context*/)
{
    const int error = errno;
    if (programPid > 0 && info->si_code <= 0 && !hasReachedGroup(signal))
        kill(programPid, signal);
    errno = error;
}

[[noreturn]] void countSignals(pid_t parent, const sigset_t& counted)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "tilescope-group");
    // It keeps no file, pipe or folder of the caller busy.
    close_range(0, ~0U, 0);
    static_cast<void>(!chdir("/"));
    while (getppid() == parent) {
        siginfo_t info{};
        const int signal = sigwaitinfo(&counted, &info);
        if (signal > 0 && info.si_code <= 0)
            (*counts)[static_cast<std::size_t>(signal)].fetch_add(1);
    }
    _exit(0);
}

} // namespace

SignalForwarder::SignalForwarder()
{
    sigset_t passedOn;
    sigemptyset(&passedOn);
    for (const int signal : kPassedOn)
        sigaddset(&passedOn, signal);
    sigprocmask(SIG_BLOCK, &passedOn, &mask_);
    startWitness();
    struct sigaction action {};
    action.sa_sigaction = &passOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < kPassedOn.size(); ++i) {
        sigaction(kPassedOn[i], nullptr, &actions_[i]);
        if (actions_[i].sa_handler != SIG_IGN)
            sigaction(kPassedOn[i], &action, nullptr);
    }
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignored, &pipeAction_);
}

SignalForwarder::~SignalForwarder()
{
    restoreInChild();
    if (witness_ > 0) {
        kill(witness_, SIGKILL);
        while (waitpid(witness_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

void SignalForwarder::startWitness()
{
    void* shared = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    counts = new (shared) Counts{}; // kept: a handler may read it
    seen = {};
    sigset_t counted;
    sigemptyset(&counted);
    for (const int signal : kPassedOn)
        sigaddset(&counted, signal);
    const pid_t parent = getpid();
    witness_ = fork();
    if (witness_ == 0)
        countSignals(parent, counted);
    if (witness_ < 0)
        counts = nullptr;
}

void SignalForwarder::restoreInChild() const
{
    for (std::size_t i = 0; i < kPassedOn.size(); ++i)
        sigaction(kPassedOn[i], &actions_[i], nullptr);
    sigaction(SIGPIPE, &pipeAction_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

void SignalForwarder::startedAs(pid_t program) const
{
    programPid = program;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

void SignalForwarder::ended() const
{
    sigset_t passedOn;
    sigset_t before;
    sigemptyset(&passedOn);
    for (const int signal : kPassedOn)
        sigaddset(&passedOn, signal);
    sigprocmask(SIG_BLOCK, &passedOn, &before);
    programPid = 0;
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

} // namespace tilescope::cli
