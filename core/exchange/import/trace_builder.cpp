#include "core/exchange/import/trace_builder.h"

#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/rules/activity_owners.h"
#include "core/exchange/import/rules/event_times.h"
#include "core/exchange/import/run_assembly.h"
#include "core/model/api_class.h"
#include "core/model/environment_facts.h"
#include "core/model/topology_index.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tilescope::exchange {

namespace {

/// A number of a native object within its process.
struct NativeKey {
    std::int32_t process = 0;
    std::int64_t a = 0;
    std::int64_t b = 0;

    bool operator==(const NativeKey&) const = default;
};

struct NativeHash {
    std::size_t operator()(const NativeKey& key) const
    {
        std::uint64_t hash = static_cast<std::uint64_t>(key.process) * 0x9E3779B97F4A7C15ULL;
        hash = (hash ^ static_cast<std::uint64_t>(key.a)) * 0xBF58476D1CE4E5B9ULL;
        hash = (hash ^ static_cast<std::uint64_t>(key.b)) * 0x94D049BB133111EBULL;
        return hash ^ (hash >> 32);
    }
};

} // namespace

class TraceBuilder::Impl {
public:
    /// Counts a span that cannot be stored; corrects one that ends before it starts.
    bool accepts(Timestamp start, Timestamp& end)
    {
        if (!isTime(start) || !isTime(end)) {
            lose(RecordLoss::TimeOutOfRange, 1, {});
            return false;
        }
        if (end < start) {
            lose(RecordLoss::NegativeDuration, 1, {});
            end = start;
        }
        return true;
    }

    void addHost(HostKind kind, ThreadId thread, std::string_view name, Timestamp start, Timestamp end,
                 std::uint32_t extra = 0)
    {
        if (!accepts(start, end))
            return;
        trace.host.push_back({.start = nanosecondsOf(start),
                              .end = nanosecondsOf(end),
                              .name = intern(name).value,
                              .thread = thread.value,
                              .extra = extra,
                              .kind = kind});
    }

    /// A text of the source; bytes that are not UTF-8 become question marks, as the loss says.
    StringId intern(std::string_view text)
    {
        const bool isAscii =
            std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
        if (isAscii)
            return trace.strings.intern(text);
        const std::string valid = validUtf8(text, "?");
        if (valid != text)
            lose(RecordLoss::SourceText, 1, {});
        return trace.strings.intern(valid);
    }

    void lose(RecordLoss kind, std::int64_t count, std::string_view detail)
    {
        trace.losses[{kind, std::string(detail)}] += count;
    }

    std::uint32_t launchIndex(const LaunchConfig& launch)
    {
        if (!trace.launches.empty() && trace.launches[lastLaunch_] == launch)
            return lastLaunch_;
        const auto [place, isNew] =
            launches_.try_emplace(launch, static_cast<std::uint32_t>(trace.launches.size()));
        if (isNew)
            trace.launches.push_back(launch);
        return lastLaunch_ = place->second;
    }

    ForeignTrace trace;
    std::unordered_map<NativeKey, std::uint32_t, NativeHash> threads;
    std::unordered_map<NativeKey, std::uint32_t, NativeHash> devices;
    std::unordered_map<NativeKey, std::uint32_t, NativeHash> streams;

    /// Facts of processes: places in the environment, and the processes that have the value.
    std::vector<std::pair<std::size_t, std::vector<ProcessIndex>>> processFacts;
    std::vector<std::tuple<std::string, std::int64_t, ProcessIndex>> processNumbers;

private:
    std::map<LaunchConfig, std::uint32_t> launches_;
    std::uint32_t lastLaunch_ = 0;
};

namespace {

/// Says of which processes a fact is where they differ.
void nameProcesses(ForeignTrace& trace,
                   const std::vector<std::pair<std::size_t, std::vector<ProcessIndex>>>& facts)
{
    constexpr std::size_t kMost = 4;
    std::map<std::string, int> values;
    for (const auto& [place, processes] : facts)
        ++values[trace.environment[place].key];
    const TopologyIndex topology(trace.topology, {});
    for (const auto& [place, processes] : facts) {
        EnvironmentEntry& entry = trace.environment[place];
        if (values[entry.key] < 2)
            continue;
        std::string titles;
        for (std::size_t i = 0; i < std::min(kMost, processes.size()); ++i)
            titles += (i > 0 ? ", " : "") + topology.titleOf(processes[i]);
        if (processes.size() > kMost)
            titles += " and " + std::to_string(processes.size() - kMost) + " more";
        entry.value.insert(0, titles + ": ");
    }
}

} // namespace

