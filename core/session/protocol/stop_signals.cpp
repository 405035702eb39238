#include "core/session/protocol/stop_signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>
#include <csignal>
#include <cstdint>

namespace tilescope::session {

StopSignals::StopSignals(std::initializer_list<int> signals)
{
    sigset_t taken;
    sigemptyset(&taken);
    for (const int signal : signals) {
        struct sigaction present {};
        if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaddset(&taken, signal);
    }
    pthread_sigmask(SIG_BLOCK, &taken, nullptr);
    signals_ = FileDescriptor(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    end_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
    thread_ = std::jthread([this] { take(); });
}

StopSignals::~StopSignals()
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(end_.get(), &one, sizeof(one));
    thread_.join();
}

void StopSignals::take()
{
    std::array<pollfd, 2> watched{{{signals_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}}};
    for (;;) {
        if (poll(watched.data(), watched.size(), -1) < 0)
            continue;
        if (watched[1].revents != 0)
            return;
        signalfd_siginfo info{};
        while (read(signals_.get(), &info, sizeof(info)) == sizeof(info))
            (first_.stop_requested() ? second_ : first_).request_stop();
    }
}

} // namespace tilescope::session
