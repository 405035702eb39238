#include "app/record/block_maker.h"

#include "core/model/host_samples.h"
#include "core/trace/allocators/device_alloc_log.h"
#include "core/trace/host/path_tree.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace tilescope::record {

namespace {

using trace::HostLogs;
using trace::HostRecord;
using trace::ThreadLog;

constexpr std::size_t kAllocationRing = 1 << 15;
constexpr std::string_view kBackward = "step/backward";

std::string threadName(std::uint32_t thread, bool mayOpenFiles)
{
    if (thread == static_cast<std::uint32_t>(getpid()))
        return "main";
    if (!mayOpenFiles)
        return {};
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    std::getline(file, name);
    return name.starts_with("pt_autograd") ? "autograd" : name;
}

std::uint32_t stringOf(StringId id)
{
    return id ? id.value : kNoString;
}

/// The element of a cache, which is found once: looking up texts takes locks.
template <class Find> std::uint32_t known(std::vector<std::uint32_t>& cache, std::size_t at, Find find)
{
    constexpr std::uint32_t kUnknown = kNoString - 1;
    if (at >= cache.size())
        cache.resize(at + 64, kUnknown);
    if (cache[at] == kUnknown)
        cache[at] = find();
    return cache[at];
}

/// Calls visit(ordinal, log) with the allocation log of each device from 0 on.
template <class Visit> void visitDeviceLogs(int devices, Visit visit)
{
    for (int i = 0; i < devices; ++i)
        if (auto* log = trace::DeviceAllocLog::of(DeviceIndex{static_cast<std::int16_t>(i)}))
            visit(i, *log);
}

} // namespace

BlockMaker::BlockMaker(std::function<DeviceFacts(int)> facts) : factsOf_(std::move(facts))
{
    assembler_.begin();
}

void BlockMaker::startDeviceMemory(int devices)
{
    visitDeviceLogs(devices, [](int, trace::DeviceAllocLog& log) { log.start(kAllocationRing, 0, 0); });
    memoryDevices_.store(devices, std::memory_order_release);
}

void BlockMaker::stopDeviceMemory()
{
    visitDeviceLogs(memoryDevices_.load(std::memory_order_acquire),
                    [](int, trace::DeviceAllocLog& log) { log.stop(); });
}

void BlockMaker::drain(trace::CuptiSession* session, HostSampler* sampler)
{
    if (sampler)
        drainSamples(*sampler);
    if (session && !decoder_) {
        decoder_ = std::make_unique<trace::ActivityDecoder>(session->api(), strings_);
        cuptiReturns_.store(true);
        assembler_.setFunctionName(
            [this, session](std::uint32_t function) { return session->functionName(function, strings_); });
    }
    if (session && cuptiReturns_.exchange(false))
        decoder_->begin(session->correlationBase());
    for (;;) {
        // Taken first: whatever launched the activities in it is in a ring by now.
        const auto buffer = session ? session->buffers().take() : std::nullopt;
        // Whatever created the nodes of these graphs is in a ring by now, too.
        const auto graphs = session ? session->takeGraphs() : std::vector<trace::CuptiSession::MadeGraph>();
        drainHost();
        for (const auto& graph : graphs)
            describe(graph);
        if (!buffer)
            return;
        decoder_->decode(*buffer, assembler_);
        session->countDropped(*buffer, assembler_.losses());
        session->buffers().giveBack(*buffer);
    }
}

void BlockMaker::drainHost()
{
    HostLogs::instance().drain([this](const ThreadLog& log, const HostRecord& record) {
        const std::uint32_t thread = log.thread();
        if (thread != lastThread_ && named_.insert(thread).second)
            assembler_.addThread(thread, threadName(thread, mayOpenFiles_));
        lastThread_ = thread;
        if (record.kind == HostRecord::Kind::Stack)
            return launchStacks_[thread].apply(stacks_, record.stack);
        if (record.kind == HostRecord::Kind::Launch && record.detail != 0)
            samples_.push_back({.time = record.launch.time,
                                .thread = thread,
                                .stack = launchStacks_[thread].number(),
                                .state = SampleState::kLaunch,
                                .unused = 0});
        if (record.kind == HostRecord::Kind::Alloc)
            addCpuAllocation(thread, record);
        else
            assembler_.addHost(thread, record);
    });
    drainDeviceMemory();
}