TraceBuilder::TraceBuilder() : impl_(std::make_unique<Impl>()) {}
TraceBuilder::~TraceBuilder() = default;

void TraceBuilder::beginSource(std::string name, bool mayRepeatRanks)
{
    impl_->trace.sources.push_back({std::move(name), mayRepeatRanks});
}

ProcessIndex TraceBuilder::addProcess(TracedProcess process)
{
    impl_->trace.sourceOf.push_back(static_cast<std::uint32_t>(impl_->trace.sources.size()));
    process.id = ProcessIndex{static_cast<std::int32_t>(impl_->trace.topology.processes.size())};
    impl_->trace.topology.processes.push_back(std::move(process));
    return impl_->trace.topology.processes.back().id;
}

TracedProcess& TraceBuilder::process(ProcessIndex index)
{
    return impl_->trace.topology.processes.at(static_cast<std::size_t>(index.value));
}

ProcessIndex TraceBuilder::processWith(std::int64_t pid) const
{
    const std::vector<TracedProcess>& processes = impl_->trace.topology.processes;
    const auto found = std::ranges::find(processes, pid, &TracedProcess::pid);
    return found == processes.end() ? ProcessIndex::none() : found->id;
}

ClockIndex TraceBuilder::addClock(ClockDomain clock)
{
    clock.id = ClockIndex{static_cast<std::int32_t>(impl_->trace.topology.clocks.size())};
    impl_->trace.topology.clocks.push_back(std::move(clock));
    return impl_->trace.topology.clocks.back().id;
}

ClockDomain& TraceBuilder::clock(ClockIndex index)
{
    return impl_->trace.topology.clocks.at(static_cast<std::size_t>(index.value));
}

ThreadId TraceBuilder::thread(ProcessIndex process, std::int64_t native, std::string_view name)
{
    std::vector<KnownThread>& known = impl_->trace.threads;
    const auto [place, isNew] = impl_->threads.try_emplace(NativeKey{process.value, native, 0},
                                                           static_cast<std::uint32_t>(known.size()));
    if (isNew)
        known.push_back({.process = process, .native = native});
    if (!name.empty())
        known[place->second].name = impl_->intern(name);
    return ThreadId{place->second};
}

DeviceIndex TraceBuilder::device(ProcessIndex process, std::int32_t ordinal)
{
    std::vector<KnownDevice>& known = impl_->trace.devices;
    const NativeKey key{process.value, ordinal, 0};
    if (const auto found = impl_->devices.find(key); found != impl_->devices.end())
        return DeviceIndex{static_cast<std::int16_t>(found->second)};
    if (known.size() >= kMostDevices)
        throw Error{.what = "refers to more than " + std::to_string(kMostDevices) + " devices"};
    impl_->devices.emplace(key, static_cast<std::uint32_t>(known.size()));
    known.push_back({.process = process, .facts = {.ordinal = ordinal}});
    return DeviceIndex{static_cast<std::int16_t>(known.size() - 1)};
}

DeviceIndex TraceBuilder::addDevice(ProcessIndex process, TracedDevice facts)
{
    const DeviceIndex index = device(process, facts.ordinal);
    impl_->trace.devices[static_cast<std::size_t>(index.value)].facts = std::move(facts);
    return index;
}

void TraceBuilder::leaveOut(ProcessIndex process, std::string_view device)
{
    impl_->trace.unread.emplace(process, device);
}

void TraceBuilder::leaveOutIfUnused(ProcessIndex process)
{
    impl_->trace.spare.insert(process);
}

StreamId TraceBuilder::stream(ProcessIndex process, DeviceIndex device, std::int64_t native,
                              std::optional<std::int64_t> context)
{
    std::vector<KnownStream>& known = impl_->trace.streams;
    const auto [place, isNew] = impl_->streams.try_emplace(NativeKey{process.value, device.value, native},
                                                           static_cast<std::uint32_t>(known.size()));
    if (isNew)
        known.push_back({.process = process,
                         .device = static_cast<std::uint32_t>(device.value),
                         .native = native,
                         .context = context});
    return StreamId{place->second};
}

