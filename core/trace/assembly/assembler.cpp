#include "core/trace/assembly/assembler.h"

#include "core/trace/host/code_places.h"
#include "core/trace/host/path_tree.h"

#include <algorithm>
#include <unordered_set>

namespace tilescope::trace {

namespace {

template <class Event> void sortByStart(std::vector<Event>& events)
{
    // Most lists are sorted; ranges and ops are noted when they end.
    if (!std::ranges::is_sorted(events, {}, &Event::start))
        std::ranges::stable_sort(events, {}, &Event::start);
}

} // namespace

Assembler::Assembler(StringTable& strings, std::uint32_t firstRange, std::uint32_t firstOp)
    : strings_(strings), firstRange_(firstRange), firstOp_(firstOp)
{
}

void Assembler::begin(Recording recording, Wanted wanted)
{
    recording_ = recording;
    wanted_ = wanted;
    if (recording == Recording::ReferenceStep) {
        referenceStep_.clear();
        referenceOps_.clear();
        referenceAllocations_.clear();
    } else if (recording == Recording::Launches) {
        listedLaunches_.clear();
        listedRanges_.clear();
    } else if (recording == Recording::Capture) {
        captured_ = {};
        capturingOps_.clear();
    } else if (recording == Recording::Events) {
        handOverReferenceOps();
        handOverCapturedOps();
    }
    launches_.clear();
    losses_ = {};
    recordsChecked_ = 0;
    stepChanges_.clear();
    deviceWaits_.clear();
    firstLatency_ = lastLatency_ = {};
}

StringId Assembler::textOf(std::uint32_t node, std::vector<StringId>& cache, bool path)
{
    if (node == kNone)
        return {};
    if (node >= cache.size())
        cache.resize(node + 64);
    if (!cache[node]) {
        const PathNode* found = PathTree::instance().node(node);
        cache[node] = strings_.intern(path ? found->path : found->component);
    }
    return cache[node];
}

std::vector<CodePlace> Assembler::places() const
{
    std::vector<const PathNode*> nodes;
    for (std::size_t node = 0; node < paths_.size(); ++node)
        if (paths_[node])
            nodes.push_back(PathTree::instance().node(static_cast<std::uint32_t>(node)));
    return codePlaces(nodes);
}

RangeId Assembler::rangeId(std::uint32_t number) const
{
    // A range that was open before this run was numbered has no row to point to.
    return number == kNone || number < firstRange_ ? RangeId::none() : RangeId{number - firstRange_};
}

OpId Assembler::opId(std::uint32_t number) const
{
    return number == kNone || number < firstOp_ ? OpId::none() : OpId{number - firstOp_};
}

void Assembler::addHost(std::uint32_t thread, const HostRecord& record)
{
    if (record.kind == HostRecord::Kind::GraphNode)
        return addGraphNode(record);
    if (recording_ == Recording::ReferenceStep)
        runReferenceStep(thread, record);
    if (recording_ == Recording::Launches)
        list(record);
    if (recording_ == Recording::Capture && record.kind == HostRecord::Kind::Op)
        keepCapturedOp(thread, record);
    if (recording_ != Recording::Events)
        return;
    if (record.kind == HostRecord::Kind::Step) {
        // Activities are delayed, but by fewer steps than this.
        constexpr std::size_t kStepsKept = 4096;
        stepChanges_.emplace_back(record.change.time, record.step);
        if (stepChanges_.size() > kStepsKept)
            stepChanges_.pop_front();
        return;
    }
    ++recordsChecked_;
    switch (record.kind) {
    case HostRecord::Kind::Range:
        return addRange(thread, record);
    case HostRecord::Kind::Op:
        return addOp(thread, record);
    case HostRecord::Kind::Launch:
        return addLaunch(thread, record);
    case HostRecord::Kind::Api:
        return addApi(thread, record);
    case HostRecord::Kind::Alloc:
        return addCpuAllocation(record);
    case HostRecord::Kind::Frame:
        return addFrame(thread, record);
    case HostRecord::Kind::Step:
    case HostRecord::Kind::GraphNode:
    case HostRecord::Kind::Stack: // of the recorder, which does not pass them on
    case HostRecord::Kind::Sample:
        return;
    }
}

void Assembler::runReferenceStep(std::uint32_t thread, const HostRecord& record)
{
    if (record.kind == HostRecord::Kind::Alloc) {
        addCpuAllocation(record);
    } else if (record.kind == HostRecord::Kind::Op) {
        if (wanted_.ops || wanted_.shapes)
            referenceStep_.noteOp(thread, record.step, record.op);
        if (!wanted_.ops) {
            addOp(thread, record);
            Op& op = referenceOps_.emplace_back(batch_.ops.back());
            batch_.ops.pop_back();
            // The reference step and its ranges are not part of the recording.
            op.step = kNoStep;
            op.range = RangeId::none();
        }
    } else if (record.kind == HostRecord::Kind::Launch && !wanted_.ops && wanted_.shapes) {
        referenceStep_.noteLaunch(thread, record);
    }
}

void Assembler::keepCapturedOp(std::uint32_t thread, const HostRecord& record)
{
    captured_.ops.push_back({.id = opId(record.op.id),
                             .parent = opId(record.context.op),
                             .name = nameOf(record.op.name),
                             .shapes = nameOf(record.op.shapes),
                             .path = pathOf(record.context.path),
                             .thread = ThreadId{thread},
                             .sequence = record.op.sequence,
                             .scope = static_cast<OpScope>(record.detail)});
}

CapturedStep Assembler::captured() const
{
    CapturedStep step = captured_;
    std::ranges::stable_sort(step.events, {}, &AllocEvent::time);
    std::unordered_set<OpId> allocating;
    for (const AllocEvent& event : step.events)
        allocating.insert(event.op);
    std::erase_if(step.ops, [&](const Op& op) { return !allocating.contains(op.id); });
    return step;
}

/// Ops to which launches or allocations of the recording may refer.
void Assembler::handOverReferenceOps()
{
    if (!wanted_.shapes) {
        std::unordered_set<OpId> allocating;
        for (const AllocEvent& event : referenceAllocations_)
            allocating.insert(event.op);
        std::erase_if(referenceOps_, [&](const Op& op) { return !allocating.contains(op.id); });
    }
    std::ranges::move(referenceOps_, std::back_inserter(batch_.ops));
    referenceOps_.clear();
}

/// What kernels of replayed graphs may point to, with the ops around it, outer ones first.
void Assembler::handOverCapturedOps()
{
    std::unordered_set<OpId> wanted = std::exchange(capturingOps_, {});
    std::vector<Op> ops = captured_.ops;
    std::ranges::sort(ops, {}, &Op::id); // the op around another has a lower number
    for (auto op = ops.rbegin(); op != ops.rend(); ++op)
        if (op->parent && wanted.contains(op->id))
            wanted.insert(op->parent);
    const Timestamp now = TraceClock::now();
    for (Op& op : ops)
        if (wanted.contains(op.id)) {
            op.start = op.end = now;
            batch_.ops.push_back(op);
        }
}

void Assembler::list(const HostRecord& record)
{
    if (record.kind == HostRecord::Kind::Launch)
        listedLaunches_.emplace_back(record.launch.correlation, record.context.path);
    else if (record.kind == HostRecord::Kind::Range)
        listedRanges_.push_back(record.context.path);
}

LaunchList Assembler::launchList() const
{
    // The records of each thread are in order; across threads the ids give the order.
    auto launches = listedLaunches_;
    std::ranges::sort(launches);
    const auto pathOfNode = [](std::uint32_t node) {
        return node == kNone ? std::string() : PathTree::instance().node(node)->path;
    };
    LaunchList list;
    for (const auto& [correlation, path] : launches)
        list.paths.push_back(pathOfNode(path));
    for (const std::uint32_t path : listedRanges_)
        ++list.instances[pathOfNode(path)];
    return list;
}

void Assembler::addGraphNode(const HostRecord& record)
{
    if (record.graphNode.original != 0)
        return graphNodes_.cloned(record.graphNode.node, record.graphNode.original);
    HostContext context = record.context;
    if (!wanted_.ops && !wanted_.shapes)
        context.op = kNone; // ops are not handed on
    graphNodes_.created(record.graphNode.node, context);
    if (const OpId op = opId(context.op); op && recording_ == Recording::Capture)
        capturingOps_.insert(op);
}

void Assembler::addLaunch(std::uint32_t thread, const HostRecord& record)
{
    LaunchTable::Launch launch{
        .context = record.context, .step = record.step, .time = record.launch.time, .thread = thread};
    if (!wanted_.ops && record.step != kNoStep) {
        const ReferenceStep::Found found = referenceStep_.opOf(thread, record);
        launch.context.op = found.value;
        if (!found.matches)
            losses_.add(RecordLoss::UnmatchedShapes);
    }
    launches_.insert(record.launch.correlation, launch);
}

void Assembler::addRange(std::uint32_t thread, const HostRecord& record)
{
    const HostRecord::RangeBody& range = record.range;
    batch_.ranges.push_back({.id = rangeId(range.id),
                             .parent = rangeId(range.parent),
                             .path = pathOf(record.context.path),
                             .name = nameOf(range.name),
                             .thread = ThreadId{thread},
                             .step = record.step,
                             .start = timestampAt(range.start),
                             .end = timestampAt(range.end)});
}

StringId Assembler::shapesOf(std::uint32_t thread, std::int32_t step, const HostRecord::OpBody& op)
{
    if (op.shapes != kNone)
        return nameOf(op.shapes);
    const ReferenceStep::Found found = referenceStep_.shapesOf(thread, step, op);
    if (!found.matches)
        losses_.add(RecordLoss::UnmatchedShapes);
    return nameOf(found.value);
}

void Assembler::addOp(std::uint32_t thread, const HostRecord& record)
{
    const HostRecord::OpBody& op = record.op;
    batch_.ops.push_back({.id = opId(op.id),
                          .parent = opId(record.context.op),
                          .name = nameOf(op.name),
                          .shapes = shapesOf(thread, record.step, op),
                          .path = pathOf(record.context.path),
                          .range = rangeId(record.context.range),
                          .thread = ThreadId{thread},
                          .sequence = op.sequence,
                          .scope = static_cast<OpScope>(record.detail),
                          .step = record.step,
                          .start = timestampAt(op.start),
                          .end = timestampAt(op.end)});
}

void Assembler::addApi(std::uint32_t thread, const HostRecord& record)
{
    const HostRecord::ApiBody& api = record.api;
    batch_.apiCalls.push_back({.name = functionName_ ? functionName_(api.function) : StringId::none(),
                               .correlation = CorrelationId{api.correlation},
                               .kind = static_cast<ApiKind>(record.detail),
                               .range = rangeId(record.context.range),
                               .op = opId(record.context.op),
                               .thread = ThreadId{thread},
                               .step = record.step,
                               .start = timestampAt(api.start),
                               .end = timestampAt(api.end)});
    noteWait(batch_.apiCalls.back());
}

void Assembler::addFrame(std::uint32_t thread, const HostRecord& record)
{
    batch_.frames.push_back({.name = nameOf(record.frame.name),
                             .thread = ThreadId{thread},
                             .step = record.step,
                             .start = timestampAt(record.frame.start),
                             .end = timestampAt(record.frame.end)});
}

void Assembler::noteWait(const ApiCall& call)
{
    constexpr std::size_t kWaitsKept = 1024;
    // A wait for one stream or event does not concern the others.
    const std::string_view name = call.kind == ApiKind::Synchronize ? strings_.text(call.name) : "";
    if (name != "cudaDeviceSynchronize" && name != "cuCtxSynchronize")
        return;
    deviceWaits_.emplace_back(call.start, call.end);
    if (deviceWaits_.size() > kWaitsKept)
        deviceWaits_.pop_front();
}

// A clock of the device that runs ahead shows in ends that the host has seen already; one that falls behind
// in starts before the launch.
void Assembler::checkAgainstWaits(const DeviceEvent& event)
{
    constexpr std::chrono::microseconds kTolerance(20);
    const auto wait = std::ranges::lower_bound(deviceWaits_, event.launched, {},
                                               [](const auto& span) { return span.first; });
    if (wait != deviceWaits_.end() && event.end > wait->second + kTolerance) {
        losses_.add(RecordLoss::EndedAfterWait);
    }
}

void Assembler::addCpuAllocation(const HostRecord& record)
{
    const HostRecord::AllocBody& alloc = record.alloc;
    keepAllocation({.time = timestampAt(alloc.time),
                    .action = static_cast<AllocAction>(record.detail),
                    .address = alloc.address,
                    .bytes = alloc.bytes,
                    .allocated = alloc.allocated,
                    .reserved = alloc.allocated,
                    .path = pathOf(record.context.path),
                    .op = opId(record.context.op),
                    .step = record.step});
}

void Assembler::addAllocation(const DeviceAllocRecord& record, DeviceIndex device, StreamId stream)
{
    if (recording_ == Recording::Launches)
        return;
    if (recording_ == Recording::Events)
        ++recordsChecked_;
    keepAllocation({.time = timestampAt(record.time),
                    .action = record.action,
                    .device = device,
                    .address = record.address,
                    .bytes = record.bytes,
                    .allocated = record.allocated,
                    .reserved = record.reserved,
                    .stream = stream,
                    .pool = record.pool,
                    .path = pathOf(record.context.path),
                    .op = opId(record.context.op),
                    .step = record.step});
}

void Assembler::keepAllocation(const AllocEvent& event)
{
    if (recording_ == Recording::ReferenceStep) {
        referenceAllocations_.push_back(event);
        // Ops of a reference step are not stored if the recording has its own.
        if (wanted_.ops)
            referenceAllocations_.back().op = OpId::none();
    } else if (recording_ == Recording::Capture) {
        captured_.events.push_back(event);
    } else {
        batch_.allocEvents.push_back(event);
    }
}

std::vector<AllocEvent> Assembler::referenceAllocations() const
{
    std::vector<AllocEvent> events = referenceAllocations_;
    std::ranges::stable_sort(events, {}, &AllocEvent::time);
    return events;
}

void Assembler::addThread(std::uint32_t thread, std::string_view name)
{
    if (recording_ == Recording::Events)
        batch_.threads.push_back({.thread = ThreadId{thread}, .name = strings_.intern(name)});
}

void Assembler::addActivity(DeviceEvent event)
{
    if (recording_ != Recording::Events)
        return;
    ++recordsChecked_;
    if (event.start == Timestamp{} && event.end == Timestamp{}) {
        losses_.add(RecordLoss::NoTimestamp);
        return;
    }
    attribute(event);
    checkTimes(event);
    batch_.deviceEvents.push_back(event);
}

void Assembler::attribute(DeviceEvent& event)
{
    const LaunchTable::Launch* launch = launches_.find(event.correlation.value);
    if (!launch) {
        losses_.add(RecordLoss::UnmatchedCorrelation);
        return;
    }
    const HostContext* node = event.graphNode != 0 ? graphNodes_.find(event.graphNode) : nullptr;
    if (event.graphNode != 0 && !node && !graphNodes_.empty()) {
        losses_.add(RecordLoss::UnmatchedGraphNode);
    }
    if (!event.path)
        event.path = pathOf(node ? node->path : launch->context.path);
    event.range = rangeId(launch->context.range);
    event.op = opId(node && node->op != kNone ? node->op : launch->context.op);
    event.launchThread = ThreadId{launch->thread};
    event.step = launch->step;
    event.launched = timestampAt(launch->time);
}

void Assembler::checkTimes(DeviceEvent& event)
{
    if (event.end < event.start) {
        losses_.add(RecordLoss::NegativeDuration);
        event.end = event.start;
    }
    if (event.launched == Timestamp{})
        return;
    noteLatency(event.step, (event.start - event.launched).count());
    checkAgainstWaits(event);
    if (event.start < event.launched) {
        losses_.add(RecordLoss::ClampedTime);
        event.start = event.launched;
        event.end = std::max(event.end, event.start);
    }
}

void Assembler::addCallActivity(ApiCall call)
{
    if (recording_ != Recording::Events)
        return;
    ++recordsChecked_;
    if (const LaunchTable::Launch* launch = launches_.find(call.correlation.value)) {
        call.range = rangeId(launch->context.range);
        call.op = opId(launch->context.op);
        call.thread = ThreadId{launch->thread};
        call.step = launch->step;
    } else {
        call.step = stepAt(nanosecondsOf(call.start));
    }
    if (call.end < call.start) {
        losses_.add(RecordLoss::NegativeDuration);
        call.end = call.start;
    }
    batch_.apiCalls.push_back(call);
}

std::int32_t Assembler::stepAt(std::int64_t time) const
{
    const auto after =
        std::ranges::upper_bound(stepChanges_, time, {}, [](const auto& change) { return change.first; });
    return after == stepChanges_.begin() ? kNoStep : std::prev(after)->second;
}

void Assembler::noteLatency(std::int32_t step, std::int64_t latency)
{
    if (step == kNoStep)
        return;
    if (firstLatency_.step == kNoStep)
        firstLatency_ = {step, latency};
    if (lastLatency_.step != step)
        lastLatency_ = {step, latency};
    if (firstLatency_.step == step)
        firstLatency_.least = std::min(firstLatency_.least, latency);
    lastLatency_.least = std::min(lastLatency_.least, latency);
}

std::size_t Assembler::pending() const
{
    return batch_.ranges.size() + batch_.ops.size() + batch_.apiCalls.size() + batch_.deviceEvents.size() +
           batch_.allocEvents.size() + batch_.frames.size() + batch_.threads.size();
}

TraceBatch Assembler::take()
{
    sortByStart(batch_.ranges);
    sortByStart(batch_.ops);
    sortByStart(batch_.apiCalls);
    sortByStart(batch_.deviceEvents);
    if (!std::ranges::is_sorted(batch_.allocEvents, {}, &AllocEvent::time))
        std::ranges::stable_sort(batch_.allocEvents, {}, &AllocEvent::time);
    TraceBatch taken = std::exchange(batch_, {});
    // The next one will be about as long: growing step by step would copy its rows again and again.
    batch_.ranges.reserve(taken.ranges.size());
    batch_.ops.reserve(taken.ops.size());
    batch_.deviceEvents.reserve(taken.deviceEvents.size());
    return taken;
}

} // namespace tilescope::trace