void BlockMaker::drainSamples(HostSampler& sampler)
{
    sampler.drain([this](const HostRecord& record) {
        if (record.kind == HostRecord::Kind::Stack)
            sampledStacks_[record.stack.thread].apply(stacks_, record.stack);
        else
            samples_.push_back({.time = record.sample.time,
                                .thread = record.sample.thread,
                                .stack = sampledStacks_[record.sample.thread].number(),
                                .state = record.detail,
                                .unused = 0});
    });
    samplesDropped_ = sampler.dropped();
}

void BlockMaker::describe(const trace::CuptiSession::MadeGraph& graph)
{
    const auto pathOf = [this](std::uint64_t node) -> std::string_view {
        const trace::HostContext* where = assembler_.graphNode(node);
        return where ? std::string_view(trace::PathTree::instance().node(where->path)->path)
                     : std::string_view();
    };
    const trace::GraphDescription found = trace::describeGraph(graph.id, graph.nodes, pathOf);
    decoder_->nameGraph(graph.id, strings_.intern(found.name),
                        found.path.empty() ? StringId::none() : strings_.intern(found.path));
    if (!found.nodes.empty())
        facts_.emplace_back("graph " + std::to_string(graph.id), found.nodes);
}

void BlockMaker::addCpuAllocation(std::uint32_t thread, const HostRecord& record)
{
    const HostRecord::AllocBody& alloc = record.alloc;
    allocations_.push_back({.time = alloc.time,
                            .address = alloc.address,
                            .bytes = alloc.bytes,
                            .allocated = alloc.allocated,
                            .reserved = alloc.allocated,
                            .thread = thread,
                            .backwardPath = backwardPathOf(record.context),
                            .pool = 0,
                            .device = -1,
                            .action = record.detail,
                            .unused = 0});
}

void BlockMaker::drainDeviceMemory()
{
    visitDeviceLogs(memoryDevices_.load(std::memory_order_acquire), [this](int device, auto& log) {
        log.drain([&](const trace::DeviceAllocRecord& record) {
            allocations_.push_back({.time = record.time,
                                    .address = record.address,
                                    .bytes = record.bytes,
                                    .allocated = record.allocated,
                                    .reserved = record.reserved,
                                    .thread = record.thread,
                                    .backwardPath = backwardPathOf(record.context),
                                    .pool = record.pool,
                                    .device = device,
                                    .action = static_cast<std::uint32_t>(record.action),
                                    .unused = 0});
        });
    });
}

bool BlockMaker::pressed() const
{
    bool found = HostLogs::instance().pressed();
    visitDeviceLogs(memoryDevices_.load(std::memory_order_acquire),
                    [&](int, const trace::DeviceAllocLog& log) { found = found || log.pressed(); });
    return found;
}

std::optional<WorkingBlock> BlockMaker::take(WorkingBlock block, const trace::Losses& losses)
{
    const TraceBatch batch = assembler_.take();
    block.allocations = std::exchange(allocations_, {});
    block.samples = std::exchange(samples_, {});
    block.stacks = stacks_.takeNew([this](std::uint32_t name) {
        return stringOf(strings_.intern(trace::PathTree::instance().node(name)->component));
    });
    for (const ThreadName& thread : batch.threads)
        block.threads.push_back({thread.thread.value, stringOf(thread.name)});
    for (const Range& range : batch.ranges)
        block.ranges.push_back({.start = nanosecondsOf(range.start),
                                .end = nanosecondsOf(range.end),
                                .thread = range.thread.value,
                                .name = stringOf(range.name),
                                .step = 0,
                                .backwardPath = backwardPathOf(range.path)});
    for (const ApiCall& call : batch.apiCalls)
        block.calls.push_back({.start = nanosecondsOf(call.start),
                               .end = nanosecondsOf(call.end),
                               .name = stringOf(call.name),
                               .correlation = call.correlation ? call.correlation.value : 0,
                               .thread = call.thread ? call.thread.value : 0,
                               .kind = static_cast<std::uint32_t>(call.kind)});
    for (const Op& op : batch.ops)
        block.ops.push_back({.start = nanosecondsOf(op.start),
                             .end = nanosecondsOf(op.end),
                             .sequence = op.sequence,
                             .thread = op.thread.value,
                             .name = stringOf(op.name),
                             .shapes = stringOf(op.shapes),
                             .isBackward = op.scope == OpScope::Backward});
    for (const Frame& frame : batch.frames)
        block.frames.push_back({.start = nanosecondsOf(frame.start),
                                .end = nanosecondsOf(frame.end),
                                .thread = frame.thread.value,
                                .name = stringOf(frame.name)});
    for (const DeviceEvent& event : batch.deviceEvents)
        block.activities.push_back(rowOf(event, block));
    addLosses(block, losses);
    std::int64_t lost = 0;
    for (const LossRow& loss : block.losses)
        lost += loss.count;
    if (!block.hasEvents() && block.threads.empty() && lost == lost_)
        return {};
    lost_ = lost;
    block.recordsChecked = assembler_.recordsChecked();
    for (; written_ < strings_.size(); ++written_)
        block.strings.emplace_back(strings_.text(StringId{static_cast<std::uint32_t>(written_)}));
    return block;
}