void TraceBuilder::addRange(ThreadId thread, std::string_view name, Timestamp start, Timestamp end,
                            SpanKind kind, std::string_view path)
{
    const HostKind host = kind == SpanKind::Step     ? HostKind::Step
                          : kind == SpanKind::Module ? HostKind::Module
                                                     : HostKind::Range;
    const std::uint32_t known = path.empty() ? 0 : impl_->intern(path).value + 1;
    impl_->addHost(host, thread, name, start, end, known);
}

void TraceBuilder::addOp(const ForeignOp& op)
{
    ForeignTrace& trace = impl_->trace;
    trace.ops.push_back({.shapes = op.shapes.empty() ? StringId{} : impl_->intern(op.shapes),
                         .isBackward = op.isBackward,
                         .sequence = op.sequence,
                         .externalId = op.externalId,
                         .order = op.order != 0 ? op.order : op.externalId});
    impl_->addHost(HostKind::Op, op.thread, op.name, op.start, op.end,
                   static_cast<std::uint32_t>(trace.ops.size() - 1));
}

void TraceBuilder::addFrame(ThreadId thread, std::string_view name, Timestamp start, Timestamp end)
{
    impl_->addHost(HostKind::Frame, thread, name, start, end);
}

void TraceBuilder::addApiCall(ThreadId thread, std::string_view name, std::uint32_t correlation,
                              Timestamp start, Timestamp end)
{
    impl_->addHost(HostKind::ApiCall, thread, functionNameOf(name), start, end, correlation);
}

void TraceBuilder::addLaunch(ThreadId thread, std::uint32_t correlation, Timestamp time,
                             std::string_view path)
{
    // The name of a launch is its path.
    impl_->addHost(HostKind::Launch, thread, path, time, time, correlation);
}

void TraceBuilder::addOverhead(ThreadId thread, std::string_view name, Timestamp start, Timestamp end)
{
    impl_->addHost(HostKind::Overhead, thread, name, start, end);
}

std::optional<std::uint32_t> TraceBuilder::addActivity(const ForeignActivity& activity)
{
    Timestamp end = activity.end;
    if (nanosecondsOf(activity.start) == 0 && nanosecondsOf(end) == 0) {
        impl_->lose(RecordLoss::NoTimestamp, 1, "device activities");
        return {};
    }
    if (!impl_->accepts(activity.start, end))
        return {};
    ForeignTrace& trace = impl_->trace;
    std::uint32_t extra = 0; // entry 0: none of these facts
    if (activity.bytes != 0 || activity.graphNode != 0 || activity.externalId != 0 ||
        !activity.path.empty()) {
        extra = static_cast<std::uint32_t>(trace.activityFacts.size());
        trace.activityFacts.push_back({activity.bytes, activity.graphNode, activity.externalId,
                                       activity.path.empty() ? StringId{} : impl_->intern(activity.path)});
    }
    trace.activities.push_back({.start = nanosecondsOf(activity.start),
                                .end = nanosecondsOf(end),
                                .name = impl_->intern(activity.name).value,
                                .launch = impl_->launchIndex(activity.launch),
                                .correlation = activity.correlation,
                                .stream = activity.stream.value,
                                .extra = extra,
                                .kind = activity.kind,
                                .copy = activity.copy});
    trace.kernels += activity.kind == DeviceEventKind::Kernel ? 1 : 0;
    return static_cast<std::uint32_t>(trace.activities.size() - 1);
}

