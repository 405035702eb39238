#include "app/record/recorder.h"

#include "app/record/nested_ranges.h"
#include "app/record/nvtx_callbacks.h"
#include "app/record/python_functions.h"
#include "app/record/python_stacks.h"
#include "app/record/recording.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace tilescope::record {

namespace {

using trace::HostLogs;

std::atomic<Recording*> current{nullptr};
std::atomic<bool> deviceStarted{false};
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

// --- fork() ---

std::atomic<bool> isNewChild{false};  ///< its recording has not started
bool parentRecorded = false;          ///< events, when it forked
thread_local bool holdsLocks = false; ///< from the beginning to the end of fork()
thread_local bool holdsStart = false; ///< likewise: startMutex
constinit Mutex startMutex;

/// What a child goes on to use, in the order in which they are acquired.
std::array<Mutex*, 5> locksOfChild()
{
    return {&namesMutex(), &nvtxMutex(), &current.load()->forkMutex(), &HostLogs::instance().forkMutex(),
            &trace::PathTree::instance().forkMutex()};
}

void beforeFork()
{
    holdsStart = startMutex.acquireToFork();
    if (!Recording::isOpen())
        return;
    const auto locks = locksOfChild();
    for (std::size_t i = 0; i < locks.size(); ++i) {
        if (locks[i]->acquireToFork())
            continue;
        while (i-- > 0)
            locks[i]->releaseAfterFork();
        return;
    }
    holdsLocks = true;
}

bool releaseLocks()
{
    if (std::exchange(holdsStart, false))
        startMutex.releaseAfterFork();
    if (!std::exchange(holdsLocks, false))
        return false;
    for (Mutex* lock : locksOfChild())
        lock->releaseAfterFork();
    return true;
}

void afterForkInParent()
{
    releaseLocks();
}

/// Only takes note, because most children do nothing that is recorded. The recording of the parent and its thread are not
/// in this process.
void afterForkInChild()
{
    const bool isWhole = releaseLocks();
    const bool wasOn = HostLogs::recording();
    if (!Recording::close())
        return;
    HostLogs::instance().forgetThreads();
    forgetOpenRanges();
    forgetOpenObjects();
    PythonStacks::forgetThreads();
    parentRecorded = wasOn;
    isNewChild.store(isWhole);
    Recording::awaitRange(isWhole);
}

/// As soon as the library is loaded: another thread may fork while the recording starts.
[[gnu::constructor]] void watchForks()
{
    pthread_atfork(&beforeFork, &afterForkInParent, &afterForkInChild);
}

// --- start ---

bool startOnce() noexcept
{
    try {
        Settings settings = Settings::ofThisProcess();
        if (settings.folder.empty())
            return false;
        owner = getpid();
        current.store(new Recording(std::move(settings)));
        if (!Recording::isOpen())
            return false;
        std::atexit(&endAtExit);
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace

Mutex& Recorder::startGuard() noexcept
{
    return startMutex;
}

bool Recorder::start() noexcept
{
    static const bool started = startOnce();
    return started && (Recording::isOpen() || isNewChild.load());
}

bool Recorder::startInChild() noexcept
{
    if (!isNewChild.load(std::memory_order_relaxed) || !isNewChild.exchange(false))
        return isRecording();
    Recording::awaitRange(false);
    attempt([](Recording& parent) {
        Settings settings = parent.settings();
        // The parent has seen the range with which the recording starts.
        if (parentRecorded)
            settings.window.range.clear();
        owner = getpid();
        deviceStarted.store(false);
        current.store(new Recording(std::move(settings), parent.factsForChildren()));
    });
    return isRecording();
}

void Recorder::startDevice() noexcept
{
    if (!start())
        return;
    startInChild();
    if (!isStarted() || deviceStarted.exchange(true))
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
    return HostLogs::recording() && Recording::isOpen();
}

void Recorder::noteOpening(std::string_view name) noexcept
{
    if (!Recording::awaitsRange())
        return;
    startInChild();
    if (isStarted())
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
    startInChild();
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
    isNewChild.store(false);
    endAtExit();
}

void Recorder::endedWith(int status) noexcept
{
    noteFact("exit_status", std::to_string(status));
    endAtExit();
}

void Recorder::flush() noexcept
{
    if (isStarted() && getpid() == owner)
        attempt([](Recording& recording) { recording.flush(); });
}

} // namespace tilescope::record
