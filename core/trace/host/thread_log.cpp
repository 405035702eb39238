#include "core/trace/host/thread_log.h"

#include "core/base/units.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/node_path.h"

#include <unistd.h>

#include <cstring>

namespace tilescope::trace {

namespace {

std::int64_t now() noexcept
{
    return nanosecondsOf(TraceClock::now());
}

} // namespace

std::string pathCreating(std::uint64_t thread, std::uint64_t sequence)
{
    const PathNode* path = ThreadLog::pathCreating(thread, sequence);
    return path ? path->path : std::string();
}

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
    callDepth_.store(0, std::memory_order_relaxed);
    ordinalStep_ = kNoStep;
    opOrdinal_ = launchOrdinal_ = 0;
    lastNode_ = {};
    lastNodePath_ = nullptr;
    nextOpId_ = lastOpId_ = 0;
    adopt();
}

std::uint32_t ThreadLog::openRange(std::string_view component, std::string_view nvtxName,
                                   std::source_location where)
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
                // A module that is recomputed, or whose backward opens its range again, is still a single
                // module.
                repeats = backward->component == component;
            }
        }
    }
    const PathNode* path = repeats ? above : names_.child(above ? above : tree.root(), component);
    // Registered now, so that records under an allocator's lock find it without taking another lock.
    const PathNode* twin = tree.backward(path);
    path->noteOpened(where);
    // Backward's modules are entered by autograd, at no place of ours; its phase is opened like any range.
    if (twin && twin->component == path->component)
        twin->noteOpened(where);
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