std::vector<std::uint32_t> TraceBuilder::shareActivities(ProcessIndex holder,
                                                         std::span<const ProcessIndex> callers,
                                                         std::span<const ForeignFlow> flows)
{
    ForeignTrace& trace = impl_->trace;
    ActivityOwners owners = ownersOf(trace, holder, callers, flows, trace.work);
    const auto streamOf = [&](StreamId from, ProcessIndex process) {
        const KnownStream known = trace.streams[from.value];
        if (known.process == process)
            return from;
        const TracedDevice facts = trace.devices[known.device].facts;
        const DeviceIndex device = this->device(process, facts.ordinal);
        trace.devices[static_cast<std::size_t>(device.value)].facts = facts;
        return stream(process, device, known.native, known.context);
    };
    for (const ActivityOwners::Owned& owned : owners.activities) {
        DeviceRow& row = trace.activities[owned.activity];
        row.stream = streamOf(StreamId{row.stream}, owned.process).value;
    }
    for (Wait& wait : trace.waits) {
        if (wait.process != holder || !wait.device)
            continue;
        const TracedDevice facts = trace.devices[static_cast<std::size_t>(wait.device.value)].facts;
        const auto owner = owners.devices.find(facts.ordinal);
        if (owner == owners.devices.end() || owner->second == holder)
            continue;
        wait.process = owner->second;
        wait.device = device(owner->second, facts.ordinal);
        for (StreamId* each : {&wait.stream, &wait.waitedFor})
            if (*each)
                *each = streamOf(*each, owner->second);
    }
    return std::move(owners.ambiguous);
}

ProcessIndex TraceBuilder::processOfActivity(std::uint32_t activity) const
{
    return impl_->trace.processOf(impl_->trace.activities.at(activity));
}

std::vector<std::int32_t> TraceBuilder::devicesOf(ProcessIndex process) const
{
    const ForeignTrace& trace = impl_->trace;
    std::vector<bool> isUsed(trace.devices.size());
    for (const DeviceRow& row : trace.activities)
        if (trace.processOf(row) == process)
            isUsed[trace.streams[row.stream].device] = true;
    std::vector<std::int32_t> ordinals;
    for (std::size_t i = 0; i < isUsed.size(); ++i)
        if (isUsed[i])
            ordinals.push_back(trace.devices[i].facts.ordinal);
    return ordinals;
}

namespace {

/// \param intern  gives the id of a text
template <class Intern>
Collective collectiveOf(const ForeignCollective& collective, ProcessIndex process, const Intern& intern)
{
    const auto word = [&](std::string_view text) { return text.empty() ? StringId{} : intern(text); };
    return {.process = process,
            .op = intern(collective.op),
            .group = word(collective.group),
            .ranks = word(collective.ranks),
            .dtype = word(collective.dtype),
            .sequence = collective.sequence,
            .bytes = collective.bytes,
            .groupSize = collective.groupSize,
            .peer = collective.peer};
}

} // namespace

void TraceBuilder::addCollective(ProcessIndex process, const ForeignCollective& collective,
                                 std::uint32_t correlation)
{
    Collective stored =
        collectiveOf(collective, process, [this](std::string_view text) { return impl_->intern(text); });
    stored.correlation = CorrelationId{correlation};
    impl_->trace.collectives.push_back(stored);
}

void TraceBuilder::addCollective(ThreadId thread, const ForeignCollective& collective, Timestamp start,
                                 Timestamp end)
{
    if (!impl_->accepts(start, end))
        return;
    Collective stored = collectiveOf(collective, impl_->trace.threads.at(thread.value).process,
                                     [this](std::string_view text) { return impl_->intern(text); });
    stored.thread = thread;
    stored.start = start;
    stored.end = end;
    impl_->trace.collectives.push_back(stored);
}

void TraceBuilder::addWait(Wait wait)
{
    if (impl_->accepts(wait.start, wait.end))
        impl_->trace.waits.push_back(wait);
}

void TraceBuilder::addAllocation(ThreadId thread, AllocEvent event, std::string_view path)
{
    if (!isTime(event.time)) {
        impl_->lose(RecordLoss::TimeOutOfRange, 1, {});
        return;
    }
    ForeignTrace& trace = impl_->trace;
    trace.allocations.push_back({event, trace.threads.at(thread.value).process});
    // The name of an allocation is its path.
    impl_->addHost(HostKind::Allocation, thread, path, event.time, event.time,
                   static_cast<std::uint32_t>(trace.allocations.size() - 1));
}

void TraceBuilder::addHeld(ProcessIndex process, DeviceIndex device, HeldStorage held)
{
    if (isTime(held.time))
        impl_->trace.held.push_back({process, device, std::move(held)});
    else
        impl_->lose(RecordLoss::TimeOutOfRange, 1, {});
}

