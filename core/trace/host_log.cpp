#include "core/trace/host_log.h"

#include "core/base/units.h"
#include "core/trace/nvtx.h"
#include "core/trace/range.h"

#include <unistd.h>

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

std::int64_t now() noexcept
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

std::uint32_t openRange(std::string_view component, std::string_view nvtxName)
{
    std::uint32_t token = kNvtxOnly;
    if (ThreadLog* log = HostLogs::mine())
        token = log->openRange(component, nvtxName);
    if (const auto push = nvtxPush.load(std::memory_order_relaxed)) {
        // NVTX wants a terminated string; interned names are.
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

// --- one thread's log
// ----------------------------------------------------------------------------------------

ThreadLog::ThreadLog(std::size_t ringCapacity) : ring(ringCapacity) {}

void ThreadLog::adopt()
{
    thread_.store(static_cast<std::uint32_t>(gettid()), std::memory_order_relaxed);
    if (const AutogradProbe* probe = HostLogs::instance().probe_.load(std::memory_order_acquire)) {
        const std::uint64_t logical = probe->thread();
        // Numbers of another thread's nodes mean nothing here.
        if (logical != logicalThread_.exchange(logical, std::memory_order_relaxed))
            boundaryCount_.store(0, std::memory_order_relaxed);
    }
}

void ThreadLog::enterRecording()
{
    generation_ = HostLogs::instance().generation_.load(std::memory_order_acquire);
    rangeDepth_ = 0;
    opDepth_ = 0;
    callDepth_ = 0;
    ordinalStep_ = kNoStep;
    ordinal_ = 0;
    lastNode_ = {};
    lastNodePath_ = nullptr;
    adopt();
}

std::uint32_t ThreadLog::openRange(std::string_view component, std::string_view nvtxName)
{
    HostLogs& logs = HostLogs::instance();
    PathTree& tree = PathTree::instance();
    const OpenRange* own = innermost();
    const PathNode* above = own ? own->path : logs.sessionPath_.load(std::memory_order_acquire);
    const void* node = nullptr;
    bool repeats = false;
    if (const AutogradProbe* probe = logs.probe_.load(std::memory_order_acquire)) {
        const AutogradProbe::Node running = probe->running();
        node = running.identity;
        if (node && !(own && own->node == node)) {
            if (const PathNode* backward = backwardPath(running)) {
                above = backward;
                // A module that is recomputed, or whose backward opens its own range again, is still one
                // module.
                repeats = backward->component == component;
            }
        }
    }
    const PathNode* path = repeats ? above : names_.child(above ? above : tree.root(), component);
    // Known from here on, so that what is noted under an allocator's lock finds it without one of its own.
    tree.backward(path);
    const PathNode* name =
        nvtxName == std::string_view(path->component) ? path : names_.child(tree.names(), nvtxName);
    const std::uint32_t id = logs.nextRange_.fetch_add(1, std::memory_order_relaxed);
    if (rangeDepth_ == kDeepestRange) {
        tooDeep.fetch_add(1, std::memory_order_relaxed);
        return id;
    }
    ranges_[rangeDepth_++] = {.path = path,
                              .name = name,
                              .node = node,
                              .id = id,
                              .parent = own ? own->id : kNone,
                              .step = logs.step(),
                              .start = now()};
    noteBoundary();
    publishSessionPlace();
    return id;
}

void ThreadLog::closeRange(std::uint32_t id)
{
    for (int depth = rangeDepth_; depth-- > 0;) {
        if (ranges_[depth].id != id)
            continue;
        pushRange(ranges_[depth], now());
        rangeDepth_ = depth;
        noteBoundary();
        publishSessionPlace();
        return;
    }
}

void ThreadLog::closeAll(std::int64_t end)
{
    while (rangeDepth_ > 0)
        pushRange(ranges_[--rangeDepth_], end);
    opDepth_ = 0;
    noteBoundary();
    publishSessionPlace();
}

void ThreadLog::pushRange(const OpenRange& range, std::int64_t end)
{
    HostRecord record;
    record.kind = HostRecord::Kind::Range;
    record.step = range.step;
    record.context = {.path = range.path->id, .range = range.id};
    record.range = {
        .id = range.id, .parent = range.parent, .name = range.name->id, .start = range.start, .end = end};
    ring.push(record);
}

void ThreadLog::publishSessionPlace()
{
    if (!session_)
        return;
    HostLogs& logs = HostLogs::instance();
    const OpenRange* own = innermost();
    logs.sessionPath_.store(own ? own->path : nullptr, std::memory_order_release);
    logs.sessionRange_.store(own ? own->id : kNone, std::memory_order_release);
}

void ThreadLog::openOp(std::string_view name, std::int64_t sequence, OpScope scope, std::string_view shapes)
{
    HostLogs& logs = HostLogs::instance();
    const std::int32_t step = logs.step();
    if (step != ordinalStep_) {
        ordinalStep_ = step;
        ordinal_ = 0;
    }
    const std::uint32_t ordinal = ordinal_++;
    if (opDepth_ >= kDeepestOp) {
        ++opDepth_;
        tooDeep.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const PathNode* names = PathTree::instance().names();
    HostRecord& op = ops_[opDepth_];
    op.kind = HostRecord::Kind::Op;
    op.detail = static_cast<std::uint8_t>(scope);
    op.step = step;
    op.context = context();
    op.op = {.id = logs.nextOp_.fetch_add(1, std::memory_order_relaxed),
             .name = names_.child(names, name)->id,
             .ordinal = ordinal,
             .shapes = shapes.empty() ? kNone : names_.child(names, shapes)->id,
             .sequence = sequence,
             .start = 0,
             .end = 0};
    ++opDepth_;
    // Last, so that the op's time leaves out what noting it took.
    op.op.start = now();
}

void ThreadLog::closeOp()
{
    const std::int64_t end = now();
    // An op that began before the recording has nothing to close.
    if (opDepth_ == 0 || --opDepth_ >= kDeepestOp)
        return;
    HostRecord& op = ops_[opDepth_];
    op.op.end = end;
    ring.push(op);
}

bool ThreadLog::enterCall()
{
    return callDepth_++ == 0;
}

bool ThreadLog::leaveCall()
{
    // A call that began before the recording has nothing to end.
    return callDepth_ > 0 && --callDepth_ == 0;
}

void ThreadLog::noteStep(std::int32_t step)
{
    HostRecord record;
    record.kind = HostRecord::Kind::Step;
    record.step = step;
    record.change = {.time = now()};
    ring.push(record);
}

void ThreadLog::noteLaunch(std::uint32_t correlation, std::int64_t time)
{
    HostRecord record;
    record.kind = HostRecord::Kind::Launch;
    record.step = HostLogs::instance().step();
    record.context = context();
    record.launch = {.correlation = correlation, .time = time};
    ring.push(record);
}

void ThreadLog::noteApiCall(ApiKind kind, std::uint32_t function, std::uint32_t correlation,
                            std::int64_t start, std::int64_t end)
{
    HostRecord record;
    record.kind = HostRecord::Kind::Api;
    record.detail = static_cast<std::uint8_t>(kind);
    record.step = HostLogs::instance().step();
    record.context = context();
    record.api = {.correlation = correlation, .function = function, .start = start, .end = end};
    ring.push(record);
}

void ThreadLog::noteAllocation(AllocAction action, const void* address, std::int64_t bytes,
                               std::int64_t allocated)
{
    HostRecord record;
    record.kind = HostRecord::Kind::Alloc;
    record.detail = static_cast<std::uint8_t>(action);
    record.step = HostLogs::instance().step();
    record.context = context();
    record.alloc = {.address = reinterpret_cast<std::uint64_t>(address),
                    .bytes = bytes,
                    .allocated = allocated,
                    .time = now()};
    ring.push(record);
}

HostContext ThreadLog::context() noexcept
{
    HostLogs& logs = HostLogs::instance();
    HostContext where;
    if (opDepth_ > 0)
        where.op = ops_[std::min(opDepth_, kDeepestOp) - 1].op.id;
    const OpenRange* own = innermost();
    const PathNode* path = nullptr;
    if (own) {
        where.range = own->id;
        path = own->path;
    } else {
        where.range = logs.sessionRange_.load(std::memory_order_acquire);
        path = logs.sessionPath_.load(std::memory_order_acquire);
    }
    if (const AutogradProbe* probe = logs.probe_.load(std::memory_order_acquire)) {
        const AutogradProbe::Node node = probe->running();
        // A range that the node itself opened says more than the node.
        if (node.identity && !(own && own->node == node.identity)) {
            if (const PathNode* backward = backwardPath(node))
                path = backward;
        }
    }
    where.path = path ? path->id : kNone;
    return where;
}

// --- from a backward node back to the path its forward op ran in
// ----------------------------------------------
//
// Autograd numbers the nodes a thread creates one after another. The numbers at which the thread's innermost
// range changed are therefore enough to tell the range any node was created in, at no cost per op.

void ThreadLog::noteBoundary()
{
    const AutogradProbe* probe = HostLogs::instance().probe_.load(std::memory_order_acquire);
    if (!probe)
        return;
    const std::uint64_t sequence = probe->nextSequence();
    const OpenRange* own = innermost();
    std::uint64_t count = boundaryCount_.load(std::memory_order_relaxed);
    const bool replaces = count > 0 && boundaries_[(count - 1) % kBoundaries].sequence.load(
                                           std::memory_order_relaxed) == sequence;
    if (!replaces)
        ++count;
    Boundary& boundary = boundaries_[(count - 1) % kBoundaries];
    boundary.sequence.store(sequence, std::memory_order_relaxed);
    boundary.path.store(own ? own->path : nullptr, std::memory_order_relaxed);
    boundaryCount_.store(count, std::memory_order_release);
}

const PathNode* ThreadLog::pathCreating(std::uint64_t sequence) const noexcept
{
    const std::uint64_t count = boundaryCount_.load(std::memory_order_acquire);
    std::uint64_t low = count > kBoundaries ? count - kBoundaries : 0;
    std::uint64_t high = count;
    const std::uint64_t oldest = low;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (boundaries_[middle % kBoundaries].sequence.load(std::memory_order_relaxed) <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low == oldest ? nullptr
                         : boundaries_[(low - 1) % kBoundaries].path.load(std::memory_order_relaxed);
}

const PathNode* ThreadLog::backwardPath(const AutogradProbe::Node& node) noexcept
{
    // Autograd runs an accumulation right after the node that made the gradient: it belongs there.
    if (node.sequence == kAccumulateSequence)
        return lastNodePath_;
    if (node.identity == lastNode_.identity && node.sequence == lastNode_.sequence &&
        node.thread == lastNode_.thread)
        return lastNodePath_;
    const PathNode* forward = nullptr;
    for (const ThreadLog* log : HostLogs::instance().logs()) {
        if (log->logicalThread_.load(std::memory_order_relaxed) == node.thread) {
            forward = log->pathCreating(node.sequence);
            break;
        }
    }
    lastNode_ = node;
    lastNodePath_ = forward ? PathTree::knownBackward(forward) : nullptr;
    return lastNodePath_;
}

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
    if (!recording() || tlsEnded)
        return nullptr;
    if (!tlsLog) {
        if (missing == Missing::GoWithout)
            return nullptr;
        tlsLog = instance().takeSpare();
        if (!tlsLog && missing == Missing::Make)
            tlsLog = instance().add(ThreadLog::State::Owned);
        if (!tlsLog)
            return nullptr;
        tlsOwner.log = tlsLog;
    }
    if (tlsLog->generation_ != instance().generation_.load(std::memory_order_acquire))
        tlsLog->enterRecording();
    return tlsLog;
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
    const std::scoped_lock lock(addMutex_);
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
    // What a thread noted while the last recording was being stopped belongs to nobody.
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

    step_.store(kNoStep, std::memory_order_relaxed);
    sessionPath_.store(nullptr, std::memory_order_relaxed);
    sessionRange_.store(kNone, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    detail::rangeListeners.fetch_or(kTracerListens, std::memory_order_release);
    if (ThreadLog* log = mine())
        log->session_ = true;
}

void HostLogs::stop()
{
    if (ThreadLog* log = mineIfAny()) {
        log->closeAll(now());
        log->session_ = false;
    }
    detail::rangeListeners.fetch_and(~kTracerListens, std::memory_order_release);
}

HostLogs::Counters HostLogs::counters() const
{
    Counters sum{.threadsRefused = refused_.load(std::memory_order_relaxed)};
    for (const ThreadLog* log : logs()) {
        sum.dropped += log->ring.dropped();
        sum.tooDeep += log->tooDeep.load(std::memory_order_relaxed);
        sum.chatter += log->chatter.load(std::memory_order_relaxed);
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