std::int64_t ThreadLog::startOf(std::uint32_t id) const
{
    for (int depth = rangeDepth_; depth-- > 0;)
        if (ranges_[depth].id == id)
            return ranges_[depth].start;
    return 0;
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

std::uint32_t ThreadLog::numberOf(std::string_view text)
{
    PathTree& tree = PathTree::instance();
    return tree.child(tree.names(), text)->id;
}

void ThreadLog::openOp(std::string_view name, std::int64_t sequence, OpScope scope, std::uint32_t shapes)
{
    const std::int32_t step = enterStep();
    const std::uint32_t ordinal = opOrdinal_++;
    if (opDepth_ >= kDeepestOp) {
        ++opDepth_;
        tooDeep.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    HostRecord& op = ops_[opDepth_];
    op.kind = HostRecord::Kind::Op;
    op.detail = static_cast<std::uint8_t>(scope);
    op.step = step;
    // A backward node is an op that knows its own path.
    op.context = scope == OpScope::Backward ? probedContext() : context();
    opRangeDepths_[static_cast<std::size_t>(opDepth_)] = rangeDepth_;
    op.op = {.id = nextOpId(),
             .name = opName(name, scope),
             .ordinal = ordinal,
             .shapes = shapes,
             .sequence = sequence,
             .start = 0,
             .end = 0};
    ++opDepth_;
    // Last, so that the op's time leaves out what noting it took.
    op.op.start = now();
}

std::uint32_t ThreadLog::nextOpId()
{
    // One by one, threads would hand the counter's cache line to and fro.
    constexpr std::uint32_t kBlock = 256;
    if (nextOpId_ == lastOpId_) {
        nextOpId_ = HostLogs::instance().nextOp_.fetch_add(kBlock, std::memory_order_relaxed);
        lastOpId_ = nextOpId_ + kBlock;
    }
    return nextOpId_++;
}

std::uint32_t ThreadLog::opName(std::string_view name, OpScope scope)
{
    const PathNode* names = PathTree::instance().names();
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    // Names of backward nodes are made anew each time.
    if (scope == OpScope::Backward || name.size() < sizeof(tail))
        return names_.child(names, name)->id;
    std::memcpy(&head, name.data(), sizeof(head));
    std::memcpy(&tail, name.data() + name.size() - sizeof(tail), sizeof(tail));
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(name.data()) * kOdd;
    KnownName& known = opNames_[(hash >> 32) % kKnownNames];
    if (known.text != name.data() || known.size != name.size() || known.head != head || known.tail != tail)
        known = {name.data(), name.size(), head, tail, names_.child(names, name)->id};
    return known.id;
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

std::int32_t ThreadLog::enterStep()
{
    const std::int32_t step = HostLogs::instance().step();
    if (step != ordinalStep_) {
        ordinalStep_ = step;
        opOrdinal_ = launchOrdinal_ = 0;
    }
    return step;
}

bool ThreadLog::enterCall()
{
    const int depth = callDepth_.load(std::memory_order_relaxed);
    callDepth_.store(depth + 1, std::memory_order_relaxed);
    return depth == 0;
}

bool ThreadLog::leaveCall()
{
    // A call that began before the recording has nothing to end.
    const int depth = callDepth_.load(std::memory_order_relaxed);
    if (depth > 0)
        callDepth_.store(depth - 1, std::memory_order_relaxed);
    return depth == 1;
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
    const StackProbe probe = HostLogs::instance().stackProbe_.load(std::memory_order_acquire);
    record.detail = probe && probe(*this) ? 1 : 0;
    record.step = enterStep();
    record.context = context();
    record.launch = {.correlation = correlation, .ordinal = launchOrdinal_++, .time = time};
    ring.push(record);
}

void ThreadLog::noteGraphNode(std::uint64_t node, std::uint64_t original)
{
    HostRecord record;
    record.kind = HostRecord::Kind::GraphNode;
    record.step = HostLogs::instance().step();
    record.context = context();
    record.graphNode = {.node = node, .original = original};
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

void ThreadLog::noteFrame(std::uint32_t name, std::int64_t start)
{
    HostRecord record;
    record.kind = HostRecord::Kind::Frame;
    record.step = HostLogs::instance().step();
    record.frame = {.name = name, .start = start, .end = now()};
    ring.push(record);
}

HostContext ThreadLog::context() noexcept
{
    // Nested ops belong to the op's path unless it opened its own range.
    if (opDepth_ > 0 && opDepth_ <= kDeepestOp) {
        const auto top = static_cast<std::size_t>(opDepth_ - 1);
        if (opRangeDepths_[top] == rangeDepth_) {
            HostContext where = ops_[top].context;
            where.op = ops_[top].op.id;
            return where;
        }
    }
    return probedContext();
}

HostContext ThreadLog::probedContext() noexcept
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
        // A range that the node opened takes precedence over the node.
        if (node.identity && !(own && own->node == node.identity)) {
            if (const PathNode* backward = backwardPath(node))
                path = backward;
        }
    }
    where.path = path ? path->id : kNone;
    return where;
}

// --- path of the forward op of a backward node -----------------------------------------------------
//
// Autograd numbers the nodes of a thread consecutively. The numbers at which the thread's innermost range
// changed therefore determine the range in which any node was created, without a cost per op.

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

const PathNode* ThreadLog::pathOfNode(std::uint64_t sequence, std::uint64_t& place) const noexcept
{
    const std::uint64_t count = boundaryCount_.load(std::memory_order_acquire);
    std::uint64_t low = count > kBoundaries ? count - kBoundaries : 0;
    std::uint64_t high = count;
    const std::uint64_t oldest = low;
    const auto sequenceAt = [this](std::uint64_t boundary) {
        return boundaries_[boundary % kBoundaries].sequence.load(std::memory_order_relaxed);
    };
    // Each step of a search among thousands touches memory of another thread; most nodes lie just before the last.
    constexpr int kNear = 8;
    for (int i = 0; i < kNear && place >= oldest && place < count; ++i, --place) {
        if (sequenceAt(place) <= sequence) {
            if (place + 1 < count && sequenceAt(place + 1) <= sequence)
                break;
            return boundaries_[place % kBoundaries].path.load(std::memory_order_relaxed);
        }
        if (place == 0)
            break;
    }
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (sequenceAt(middle) <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    place = low == oldest ? ~std::uint64_t{0} : low - 1;
    return low == oldest ? nullptr : boundaries_[place % kBoundaries].path.load(std::memory_order_relaxed);
}

const PathNode* ThreadLog::pathCreating(std::uint64_t thread, std::uint64_t sequence) noexcept
{
    std::uint64_t place = ~std::uint64_t{0};
    return pathCreating(thread, sequence, place);
}

const PathNode* ThreadLog::pathCreating(std::uint64_t thread, std::uint64_t sequence,
                                        std::uint64_t& place) noexcept
{
    for (const ThreadLog* log : HostLogs::instance().logs())
        if (log->logicalThread_.load(std::memory_order_relaxed) == thread)
            return log->pathOfNode(sequence, place);
    return nullptr;
}

const PathNode* ThreadLog::backwardPath(const AutogradProbe::Node& node) noexcept
{
    // Autograd runs an accumulation right after the node that made the gradient: it belongs there.
    if (node.sequence == kAccumulateSequence)
        return lastNodePath_;
    if (node.identity == lastNode_.identity && node.sequence == lastNode_.sequence &&
        node.thread == lastNode_.thread)
        return lastNodePath_;
    const PathNode* forward = pathCreating(node.thread, node.sequence, lastBoundary_);
    lastNode_ = node;
    lastNodePath_ = forward ? PathTree::knownBackward(forward) : nullptr;
    return lastNodePath_;
}

} // namespace tilescope::trace