void TraceBuilder::addCounter(ProcessIndex process, CounterTrack track)
{
    const auto isOutOfRange = [](const CounterPoint& point) { return !isTime(point.time); };
    if (const auto count = std::erase_if(track.points, isOutOfRange); count > 0)
        impl_->lose(RecordLoss::TimeOutOfRange, static_cast<std::int64_t>(count), {});
    constexpr std::int64_t kLatest = std::int64_t{1} << 61;
    track.end = std::min(track.end, timestampAt(kLatest));
    impl_->trace.counters.emplace_back(process, std::move(track));
}

void TraceBuilder::addHostSamples(ProcessIndex process, HostSamples samples)
{
    impl_->trace.hostSamples.emplace_back(process, std::move(samples));
}

void TraceBuilder::addKernelSamples(ProcessIndex process, KernelSamples samples)
{
    impl_->trace.kernelSamples.emplace_back(process, std::move(samples));
}

void TraceBuilder::keepKernelText(bool code, bool sources)
{
    impl_->trace.keepsKernelCode = code;
    impl_->trace.keepsSources = sources;
}

DeviceIndex TraceBuilder::knownDevice(std::string_view uuid, std::int32_t ordinal) const
{
    const std::vector<KnownDevice>& devices = impl_->trace.devices;
    const auto found = std::ranges::find_if(devices, [&](const KnownDevice& device) {
        const std::string& known = device.facts.uuid;
        return known.empty() || uuid.empty() ? device.facts.ordinal == ordinal : known == uuid;
    });
    return found == devices.end() ? DeviceIndex::none()
                                  : DeviceIndex{static_cast<std::int16_t>(found - devices.begin())};
}

void TraceBuilder::addMemory(TraceBatch&& events, MemoryFacts&& facts)
{
    ForeignTrace& trace = impl_->trace;
    if (trace.memory)
        throw Error{.what = "is a second memory snapshot, and a run holds one",
                    .remedy = "import each snapshot by itself",
                    .kind = ErrorKind::Usage};
    trace.memory.emplace(std::move(events), std::move(facts));
}

void TraceBuilder::addEnvironment(EnvironmentEntry entry)
{
    const auto isSame = [&](const EnvironmentEntry& known) {
        return known.key == entry.key && known.value == entry.value;
    };
    if (std::ranges::none_of(impl_->trace.environment, isSame))
        impl_->trace.environment.push_back(std::move(entry));
}

void TraceBuilder::addEnvironment(EnvironmentEntry entry, ProcessIndex process)
{
    std::vector<EnvironmentEntry>& all = impl_->trace.environment;
    for (auto& [place, processes] : impl_->processFacts)
        if (all[place].key == entry.key && all[place].value == entry.value) {
            processes.push_back(process);
            return;
        }
    impl_->processFacts.push_back({all.size(), {process}});
    all.push_back(std::move(entry));
}

void TraceBuilder::addNumber(std::string_view key, std::int64_t number, ProcessIndex process)
{
    impl_->processNumbers.push_back({std::string(key), number, process});
}

void TraceBuilder::addFlag(std::string flag)
{
    if (std::ranges::find(impl_->trace.flags, flag) == impl_->trace.flags.end())
        impl_->trace.flags.push_back(std::move(flag));
}

void TraceBuilder::addLoss(RecordLoss kind, std::int64_t count, std::string_view detail)
{
    impl_->lose(kind, count, detail);
}

void TraceBuilder::countRecord(std::int64_t count)
{
    impl_->trace.records += count;
}

StringTable& TraceBuilder::strings()
{
    return impl_->trace.strings;
}

std::int64_t TraceBuilder::kernels() const
{
    return impl_->trace.kernels;
}

const RuleWork& TraceBuilder::work() const
{
    return impl_->trace.work;
}

RunId TraceBuilder::finish(const ForeignHeader& header, const std::filesystem::path& output,
                           const ImportWatch& watch)
{
    nameProcesses(impl_->trace, impl_->processFacts);
    const bool areSeveral = impl_->trace.topology.processes.size() > 1;
    for (const auto& [key, number, process] : impl_->processNumbers)
        addEnvironment({.key = keyOfProcess(key, areSeveral ? process : ProcessIndex{}),
                        .value = std::to_string(number)});
    return assembleRun(impl_->trace, header, output, watch);
}

} // namespace tilescope::exchange
