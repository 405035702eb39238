#include "core/trace/host/host_log.h"

#include "core/base/units.h"
#include "core/trace/host/nvtx.h"
#include "core/trace/host/range.h"

namespace tilescope::trace {

namespace {

constexpr std::uint32_t kTracerListens = 1;
constexpr std::uint32_t kNvtxListens = 2;
/// Token of a range that only NVTX saw. Range numbers stay below it.
constexpr std::uint32_t kNvtxOnly = kNone - 1;

std::atomic<bool> cpuAllocationsWanted{false};
std::atomic<void (*)(const char*)> nvtxPush{nullptr};
std::atomic<void (*)()> nvtxPop{nullptr};

constinit thread_local ThreadLog* tlsLog = nullptr;
constinit thread_local bool tlsEnded = false;

std::int64_t traceTime() noexcept
{
    return nanosecondsOf(TraceClock::now());
}

} // namespace

/// Gives a thread's log back when the thread ends.
struct ThreadLogOwner {
    ThreadLog* log = nullptr;
    ~ThreadLogOwner()
    {
        tlsLog = nullptr;
        tlsEnded = true;
        if (log)
            log->state_.store(ThreadLog::State::Orphaned, std::memory_order_release);
    }
};

namespace {
thread_local ThreadLogOwner tlsOwner;
}

namespace detail {

std::atomic<std::uint32_t> rangeListeners{0};

std::uint32_t openRange(std::string_view component, std::string_view nvtxName, std::source_location where)
{
    std::uint32_t token = kNvtxOnly;
    if (ThreadLog* log = HostLogs::mine())
        token = log->openRange(component, nvtxName, where);
    if (const auto push = nvtxPush.load(std::memory_order_relaxed)) {
        // NVTX requires a terminated string; interned names are terminated.
        PathTree& tree = PathTree::instance();
        push(tree.child(tree.names(), nvtxName)->component.c_str());
    }
    return token;
}

void closeRange(std::uint32_t token) noexcept
{
    if (const auto pop = nvtxPop.load(std::memory_order_relaxed))
        pop();
    if (token == kNvtxOnly)
        return;
    if (ThreadLog* log = HostLogs::mineIfAny())
        log->closeRange(token);
}

void setNvtxHooks(const NvtxHooks& hooks, bool toolListens) noexcept
{
    nvtxPop.store(hooks.pop, std::memory_order_relaxed);
    nvtxPush.store(hooks.push, std::memory_order_relaxed);
    if (toolListens)
        rangeListeners.fetch_or(kNvtxListens, std::memory_order_relaxed);
}

} // namespace detail

// --- all logs
// --------------------------------------------------------------------------------------------------

HostLogs& HostLogs::instance()
{
    static auto* const logs = new HostLogs;
    return *logs;
}

bool HostLogs::recording() noexcept
{
    return detail::rangeListeners.load(std::memory_order_relaxed) & kTracerListens;
}

HostContext HostLogs::here() noexcept
{
    if (ThreadLog* log = find(Missing::TakeSpare))
        return log->context();
    const HostLogs& logs = instance();
    const PathNode* path = logs.sessionPath_.load(std::memory_order_acquire);
    return {.path = path ? path->id : kNone, .range = logs.sessionRange_.load(std::memory_order_acquire)};
}

std::uint32_t HostLogs::hereThread() noexcept
{
    return tlsLog ? tlsLog->thread() : 0;
}

ThreadLog* HostLogs::mine()
{
    return find(Missing::Make);
}

ThreadLog* HostLogs::mineIfAny() noexcept
{
    return find(Missing::GoWithout);
}

ThreadLog* HostLogs::find(Missing missing)
{
    if (!recording())
        return nullptr;
    // Read once: an access of a thread's variable is a call in a library.
    ThreadLog* log = tlsLog;
    if (!log) {
        if (missing == Missing::GoWithout || tlsEnded)
            return nullptr;
        log = instance().takeSpare();
        if (!log && missing == Missing::Make)
            log = instance().add(ThreadLog::State::Owned);
        if (!log)
            return nullptr;
        tlsOwner.log = tlsLog = log;
    }
    if (log->generation_ != instance().generation_.load(std::memory_order_acquire))
        log->enterRecording();
    return log;
}

ThreadLog* HostLogs::takeSpare() noexcept
{
    for (ThreadLog* log : logs()) {
        auto expected = ThreadLog::State::Free;
        if (log->state_.compare_exchange_strong(expected, ThreadLog::State::Owned,
                                                std::memory_order_acq_rel)) {
            log->session_ = false;
            log->generation_ = 0;
            return log;
        }
    }
    return nullptr;
}

ThreadLog* HostLogs::add(ThreadLog::State state)
{
    const MutexLock lock(addMutex_);
    const std::size_t count = logCount_.load(std::memory_order_relaxed);
    if (count == kMostLogs) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    // Never freed: a thread may still hold it when everything else is gone.
    auto* log = new ThreadLog(ringCapacity_.load(std::memory_order_relaxed));
    log->state_.store(state, std::memory_order_relaxed);
    logs_[count] = log;
    logCount_.store(count + 1, std::memory_order_release);
    return log;
}

std::span<ThreadLog* const> HostLogs::logs() const
{
    return {logs_.data(), logCount_.load(std::memory_order_acquire)};
}

void HostLogs::start(std::size_t ringCapacity, std::size_t spareLogs)
{
    ringCapacity_.store(ringCapacity, std::memory_order_relaxed);
    // Discard records that a thread noted while the last recording was being stopped.
    drain([](const ThreadLog&, const HostRecord&) {});
    std::size_t free = 0;
    for (ThreadLog* log : logs()) {
        if (log->state_.load(std::memory_order_acquire) != ThreadLog::State::Free)
            continue;
        log->ring.resize(ringCapacity);
        ++free;
    }
    for (; free < spareLogs; ++free)
        add(ThreadLog::State::Free);
    begin(nullptr);
    if (ThreadLog* log = mine())
        log->session_ = true;
}

void HostLogs::startWithin(std::string_view path, std::size_t ringCapacity, std::size_t spareLogs)
{
    ringCapacity_.store(ringCapacity, std::memory_order_relaxed);
    const auto isFree = [](const ThreadLog* log) {
        return log->state_.load(std::memory_order_acquire) == ThreadLog::State::Free;
    };
    for (auto free = static_cast<std::size_t>(std::ranges::count_if(logs(), isFree)); free < spareLogs;
         ++free)
        add(ThreadLog::State::Free);
    PathTree& tree = PathTree::instance();
    begin(tree.child(tree.root(), path));
}

void HostLogs::begin(const PathNode* path)
{
    step_.store(kNoStep, std::memory_order_relaxed);
    sessionPath_.store(path, std::memory_order_relaxed);
    sessionRange_.store(kNone, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    detail::rangeListeners.fetch_or(kTracerListens, std::memory_order_release);
}

void HostLogs::stop()
{
    if (ThreadLog* log = mineIfAny()) {
        log->closeAll(traceTime());
        log->session_ = false;
    }
    detail::rangeListeners.fetch_and(~kTracerListens, std::memory_order_release);
}

void HostLogs::forgetThreads() noexcept
{
    detail::rangeListeners.store(0);
    logCount_.store(0);
    tlsOwner.log = tlsLog = nullptr;
}

HostLogs::Counters HostLogs::counters() const
{
    Counters sum{.namesMerged = PathTree::instance().merged(),
                 .threadsRefused = refused_.load(std::memory_order_relaxed)};
    for (const ThreadLog* log : logs()) {
        sum.dropped += log->ring.dropped();
        sum.tooDeep += log->tooDeep.load(std::memory_order_relaxed);
        sum.countedOnly += log->countedOnly.load(std::memory_order_relaxed);
    }
    return sum;
}

void HostLogs::setStep(std::int32_t step)
{
    step_.store(step, std::memory_order_relaxed);
    if (ThreadLog* log = mine())
        log->noteStep(step);
}

void HostLogs::setProbe(const AutogradProbe& probe)
{
    probeStorage_ = probe;
    probe_.store(&probeStorage_, std::memory_order_release);
}

// --- allocations of the CPU
// ------------------------------------------------------------------------------------

void noteCpuAllocation(AllocAction action, const void* address, std::int64_t bytes, std::int64_t allocated)
{
    if (!cpuAllocationsWanted.load(std::memory_order_relaxed))
        return;
    if (ThreadLog* log = HostLogs::mine())
        log->noteAllocation(action, address, bytes, allocated);
}

void recordCpuAllocations(bool wanted) noexcept
{
    cpuAllocationsWanted.store(wanted, std::memory_order_relaxed);
}

} // namespace tilescope::trace