std::uint32_t BlockMaker::backwardPathOf(StringId path)
{
    if (!path)
        return kNoString;
    return known(backwardStrings_, path.value,
                 [&] { return strings_.text(path).starts_with(kBackward) ? path.value : kNoString; });
}

std::uint32_t BlockMaker::backwardPathOf(const trace::HostContext& context)
{
    if (context.path == trace::kNone)
        return kNoString;
    return known(backwardNodes_, context.path, [&] {
        const std::string& path = trace::PathTree::instance().node(context.path)->path;
        return path.starts_with(kBackward) ? strings_.intern(path).value : kNoString;
    });
}

ActivityRow BlockMaker::rowOf(const DeviceEvent& event, WorkingBlock& block)
{
    const auto [launch, isNew] =
        launches_.try_emplace(event.launch, static_cast<std::uint32_t>(launches_.size()));
    if (isNew)
        block.launches.push_back(event.launch);
    const std::int32_t device = event.device ? event.device.value : 0;
    if (devices_.insert(device).second) {
        const DeviceFacts facts = factsOf_(device);
        block.devices.push_back({.ordinal = device,
                                 .uuid = stringOf(strings_.intern(facts.uuid)),
                                 .name = stringOf(strings_.intern(facts.name)),
                                 .unused = 0});
    }
    return {.start = nanosecondsOf(event.start),
            .end = nanosecondsOf(event.end),
            .launched = nanosecondsOf(event.launched),
            .bytes = event.bytes,
            .graphNode = event.graphNode,
            .name = stringOf(event.name),
            // Of graphs as wholes as well, which have no grid.
            .path =
                event.graphNode != 0 || (event.kind == DeviceEventKind::Kernel && event.launch.grid[0] == 0)
                    ? stringOf(event.path)
                    : backwardPathOf(event.path),
            .correlation = event.correlation ? event.correlation.value : 0,
            .launchThread = event.launchThread ? event.launchThread.value : 0,
            .stream = event.stream ? event.stream.value : 0,
            .launch = launch->second,
            .device = device,
            .kind = static_cast<std::uint8_t>(event.kind),
            .copy = static_cast<std::uint8_t>(event.copy),
            .unused = 0};
}

void BlockMaker::addLosses(WorkingBlock& block, const trace::Losses& further)
{
    trace::Losses losses = assembler_.losses();
    losses.add(further);
    const HostLogs::Counters counters = HostLogs::instance().counters();
    const auto add = [&losses](RecordLoss kind, std::uint64_t count) {
        if (count > 0)
            losses.add(kind, static_cast<std::int64_t>(count));
    };
    add(RecordLoss::RingOverflow, counters.dropped - before_.dropped + samplesDropped_);
    add(RecordLoss::NestedTooDeep, counters.tooDeep - before_.tooDeep);
    add(RecordLoss::NamesMerged, counters.namesMerged - before_.namesMerged);
    add(RecordLoss::ThreadsRefused, counters.threadsRefused - before_.threadsRefused);
    add(RecordLoss::StacksMerged, stacks_.merged());
    std::uint64_t allocations = 0;
    visitDeviceLogs(memoryDevices_.load(std::memory_order_acquire),
                    [&](int, const trace::DeviceAllocLog& log) { allocations += log.dropped(); });
    add(RecordLoss::AllocationRingOverflow, allocations);
    for (const Loss& loss : losses.list(strings_))
        block.losses.push_back({stringOf(loss.kind), stringOf(loss.detail), loss.count});
}

} // namespace tilescope::record
