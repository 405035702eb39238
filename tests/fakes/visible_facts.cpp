// Writes what a program can see of its process into a file, before and after its first NVTX range: signals, limits,
// descriptors, groups, timers, environment. A test compares a bare and a recorded run.
//
// usage: visible_facts FILE

#include <nvtx3/nvToolsExt.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace {

void writeSignals(FILE* out)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    sigset_t pending;
    sigpending(&pending);
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action {};
        if (sigaction(signal, nullptr, &action) != 0)
            continue;
        const char* handler = action.sa_handler == SIG_DFL   ? "default"
                              : action.sa_handler == SIG_IGN ? "ignored"
                                                             : "handled";
        std::fprintf(out, "signal %d %s flags %x blocked %d pending %d\n", signal, handler,
                     static_cast<unsigned>(action.sa_flags), sigismember(&mask, signal),
                     sigismember(&pending, signal));
    }
}

void writeLimits(FILE* out)
{
    for (int which = 0; which < static_cast<int>(RLIM_NLIMITS); ++which) {
        rlimit limit{};
        getrlimit(static_cast<__rlimit_resource>(which), &limit);
        std::fprintf(out, "limit %d %llu %llu\n", which, static_cast<unsigned long long>(limit.rlim_cur),
                     static_cast<unsigned long long>(limit.rlim_max));
    }
    const mode_t mask = umask(0);
    umask(mask);
    std::fprintf(out, "umask %o\nnice %d\nscheduler %d\n", mask, getpriority(PRIO_PROCESS, 0),
                 sched_getscheduler(0));
    cpu_set_t processors;
    sched_getaffinity(0, sizeof(processors), &processors);
    std::fprintf(out, "processors %d\n", CPU_COUNT(&processors));
}

void writeDescriptors(FILE* out)
{
    for (int number = 0; number < 1024; ++number) {
        if (number == fileno(out))
            continue;
        const int flags = fcntl(number, F_GETFD);
        if (flags < 0)
            continue;
        struct stat facts {};
        fstat(number, &facts);
        std::fprintf(out, "descriptor %d flags %d mode %x type %o\n", number, flags, fcntl(number, F_GETFL),
                     facts.st_mode & S_IFMT);
    }
}

void writeProcess(FILE* out)
{
    std::fprintf(out, "leads its group %d, its session %d\n", getpgrp() == getpid(), getsid(0) == getpid());
    int deathSignal = 0;
    prctl(PR_GET_PDEATHSIG, &deathSignal);
    int reaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    std::fprintf(out, "death signal %d, subreaper %d, dumpable %d, new privileges %d, timer slack %d\n",
                 deathSignal, reaper, prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
                 prctl(PR_GET_TIMERSLACK));
    for (const __itimer_which timer : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
        itimerval value{};
        getitimer(timer, &value);
        std::fprintf(out, "timer %d %ld %ld\n", static_cast<int>(timer), value.it_value.tv_sec,
                     value.it_interval.tv_usec);
    }
    std::array<char, 4096> folder{};
    std::fprintf(out, "folder %s\n", getcwd(folder.data(), folder.size()));
    std::array<char, 16> name{};
    prctl(PR_GET_NAME, name.data());
    std::fprintf(out, "name %s\n", name.data());
}

void writeEnvironment(FILE* out)
{
    std::vector<std::string> variables;
    for (char** variable = environ; *variable; ++variable)
        variables.emplace_back(*variable);
    std::ranges::sort(variables);
    for (const std::string& variable : variables)
        std::fprintf(out, "variable %s\n", variable.c_str());
}

void writeAll(FILE* out, const char* when)
{
    std::fprintf(out, "-- %s\n", when);
    writeSignals(out);
    writeLimits(out);
    writeDescriptors(out);
    writeProcess(out);
    writeEnvironment(out);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2)
        return 2;
    FILE* out = std::fopen(argv[1], "w");
    if (!out)
        return 2;
    writeAll(out, "before");
    nvtxRangePushA("step");
    nvtxRangePop();
    usleep(100'000); // the recorder has written
    writeAll(out, "after");
    std::fclose(out);
    return std::puts("facts") < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
