#include "app/record/recorder.h"

#include "app/record/nested_ranges.h"
#include "app/record/nvtx_callbacks.h"
#include "app/record/python_functions.h"
#include "app/record/python_stacks.h"
#include "app/record/recording.h"
#include "core/record/options.h"
#include "core/record/process_end.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"
#include "core/trace/host/quiet_thread.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
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
    if (Recording::isOpen() && getpid() == owner)
        attempt([](Recording& recording) { recording.endPossibleSteps(); });
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

/// What the recorder needs of the memory that a process may have, which the program still needs as well.
constexpr std::size_t kRoom = std::size_t{2} << 30;
constexpr std::size_t kLeast = std::size_t{1} << 16; ///< so little that the C library keeps its thresholds

/// Whether there is memory, and the limits of it (ulimit -v and -d) leave room for the recorder. Opens no file.
bool hasRoom() noexcept
{
    void* some = std::malloc(kLeast);
    std::free(some);
    if (!some)
        return false;
    rlimit all{};
    rlimit data{};
    if (getrlimit(RLIMIT_AS, &all) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
        (all.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY))
        return true;
    // Counted by both limits, and without memory as nothing touches it.
    void* room =
        mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, kRoom);
    return true;
}

// The recorder starts a thread in each process, and `tilescope record` has a few processes and threads of the same user.
constexpr std::size_t kThreadRoom = 16;
constexpr rlim_t kManyThreads = 4096; ///< a limit that is not looked at
constexpr std::size_t kProbeStack = std::size_t{256} << 10;

void* awaitRelease(void* isReleased)
{
    static_cast<std::atomic<bool>*>(isReleased)->wait(false);
    return nullptr;
}

/// Whether a small limit of the user's processes and threads (ulimit -u) leaves room for the recorder's. How many there
/// are is not to be read, so that it is tried, for less than a millisecond.
bool hasRoomForThreads() noexcept
{
    rlimit limit{};
    if (geteuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur >= kManyThreads)
        return true;
    pthread_attr_t small;
    if (pthread_attr_init(&small) != 0)
        return false;
    pthread_attr_setstacksize(&small, kProbeStack);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::atomic<bool> isReleased{false};
    std::array<pthread_t, kThreadRoom> threads{};
    std::size_t count = 0;
    while (count < threads.size() && pthread_create(&threads[count], &small, &awaitRelease, &isReleased) == 0)
        ++count;
    isReleased = true;
    isReleased.notify_all();
    for (std::size_t i = 0; i < count; ++i)
        pthread_join(threads[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&small);
    return count == threads.size();
}

/// Says why this process is not recorded.
void sayUnrecorded(std::string_view reason) noexcept
{
    if (const char* folder = std::getenv(kFolderVariable))
        noteEnd(folder, getpid(), reason);
}

/// Opens a recording.
/// \param begin  makes it
template <class Begin> void openRecording(Begin begin) noexcept
{
    try {
        if (!hasRoom())
            sayUnrecorded(
                "its limit of memory (ulimit -v or -d) leaves less than 2 GiB, which the recorder and "
                "the program need; raise the limit");
        else if (!trace::mayStartThread()) // an exception could not be thrown without futex() either
            sayUnrecorded(
                "it may not start another thread: its system-call filter (seccomp) refuses futex, rseq or "
                "mmap, or it has no memory left");
        else if (!hasRoomForThreads())
            sayUnrecorded(
                "its limit of processes and threads (ulimit -u) leaves less than 16, which the recorder "
                "and the program need; raise the limit");
        else
            current.store(begin());
    } catch (const std::system_error&) {
        sayUnrecorded(
            "it may not start another thread; raise its limit of threads or memory (ulimit -u, -v)");
    } catch (...) {
        sayUnrecorded("it has no memory left");
    }
}

bool startOnce() noexcept
{
    openRecording([]() -> Recording* {
        // What functions use later that may not fail, such as those around fork().
        static_cast<void>(namesMutex());
        static_cast<void>(nvtxMutex());
        HostLogs::instance();
        trace::PathTree::instance();
        Settings settings = Settings::ofThisProcess();
        owner = getpid();
        return settings.folder.empty() ? nullptr : new Recording(std::move(settings));
    });
    if (!Recording::isOpen())
        return false;
    std::atexit(&endAtExit);
    std::at_quick_exit(&endAtExit);
    return true;
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
    openRecording([] {
        Recording& parent = *current.load();
        Settings settings = parent.settings();
        // The parent has seen the range with which the recording starts.
        if (parentRecorded)
            settings.window.range.clear();
        owner = getpid();
        deviceStarted.store(false);
        return new Recording(std::move(settings), parent.factsForChildren());
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

void Recorder::notePossibleStep(bool isOneAtTheEnd) noexcept
{
    if (isStarted())
        attempt([=](Recording& recording) { recording.notePossibleStep(isOneAtTheEnd); });
}

void Recorder::decidePossibleSteps(bool areSteps) noexcept
{
    if (isStarted())
        attempt([=](Recording& recording) { recording.decidePossibleSteps(areSteps); });
}

void Recorder::yieldDevice(Profiler profiler) noexcept
{
    if (isStarted())
        attempt([=](Recording& recording) { recording.yieldDevice(profiler); });
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
        attempt([](Recording& recording) { recording.flush(true); });
}

void Recorder::save() noexcept
{
    if (isStarted() && getpid() == owner)
        attempt([](Recording& recording) { recording.save(); });
}

} // namespace tilescope::record
