#include "app/record/recorder.h"

#include "app/record/recording.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/range.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace tilescope::record {

namespace {

std::atomic<Recording*> current{nullptr};
pid_t owner = 0;

/// Calls `action` with the recording. No failure of the recorder may reach the program: if memory runs out,
/// the record is missing.
template <class Action> void attempt(Action action) noexcept
{
    try {
        action(*current.load());
    } catch (...) {
        return;
    }
}

void endAtExit()
{
    if (Recording::close() && getpid() == owner)
        attempt([](Recording& recording) { recording.end(); });
}

void silenceChild()
{
    if (!Recording::close())
        return;
    trace::detail::rangeListeners.store(0);
    current.load()->abandon();
}

/// Writes what the process noted before the signal ends it.
void endBySignal(int signal)
{
    if (getpid() == owner && Recording::isOpen())
        Recording::writeNow();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// Only where the signal would end the process: a program that handles it decides itself how it ends.
void watchSignal(int signal)
{
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) ||
        before.sa_handler != SIG_DFL)
        return;
    struct sigaction action {};
    action.sa_handler = &endBySignal;
    sigaction(signal, &action, nullptr);
}

bool startOnce() noexcept
{
    try {
        const char* folder = std::getenv("TILESCOPE_RECORD_FOLDER");
        if (!folder)
            return false;
        owner = getpid();
        current.store(new Recording(folder));
        Recording::open();
        std::atexit(&endAtExit);
        pthread_atfork(nullptr, nullptr, &silenceChild);
        watchSignal(SIGTERM);
        watchSignal(SIGINT);
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace

bool Recorder::start() noexcept
{
    static const bool started = startOnce();
    return started && Recording::isOpen();
}

void Recorder::startDevice() noexcept
{
    static std::atomic<bool> done{false};
    if (!start() || done.exchange(true))
        return;
    attempt([](Recording& recording) { recording.startDevice(); });
    // CUPTI may have been loaded just now: the recording must end before CUPTI does.
    std::atexit(&endAtExit);
}

bool Recorder::isStarted() noexcept
{
    return Recording::isOpen();
}

bool Recorder::isRecording() noexcept
{
    return trace::HostLogs::recording() && Recording::isOpen();
}

void Recorder::noteOpening(std::string_view name) noexcept
{
    if (Recording::awaitsRange())
        attempt([&](Recording& recording) { recording.noteOpening(name); });
}

void Recorder::noteRange(std::string_view name, std::uint32_t thread, std::int64_t start,
                         std::int64_t end) noexcept
{
    if (isRecording())
        attempt([&](Recording& recording) { recording.noteRange(name, thread, start, end, 0); });
}

void Recorder::noteFact(std::string_view key, std::string_view value) noexcept
{
    if (isStarted())
        attempt([&](Recording& recording) { recording.noteFact(key, value); });
}

void Recorder::noteHeld(const HeldMemory& memory) noexcept
{
    if (isStarted())
        attempt([&](Recording& recording) { recording.noteHeld(memory); });
}

std::uint64_t Recorder::startCollective(const StartedCollective& collective) noexcept
{
    std::uint64_t number = 0;
    if (isRecording())
        attempt([&](Recording& recording) { number = recording.collectives().start(collective); });
    return number;
}

void Recorder::endCollective(std::uint64_t number) noexcept
{
    // Also of one that began before a pause.
    if (number != 0 && isStarted())
        attempt([&](Recording& recording) { recording.collectives().end(number); });
}

void Recorder::startDeviceMemory(int devices) noexcept
{
    if (isStarted())
        attempt([&](Recording& recording) { recording.startDeviceMemory(devices); });
}

void Recorder::noteOpened() noexcept
{
    if (isRecording())
        current.load()->noteOpened();
}

void Recorder::endStep() noexcept
{
    if (isStarted())
        attempt([](Recording& recording) { recording.endStep(); });
}

void Recorder::yieldDevice() noexcept
{
    if (isStarted())
        attempt([](Recording& recording) { recording.yieldDevice(); });
}

void Recorder::end() noexcept
{
    endAtExit();
}

void Recorder::flush() noexcept
{
    if (isStarted() && getpid() == owner)
        Recording::writeNow();
}

} // namespace tilescope::record
