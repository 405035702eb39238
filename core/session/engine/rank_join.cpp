#include "core/session/engine/rank_join.h"

#include "core/analysis/kernels/sample_completion.h"
#include "core/base/error.h"
#include "core/base/this_host.h"
#include "core/model/environment_facts.h"
#include "core/model/flags.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"
#include "core/session/engine/rank_clock.h"
#include "core/store/kernel_sample_reader.h"
#include "core/store/run_reader.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tilescope::session {

namespace {

template <class Event> void moveTo(std::vector<Event>& to, std::vector<Event>& from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

template <class... Events> void sortByStart(std::vector<Events>&... lists)
{
    (std::ranges::stable_sort(lists, {}, &Events::start), ...);
}

/// Linux numbers the threads of a host below this one.
constexpr std::uint32_t kThreadsOfHost = 1U << 22;

/// Reads the run of a rank, with its texts, numbers and times changed to those of the joined run.
class RankRun {
public:
    /// The first free ids of this rank, and its clock offset.
    struct First {
        std::uint32_t range = 0;
        std::uint32_t op = 0;
        std::uint32_t stream = 0;
        std::uint32_t correlation = 0;
        std::uint32_t thread = 0;
        std::int16_t device = 0;
        Nanoseconds time{0};
    };

    RankRun(const JoinLine::Rank& rank, StringTable& strings)
        : reader_(rank.file), run_(rank.run), strings_(strings), process_{rank.rank}
    {
    }

    std::vector<EnvironmentEntry> environment() const { return reader_.environment(run_); }
    /// What a rank on another node stored about itself.
    RunTopology topology() const { return reader_.topology(run_); }

    RunResult result() const
    {
        const auto record = reader_.run(run_);
        return record
                   ? record->result
                   : RunResult{.status = RunStatus::Error, .reason = "its records are missing", .device = {}};
    }

    TraceBatch records(const First& first)
    {
        first_ = first;
        TraceBatch batch;
        for (ThreadName thread : reader_.threads(run_)) {
            if (first_.thread > 0)
                thread.native = thread.thread.value;
            thread.thread = moved(thread.thread);
            thread.name = moved(thread.name);
            thread.process = process_;
            batch.threads.push_back(thread);
        }
        reader_.eachRange({.run = run_}, [&](Range range) {
            moveAll(range.id, range.parent, range.path, range.name, range.thread, range.start, range.end);
            batch.ranges.push_back(range);
            return true;
        });
        reader_.eachOp({.run = run_}, [&](Op op) {
            moveAll(op.id, op.parent, op.range, op.name, op.shapes, op.path, op.thread, op.start, op.end);
            batch.ops.push_back(op);
            return true;
        });
        reader_.eachApiCall({.run = run_}, [&](ApiCall call) {
            moveAll(call.range, call.op, call.name, call.correlation, call.thread, call.start, call.end);
            batch.apiCalls.push_back(call);
            return true;
        });
        addDeviceRecords(batch);
        for (Collective collective : reader_.collectives(run_)) {
            collective.process = process_;
            moveAll(collective.range, collective.stream, collective.correlation, collective.device,
                    collective.thread, collective.start, collective.end);
            moveAll(collective.op, collective.group, collective.ranks, collective.dtype, collective.path);
            batch.collectives.push_back(collective);
        }
        for (const auto& loss : reader_.losses(run_)) {
            const auto severity = fromWord<LossSeverity>(loss.severity);
            if (!severity)
                throw Error{.what = "loss " + loss.kind + " has the unknown severity '" + loss.severity + "'",
                            .kind = ErrorKind::Failure};
            batch.losses.push_back({.kind = strings_.intern(loss.kind),
                                    .severity = *severity,
                                    .count = loss.count,
                                    .detail = strings_.intern(loss.detail)});
        }
        batch.recordsChecked = reader_.recordsChecked(run_);
        return batch;
    }

    /// Call after records().
    std::vector<CounterTrack> counters() const
    {
        std::vector<CounterTrack> tracks = reader_.counterTracks(run_);
        for (CounterTrack& track : tracks) {
            track.device = moved(track.device);
            if (!track.device)
                track.process = process_;
            track.end = moved(track.end);
            for (CounterPoint& point : track.points)
                point.time = moved(point.time);
        }
        return tracks;
    }

    /// Call after records().
    KernelSamples kernelSamples() const
    {
        KernelSamples samples = store::kernelSamples(reader_.file(), run_, true);
        for (SampledKernel& kernel : samples.kernels) {
            kernel.device = moved(kernel.device);
            kernel.process = process_;
        }
        return samples;
    }

private:
    void addDeviceRecords(TraceBatch& batch)
    {
        reader_.eachDeviceEvent({.run = run_}, [&](DeviceEvent event) {
            moveAll(event.name, event.path, event.stream, event.correlation, event.range, event.op,
                    event.device, event.launchThread, event.launched, event.start, event.end);
            batch.deviceEvents.push_back(event);
            return true;
        });
        for (Wait wait : reader_.waits(run_)) {
            wait.process = process_;
            moveAll(wait.stream, wait.waitedFor, wait.correlation, wait.recordCorrelation, wait.device,
                    wait.start, wait.end);
            batch.waits.push_back(wait);
        }
    }

    RangeId moved(RangeId id) const { return id ? RangeId{first_.range + id.value} : id; }
    OpId moved(OpId id) const { return id ? OpId{first_.op + id.value} : id; }
    StreamId moved(StreamId id) const { return id ? StreamId{first_.stream + id.value} : id; }
    CorrelationId moved(CorrelationId id) const
    {
        return id ? CorrelationId{first_.correlation + id.value} : id;
    }
    ThreadId moved(ThreadId id) const { return id ? ThreadId{first_.thread + id.value} : id; }
    DeviceIndex moved(DeviceIndex id) const
    {
        return id ? DeviceIndex{static_cast<std::int16_t>(first_.device + id.value)} : id;
    }
    Timestamp moved(Timestamp time) const { return time == Timestamp() ? time : time + first_.time; }
    template <class... Members> void moveAll(Members&... members) { ((members = moved(members)), ...); }
    StringId moved(StringId id)
    {
        if (!id)
            return id;
        const auto [known, isNew] = texts_.try_emplace(id.value);
        if (isNew)
            known->second = strings_.intern(reader_.text(id));
        return known->second;
    }

    store::RunReader reader_;
    RunId run_;
    StringTable& strings_;
    ProcessIndex process_;
    First first_;
    std::unordered_map<std::uint32_t, StringId> texts_; ///< by the file's id
};

void removeRankLost(RunResult& result)
{
    std::erase_if(result.flags,
                  [](const std::string& flag) { return findFlag(flag) == &infoOf(FlagKind::RankLost); });
}

} // namespace

RankJoin::RankJoin(const RankInfo& rankInfo, StringTable& strings) : strings_(strings), rankInfo_(rankInfo)
{
    addProcess(rankInfo.rank, getpid(), hostName(),
               addClock(0, {.name = hostName(), .method = "same clock"}));
}

/// The ranks of a node have one clock: the times of one of them do not tell more about it than those of another.
ClockIndex RankJoin::addClock(int node, const ClockDomain& clock)
{
    const auto [known, isNew] =
        clockOfNode_.try_emplace(node, ClockIndex{static_cast<std::int32_t>(topology_.clocks.size())});
    if (isNew)
        topology_.clocks.emplace_back(clock).id = known->second;
    return known->second;
}

void RankJoin::addProcess(int rank, std::int64_t pid, const std::string& host, ClockIndex clock)
{
    topology_.processes.push_back({.id = ProcessIndex{rank},
                                   .pid = pid,
                                   .host = host,
                                   .name = "tilescope-engine",
                                   .rank = rank,
                                   .worldSize = rankInfo_.size,
                                   .clock = clock});
}

void RankJoin::hold(TraceBatch&& batch)
{
    const ProcessIndex process{rankInfo_.rank};
    for (ThreadName& thread : batch.threads)
        thread.process = process;
    for (Collective& collective : batch.collectives)
        collective.process = process;
    for (Wait& wait : batch.waits)
        wait.process = process;
    append(std::move(batch), {.process = process, .host = topology_.processes.front().host});
}

void RankJoin::addDevice(DeviceIndex device, const Origin& origin)
{
    if (device && nodeOfDevice_.try_emplace(device, origin.node).second)
        topology_.devices.push_back(
            {.id = device, .ordinal = device.value - origin.firstDevice, .host = origin.host});
}

void RankJoin::addStream(DeviceIndex device, StreamId stream, ProcessIndex process)
{
    const auto isKnown = [&](const TracedStream& known) {
        return known.device == device && known.id == stream;
    };
    if (!stream || std::ranges::any_of(topology_.streams, isKnown))
        return;
    topology_.streams.push_back({.device = device,
                                 .id = stream,
                                 .process = process,
                                 .native = static_cast<std::int64_t>(stream.value) - firstStream_});
}

void RankJoin::describeDevices(int node, const std::vector<EnvironmentEntry>& environment)
{
    for (TracedDevice& device : topology_.devices) {
        if (nodeOfDevice_.at(device.id) != node)
            continue;
        const auto fact = [&](const char* key) {
            return factOf(environment, fmt::format("gpu.{}.{}", device.ordinal, key));
        };
        device.name = fact("name");
        device.capability = fact("compute_capability");
        if (const std::string bytes = fact("memory"); !bytes.empty())
            device.memory = Bytes{std::stoll(bytes)};
        if (const std::string count = fact("multiprocessors"); !count.empty())
            device.multiprocessors = std::stoi(count);
    }
}

void RankJoin::append(TraceBatch&& batch, const Origin& origin)
{
    // Also numbers that records refer to, which need not be stored.
    const auto note = [](std::uint32_t& next, auto id) { next = id ? std::max(next, id.value + 1) : next; };
    for (const Range& range : batch.ranges) {
        note(nextRange_, range.id);
        note(nextRange_, range.parent);
    }
    for (const Op& op : batch.ops) {
        note(nextOp_, op.id);
        note(nextOp_, op.parent);
        note(nextRange_, op.range);
    }
    for (const AllocEvent& event : batch.allocEvents)
        note(nextOp_, event.op);
    for (const ApiCall& call : batch.apiCalls)
        note(nextCorrelation_, call.correlation);
    for (const DeviceEvent& event : batch.deviceEvents) {
        note(nextCorrelation_, event.correlation);
        note(nextStream_, event.stream);
        addDevice(event.device, origin);
        addStream(event.device, event.stream, origin.process);
    }
    for (const Wait& wait : batch.waits) {
        note(nextCorrelation_, wait.correlation);
        note(nextCorrelation_, wait.recordCorrelation);
        note(nextStream_, wait.stream);
        note(nextStream_, wait.waitedFor);
    }
    moveTo(all_.ranges, batch.ranges);
    moveTo(all_.ops, batch.ops);
    moveTo(all_.apiCalls, batch.apiCalls);
    moveTo(all_.deviceEvents, batch.deviceEvents);
    moveTo(all_.allocEvents, batch.allocEvents);
    moveTo(all_.frames, batch.frames);
    moveTo(all_.collectives, batch.collectives);
    moveTo(all_.waits, batch.waits);
    moveTo(all_.threads, batch.threads);
    moveTo(all_.losses, batch.losses);
    all_.recordsChecked += batch.recordsChecked;
}

RunResult RankJoin::add(const JoinLine::Rank& rank, RunResult& result)
{
    RankRun run(rank, strings_);
    RunResult own = run.result();
    combineOutcome(result, rank.rank, own);
    Origin origin{.process = ProcessIndex{rank.rank}, .node = rank.node, .host = hostName()};
    RankRun::First first{
        .range = nextRange_, .op = nextOp_, .stream = nextStream_, .correlation = nextCorrelation_};
    ClockIndex clock{0};
    std::int64_t pid = rank.pid;
    if (rank.node > 0) {
        const RunTopology itself = run.topology();
        // It ended before it knew its clock: its times cannot be placed.
        if (itself.processes.empty() || itself.clocks.empty())
            return own;
        clock = addClock(rank.node, itself.clocks.front());
        pid = itself.processes.front().pid;
        origin.host = itself.processes.front().host;
        // Each rank has the device of its number on its node.
        origin.firstDevice = static_cast<std::int16_t>(rank.rank - rank.localRank);
        first.device = origin.firstDevice;
        first.thread = kThreadsOfHost * static_cast<std::uint32_t>(rank.node);
        first.time = topology_.clocks[static_cast<std::size_t>(clock.value)].offset;
    }
    firstStream_ = nextStream_;
    addProcess(rank.rank, pid, origin.host, clock);
    topology_.processes.back().firstCorrelation = nextCorrelation_;
    append(run.records(first), origin);
    std::ranges::move(run.counters(), std::back_inserter(counters_));
    analysis::append(kernelSamples_, run.kernelSamples());
    describeDevices(rank.node, run.environment());
    return own;
}

TraceBatch RankJoin::take()
{
    sortByStart(all_.ranges, all_.ops, all_.apiCalls, all_.deviceEvents, all_.frames, all_.collectives,
                all_.waits);
    std::ranges::stable_sort(all_.allocEvents, {}, &AllocEvent::time);
    return std::exchange(all_, {});
}

std::vector<CounterTrack> RankJoin::withCounters(std::vector<CounterTrack> own)
{
    for (CounterTrack& track : own)
        if (!track.device)
            track.process = ProcessIndex{rankInfo_.rank};
    std::ranges::move(std::exchange(counters_, {}), std::back_inserter(own));
    return own;
}

KernelSamples RankJoin::withKernelSamples(KernelSamples own)
{
    for (SampledKernel& kernel : own.kernels)
        kernel.process = ProcessIndex{rankInfo_.rank};
    analysis::append(own, std::exchange(kernelSamples_, {}));
    return own;
}

std::vector<EnvironmentEntry> peaksOf(int rank, const RunResult& result)
{
    std::vector<EnvironmentEntry> facts;
    const auto add = [&](const char* what, const std::optional<Bytes>& bytes) {
        if (bytes)
            facts.push_back({fmt::format("rank.{}.{}", rank, what), std::to_string(bytes->count), "B"});
    };
    add("peak_allocated", result.peakAllocated);
    add("peak_reserved", result.peakReserved);
    return facts;
}

// The ranks of a row have one batch and so one loss, and all batches are equally long: the mean over the ranks is that
// over the batches.
void combineLosses(std::vector<std::optional<double>>& losses,
                   const std::vector<std::vector<std::optional<double>>>& others, const ExperimentSpec& spec)
{
    const double batches = spec.loss == LossKind::Sum ? gridOf(spec).data : 1;
    for (std::size_t step = 0; step < losses.size(); ++step) {
        std::optional<double>& sum = losses[step];
        for (const auto& other : others)
            sum =
                sum && step < other.size() && other[step] ? std::optional(*sum + *other[step]) : std::nullopt;
        if (sum)
            sum = *sum * batches / static_cast<double>(1 + others.size());
    }
}

void combineOutcome(RunResult& result, int rank, const RunResult& other)
{
    result.peakAllocated = std::max(result.peakAllocated, other.peakAllocated);
    result.peakReserved = std::max(result.peakReserved, other.peakReserved);
    const bool isCause = other.status != RunStatus::Ok && !hasFlag(other.flags, FlagKind::RankLost);
    const bool isConsequence = result.status == RunStatus::Ok || hasFlag(result.flags, FlagKind::RankLost);
    if (isCause && isConsequence) {
        result.status = other.status;
        result.reason = fmt::format("rank {}: {}", rank, other.reason);
        result.oom = other.oom;
        removeRankLost(result);
    } else if (other.status != RunStatus::Ok && result.status == RunStatus::Ok) {
        result.status = other.status;
        result.reason = fmt::format("rank {}: {}", rank, other.reason);
    }
    for (const std::string& flag : other.flags)
        if (const FlagInfo* info = findFlag(flag);
            info && info->kind != FlagKind::RankLost && !hasFlag(result.flags, info->kind))
            result.flags.push_back(flag);
}

void attributeLossToStop(RunResult& result, const std::string& reason)
{
    if (!hasFlag(result.flags, FlagKind::RankLost))
        return;
    removeRankLost(result);
    result.status = RunStatus::Cancelled;
    result.reason = reason;
}

} // namespace tilescope::session
