#include "core/exchange/import/run_assembly.h"

#include "core/analysis/stats/counter_figures.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/sha256.h"
#include "core/base/version.h"
#include "core/exchange/import/allocation_assembly.h"
#include "core/exchange/import/batch_writer.h"
#include "core/exchange/import/collective_matcher.h"
#include "core/exchange/import/common_axis.h"
#include "core/exchange/import/kernel_sample_assembly.h"
#include "core/exchange/import/launch_index.h"
#include "core/exchange/import/path_maker.h"
#include "core/exchange/import/process_numbers.h"
#include "core/exchange/import/rules/activity_order.h"
#include "core/exchange/import/rules/event_times.h"
#include "core/exchange/import/rules/host_nesting.h"
#include "core/exchange/import/rules/one_file_per_rank.h"
#include "core/exchange/import/rules/reused_correlations.h"
#include "core/exchange/import/rules/row_order.h"
#include "core/exchange/import/rules/unread_devices.h"
#include "core/exchange/import/run_steps.h"
#include "core/exchange/tables/text.h"
#include "core/model/api_class.h"
#include "core/model/flags.h"
#include "core/model/run_workload.h"
#include "core/model/unjudged_steps.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBatch = 4096;

/// What is known of a thread while its events are written.
struct HostThread {
    HostNesting nesting;
    const HostRow* last = nullptr;
    std::int64_t launchUntil = std::numeric_limits<std::int64_t>::min(); ///< end of the last launch
};

/// What the name of an API call tells.
struct CallName {
    ApiKind kind = ApiKind::Other;
    bool beginsCapture = false;
    bool endsCapture = false;
};

/// Assembles one run; see assembleRun().
class Assembly {
public:
    Assembly(ForeignTrace& trace, const ForeignHeader& header, const ImportWatch& watch)
        : trace_(trace), header_(header), watch_(watch), paths_(trace.strings, trace.work)
    {
    }

    /// What can fail without the output: numbering, times, steps, order.
    void prepare()
    {
        leaveOutUnreadDevices(trace_);
        flagUnreadDevices();
        leaveOutFarEvents(trace_);
        requireEvents();
        requireOneFilePerRank(trace_);
        numberProcesses(trace_);
        time_ = placeOnOneAxis(trace_, header_.name);
        separateReusedCorrelations(trace_);
        numberCorrelations(trace_);
        steps_.emplace(trace_, header_.stepsBy);
        collectives_.emplace(trace_);
        sortRows(trace_);
        activities_.emplace(trace_);
        launches_.expect(trace_);
        captures_.resize(trace_.topology.processes.size());
    }

    RunId write(store::RunWriter& writer)
    {
        phases_ = phaseMarks(trace_);
        writer_ = &writer;
        const RunId run = writer.beginRun(runHeader());
        TraceBatch first;
        for (const KnownThread& thread : trace_.threads)
            first.threads.push_back({.thread = thread.number,
                                     .name = thread.name,
                                     .process = thread.process,
                                     .native = thread.native});
        writer.write(first);
        writer.writeTopology(trace_.topology);
        writeEvents();
        writeAllocations();
        writeCollectivesAndWaits();
        writeCounters();
        writeHostSamples();
        if (!trace_.kernelSamples.empty())
            writer.writeKernelSamples(assembleKernelSamples(trace_));
        addFacts();
        TraceBatch last;
        for (const auto& [which, count] : trace_.losses)
            last.losses.push_back(lossOf(trace_.strings, which.first, count, which.second));
        last.recordsChecked = trace_.records;
        writer.write(last);
        writer.writeEnvironment(trace_.environment);
        writer.writeSamples(steps_->samples());
        writer.endRun(result());
        return run;
    }

private:
    void requireEvents() const
    {
        if (trace_.host.empty() && trace_.activities.empty() && trace_.allocations.empty() && !trace_.memory)
            throw Error{.what = "has no events that Tilescope stores" + unreadKinds(),
                        .where = header_.name,
                        .remedy = "record with CUDA, NVTX or CPU activities turned on"};
    }

    /// What a recording holds instead, in parentheses: categories and devices that are not read.
    std::string unreadKinds() const
    {
        constexpr std::size_t kLongest = 120;
        std::string kinds;
        for (const auto& [which, count] : trace_.losses)
            if (which.first == RecordLoss::DeviceNotRead || which.first == RecordLoss::SourceNotStored)
                kinds += fmt::format("{}{} of {}", kinds.empty() ? "" : ", ", count, which.second);
        return kinds.empty() ? "" : " (it holds " + validUtf8(kinds.substr(0, kLongest)) + ")";
    }

    /// Says with the run, not only among the losses, which devices its figures lack.
    void flagUnreadDevices()
    {
        std::string devices;
        for (const auto& [which, count] : trace_.losses)
            if (which.first == RecordLoss::DeviceNotRead)
                devices += (devices.empty() ? "" : ", ") + which.second;
        constexpr std::size_t kLongest = 200;
        if (!devices.empty())
            trace_.flags.push_back(flagText(FlagKind::DeviceNotRead, validUtf8(devices.substr(0, kLongest))));
    }

    const TracedProcess& processOf(ProcessIndex index) const
    {
        return trace_.topology.processes[static_cast<std::size_t>(index.value)];
    }

    CorrelationId correlationOf(ProcessIndex process, std::uint32_t native) const
    {
        return native == 0 ? CorrelationId{} : CorrelationId{processOf(process).firstCorrelation + native};
    }

    void writeEvents()
    {
        BatchWriter batches(*writer_);
        writeHost(batches);
        writeActivities(batches);
        batches.finish();
    }

    // Host --------------------------------------------------------------------------------------------------

    void writeHost(BatchWriter& batches)
    {
        std::vector<HostThread> threads(trace_.threads.size());
        TraceBatch batch;
        std::size_t written = 0;
        for (const HostRow& row : trace_.host) {
            HostThread& thread = threads[row.thread];
            if (thread.last && repeats(trace_, *thread.last, row))
                ++duplicateCalls_;
            else
                addHost(row, thread, batch);
            thread.last = &row;
            if (++written % kBatch == 0)
                flush(batches, batch,
                      0.6 * static_cast<double>(written) / static_cast<double>(trace_.host.size()));
        }
        flush(batches, batch, 0.6);
        std::vector<HostRow>().swap(trace_.host);
        lose(RecordLoss::NestedTooDeep, tooDeep_);
        lose(RecordLoss::PathsShortened, paths_.shortened());
        lose(RecordLoss::DuplicateCall, duplicateCalls_);
        lose(RecordLoss::LaunchWithoutActivity, withoutActivity_);
    }

    void lose(RecordLoss kind, std::int64_t count)
    {
        if (count > 0)
            trace_.losses[{kind, {}}] += count;
    }

    /// Opens an event for those that it contains; false if it is nested too deep to be stored.
    bool mayOpen(const HostNesting::Place& outer, HostNesting::Layer layer)
    {
        if (HostNesting::mayOpen(outer, layer))
            return true;
        ++tooDeep_;
        return false;
    }

    /// The path around an optimizer's step: a closure runs forward and backward in it, but modules are no part of the
    /// optimizer.
    StringId outsideOfOptimizer(StringId path)
    {
        if (!path)
            return path;
        const auto [known, isNew] = outsideOfOptimizer_.try_emplace(path, path);
        if (isNew) {
            const std::string text(trace_.strings.text(path));
            const std::size_t at = text.find("/Optimizer.step#");
            if (at != std::string::npos)
                known->second = trace_.strings.intern(text.substr(0, at));
        }
        return known->second;
    }

    void addHost(const HostRow& row, HostThread& known, TraceBatch& batch)
    {
        const ProcessIndex process = trace_.processOf(row);
        const KnownThread& thread = trace_.threads[row.thread];
        const std::int32_t step = steps_->at(process, row.start);
        const HostNesting::Place outer = known.nesting.around(row.start, row.end, trace_.work);
        const StringId within = outer.path ? outer.path : paths_.ofStep(step);
        const StringId name{row.name};
        const Timestamp start = timestampAt(row.start);
        const Timestamp end = timestampAt(row.end);
        switch (row.kind) {
        case HostKind::Step:
        case HostKind::Module:
        case HostKind::Range: {
            if (!mayOpen(outer, HostNesting::Ranges))
                return;
            const StringId path =
                row.kind == HostKind::Step ? paths_.ofStep(step)
                : row.extra != 0
                    ? StringId{row.extra - 1}
                    : paths_.child(row.kind == HostKind::Module ? outsideOfOptimizer(within) : within, name);
            const RangeId id{ranges_++};
            batch.ranges.push_back({.id = id,
                                    .parent = outer.range,
                                    .path = path,
                                    .name = name,
                                    .thread = thread.number,
                                    .step = step,
                                    .start = start,
                                    .end = end});
            HostNesting::Place inner = outer;
            inner.range = id;
            inner.path = path;
            known.nesting.open(row.end, HostNesting::Ranges, inner, trace_.work);
            return;
        }
        case HostKind::Op: {
            if (!mayOpen(outer, HostNesting::Ops))
                return;
            const OpFacts& facts = trace_.ops[row.extra];
            const OpId id{ops_++};
            const StringId path = facts.isBackward ? paths_.ofBackward(process, facts.sequence) : within;
            if (!facts.isBackward)
                paths_.noteForward(process, facts.sequence, path);
            batch.ops.push_back({.id = id,
                                 .parent = outer.op,
                                 .name = name,
                                 .shapes = facts.shapes,
                                 .path = path,
                                 .range = outer.range,
                                 .thread = thread.number,
                                 .sequence = facts.sequence,
                                 .scope = facts.isBackward ? OpScope::Backward : OpScope::Function,
                                 .step = step,
                                 .start = start,
                                 .end = end});
            launches_.noteOp(process, facts.externalId,
                             {row.start, outer.range, id, thread.number, path, step});
            HostNesting::Place inner = outer;
            inner.op = id;
            inner.path = path;
            known.nesting.open(row.end, HostNesting::Ops, inner, trace_.work);
            return;
        }
        case HostKind::ApiCall:
        case HostKind::Overhead: {
            const bool isCall = row.kind == HostKind::ApiCall;
            batch.apiCalls.push_back(
                {.name = name,
                 .correlation = isCall ? correlationOf(process, row.extra) : CorrelationId{},
                 .kind = isCall ? callNamed(name).kind : ApiKind::Overhead,
                 .range = outer.range,
                 .op = outer.op,
                 .thread = thread.number,
                 .step = step,
                 .start = start,
                 .end = end});
            if (isCall) {
                noteCall(row, known, process);
                launches_.note(process, row.extra,
                               {row.start, outer.range, outer.op, thread.number, within, step});
            }
            return;
        }
        case HostKind::Launch: {
            const bool isPathKnown = !trace_.strings.text(name).empty();
            launches_.note(
                process, row.extra,
                {row.start, outer.range, outer.op, thread.number, isPathKnown ? name : within, step});
            return;
        }
        case HostKind::Frame:
            if (!mayOpen(outer, HostNesting::Frames))
                return;
            batch.frames.push_back(
                {.name = name, .thread = thread.number, .step = step, .start = start, .end = end});
            known.nesting.open(row.end, HostNesting::Frames, outer, trace_.work);
            return;
        case HostKind::Allocation: {
            AllocEvent& event = trace_.allocations[row.extra].event;
            event.path = trace_.strings.text(name).empty() ? within : name;
            event.op = outer.op;
            event.step = step;
            return;
        }
        }
    }

    const CallName& callNamed(StringId name)
    {
        const auto [place, isNew] = callNames_.try_emplace(name.value);
        if (isNew) {
            const std::string_view text = trace_.strings.text(name);
            place->second = {.kind = apiKindOf(classifyApi(text)),
                             .beginsCapture = text.find("StreamBeginCapture") != std::string_view::npos,
                             .endsCapture = text.find("StreamEndCapture") != std::string_view::npos};
        }
        return place->second;
    }

    /// Rule "launches without activities". Launches in a capture run nothing, and the driver's launch in one of the
    /// runtime is the same one.
    void noteCall(const HostRow& row, HostThread& thread, ProcessIndex process)
    {
        std::int64_t& captures = captures_[static_cast<std::size_t>(process.value)];
        const CallName& name = callNamed(StringId{row.name});
        if (name.beginsCapture)
            ++captures;
        else if (name.endsCapture)
            captures = std::max<std::int64_t>(captures - 1, 0);
        if (row.extra == 0 || name.kind != ApiKind::Launch || captures > 0 || row.start < thread.launchUntil)
            return;
        thread.launchUntil = row.end;
        const bool hasActivity = launches_.isWanted(process, row.extra);
        steps_->noteLaunch(process, row.start, hasActivity);
        withoutActivity_ += hasActivity ? 0 : 1;
    }

    // Device ------------------------------------------------------------------------------------------------

    void writeActivities(BatchWriter& batches)
    {
        TraceBatch batch;
        std::size_t done = 0;
        std::int64_t unlaunched = 0;
        for (const DeviceRow& row : trace_.activities) {
            ++trace_.work.rows;
            const ActivityOrder::Finding finding = activities_->next(row);
            if (finding.isDoubtful)
                steps_->doubt(trace_.processOf(row), finding.from, finding.to);
            if (!finding.isDuplicate)
                unlaunched += addActivity(row, batch) ? 0 : 1;
            if (++done % kBatch == 0)
                flush(batches, batch,
                      0.6 + 0.3 * static_cast<double>(done) / static_cast<double>(trace_.activities.size()));
        }
        flush(batches, batch, 0.9);
        lose(RecordLoss::UnlaunchedActivity, unlaunched);
        lose(RecordLoss::DuplicateActivity, activities_->duplicates());
        lose(RecordLoss::OutlastsSuccessor, activities_->outlasting());
        lose(RecordLoss::StartsBeforeLaunch, early_);
        if (const std::string steps = steps_->unjudged(); !steps.empty())
            trace_.environment.push_back({std::string(kUnjudgedSteps), steps});
    }

    /// \return  whether its launch is known
    bool addActivity(const DeviceRow& row, TraceBatch& batch)
    {
        const KnownStream& stream = trace_.streams[row.stream];
        const ActivityFacts& facts = trace_.activityFacts[row.extra];
        const Launch* launch = launches_.find(stream.process, row.correlation);
        const bool isLaunched = launch != nullptr;
        if (isLaunched && launch->start - row.start > kBeforeLaunchNs) {
            ++early_;
            steps_->doubt(stream.process, row.start, launch->start + 1);
        }
        if (!launch)
            launch = launches_.findOp(stream.process, facts.externalId);
        DeviceEvent event{.kind = row.kind,
                          .name = StringId{row.name},
                          .device = trace_.devices[stream.device].number,
                          .stream = stream.number,
                          .correlation = correlationOf(stream.process, row.correlation),
                          .graphNode = facts.graphNode,
                          .copy = row.copy,
                          .bytes = facts.bytes,
                          .launch = trace_.launches[row.launch],
                          .start = timestampAt(row.start),
                          .end = timestampAt(row.end)};
        event.step = steps_->ofWork(stream.process, launch, row.start);
        if (launch) {
            event.range = launch->range;
            event.op = launch->op;
            event.launchThread = launch->thread;
            event.path = launch->path;
            if (isLaunched)
                event.launched = timestampAt(launch->start);
        }
        if (facts.path)
            event.path = facts.path;
        if (!event.path)
            event.path = paths_.ofStep(event.step);
        steps_->addWork(stream.process, event);
        collectives_->complete(stream.process, row.correlation, event);
        batch.deviceEvents.push_back(event);
        return isLaunched;
    }

    // Collectives and waits ---------------------------------------------------------------------------------

    void writeCollectivesAndWaits()
    {
        for (Wait& wait : trace_.waits) {
            wait.step = steps_->at(wait.process, nanosecondsOf(wait.start));
            wait.correlation = correlationOf(wait.process, wait.correlation.value);
            wait.recordCorrelation = correlationOf(wait.process, wait.recordCorrelation.value);
            if (wait.device)
                wait.device = trace_.devices[static_cast<std::size_t>(wait.device.value)].number;
            if (wait.stream)
                wait.stream = trace_.streams[wait.stream.value].number;
            if (wait.waitedFor)
                wait.waitedFor = trace_.streams[wait.waitedFor.value].number;
        }
        std::ranges::stable_sort(trace_.waits, {}, &Wait::start);
        TraceBatch batch;
        batch.collectives = collectives_->finish(*steps_, paths_);
        batch.waits = std::move(trace_.waits);
        writer_->write(batch);
    }

    void writeCounters()
    {
        std::vector<CounterTrack> tracks;
        for (auto& [process, track] : trace_.counters) {
            std::ranges::stable_sort(track.points, {}, &CounterPoint::time);
            CounterTrack part = analysis::clipped(track, timestampAt(time_.first), timestampAt(time_.last));
            if (part.points.empty())
                continue;
            if (part.device)
                part.device = trace_.devices[static_cast<std::size_t>(part.device.value)].number;
            if (trace_.topology.processes.size() < 2)
                part.process = {};
            tracks.push_back(std::move(part));
        }
        writer_->writeCounterTracks(tracks);
    }

    void writeHostSamples()
    {
        std::vector<HostSamples> all;
        for (auto& [process, samples] : trace_.hostSamples) {
            for (SampledHostThread& thread : samples.threads) {
                thread.thread = trace_.threads[static_cast<std::size_t>(thread.thread.value)].number;
                std::ranges::stable_sort(thread.samples, {}, &HostSample::time);
            }
            samples.process = trace_.topology.processes.size() < 2 ? ProcessIndex{} : process;
            all.push_back(std::move(samples));
        }
        writer_->writeHostSamples(all);
    }

    // Memory ------------------------------------------------------------------------------------------------

    void writeAllocations()
    {
        const auto inRun = [&](DeviceIndex device) {
            return device ? trace_.devices[static_cast<std::size_t>(device.value)].number : device;
        };
        for (ForeignAllocation& each : trace_.allocations)
            each.event.device = inRun(each.event.device);
        for (ForeignHeld& held : trace_.held)
            held.device = inRun(held.device);
        std::vector<AllocEvent> events =
            completeAllocations(std::move(trace_.allocations), trace_.held, phases_, trace_.strings);
        if (trace_.memory)
            takeSnapshot(events);
        std::ranges::stable_sort(events, {}, &AllocEvent::time);
        std::map<DeviceIndex, Bytes> reserved;
        for (const AllocEvent& event : events) {
            Bytes& most = peaks_[event.device];
            most = std::max(most, Bytes{event.allocated});
            reserved[event.device] = std::max(reserved[event.device], Bytes{event.reserved});
        }
        for (const auto& [device, most] : peaks_)
            if (device && (!peakAllocated_ || most > *peakAllocated_)) {
                peakAllocated_ = most;
                peakReserved_ = reserved[device];
            }
        TraceBatch batch;
        batch.allocEvents = std::move(events);
        writer_->write(batch);
    }

    /// Events and blocks of a snapshot join the run; its devices are CUDA's numbers.
    void takeSnapshot(std::vector<AllocEvent>& events)
    {
        auto& [batch, facts] = *trace_.memory;
        const auto inRun = [&](DeviceIndex device) {
            for (const KnownDevice& known : trace_.devices)
                if (device && known.facts.ordinal == device.value)
                    return known.number;
            return device;
        };
        // The stacks of a snapshot are ops of their own, numbered behind those of the trace.
        const std::uint32_t first = ops_;
        TraceBatch stacks;
        for (Op& op : batch.ops) {
            op.id.value += first;
            if (op.parent)
                op.parent.value += first;
            op.start = op.end = timestampAt(time_.first);
            stacks.ops.push_back(op);
        }
        writer_->write(stacks);
        for (AllocEvent& event : batch.allocEvents) {
            event.device = inRun(event.device);
            if (event.op)
                event.op.value += first;
            if (!trace_.topology.processes.empty())
                event.step = steps_->at(ProcessIndex{0}, nanosecondsOf(event.time));
            events.push_back(event);
        }
        for (MemoryBlock& block : facts.blocks)
            block.device = inRun(block.device);
        for (MemorySegment& segment : facts.segments)
            segment.device = inRun(segment.device);
        for (MemoryReading& reading : facts.readings)
            reading.device = inRun(reading.device);
        writer_->writeMemory(facts);
        TraceBatch losses;
        losses.losses = std::move(batch.losses);
        losses.recordsChecked = batch.recordsChecked;
        writer_->write(losses);
    }

    // The run -----------------------------------------------------------------------------------------------

    store::RunHeader runHeader() const
    {
        store::RunHeader header;
        header.name = validUtf8(header_.name);
        header.workload = kTraceWorkload.name;
        header.specJson = fmt::format(R"({{"workload":"{}","format":{},"file":{}}})", kTraceWorkload.name,
                                      jsonString(header_.format), jsonString(header_.name));
        header.program = header_.program.empty() ? programBanner() : header_.program;
        header.specHash = sha256(header.specJson + std::to_string(time_.first));
        header.clockOrigin = timestampAt(time_.first);
        // Recordings carry the wall clock or count from their own start.
        constexpr std::int64_t kYear2001 = 1'000'000'000'000'000'000;
        header.startedUnixNs = time_.first > kYear2001 ? time_.first : 0;
        header.eventCap = std::numeric_limits<std::int64_t>::max();
        header.isInOrder = !trace_.memory; // the stacks of a snapshot come last
        return header;
    }

    /// Facts of the first device under the keys that runs of Tilescope itself have.
    void addFacts()
    {
        if (trace_.topology.devices.empty())
            return;
        const TracedDevice& device = trace_.topology.devices.front();
        if (!device.name.empty())
            trace_.environment.push_back({"gpu.name", device.name});
        if (!device.uuid.empty())
            trace_.environment.push_back({"gpu.uuid", device.uuid});
        if (device.memory)
            trace_.environment.push_back({"gpu.memory", std::to_string(device.memory->count), "B"});
        for (const TracedDevice& each : trace_.topology.devices) {
            const std::string gpu = "gpu." + std::to_string(each.id.value) + ".";
            if (trace_.topology.devices.size() > 1 && !each.name.empty())
                trace_.environment.push_back({gpu + "name", each.name});
            if (trace_.topology.devices.size() > 1 && !each.uuid.empty())
                trace_.environment.push_back({gpu + "uuid", each.uuid});
        }
    }

    /// cuda:0; cuda:0, cuda:1; cuda:0 to cuda:7; cuda:0, cuda:2 to cuda:4
    std::string devicesText() const
    {
        std::vector<std::int32_t> ids;
        for (const TracedDevice& device : trace_.topology.devices)
            ids.push_back(device.id.value);
        std::ranges::sort(ids);
        std::string text;
        for (std::size_t first = 0; first < ids.size();) {
            std::size_t next = first + 1;
            while (next < ids.size() && ids[next] == ids[next - 1] + 1)
                ++next;
            text += (text.empty() ? "cuda:" : ", cuda:") + std::to_string(ids[first]);
            if (next - first > 1)
                text += (next - first == 2 ? ", cuda:" : " to cuda:") + std::to_string(ids[next - 1]);
            first = next;
        }
        return text;
    }

    RunResult result() const
    {
        RunResult result;
        result.flags = trace_.flags;
        if (!trace_.topology.devices.empty())
            result.device = devicesText();
        else // which of the GPUs is unknown where their activities could not be traced
            result.device = hasFlag(result.flags, FlagKind::Untraced)        ? "cuda"
                            : hasFlag(result.flags, FlagKind::DeviceNotRead) ? ""
                                                                             : "cpu";
        result.peakAllocated = peakAllocated_;
        result.peakReserved = peakReserved_;
        result.duration = Nanoseconds(time_.last - time_.first);
        return result;
    }

    void flush(BatchWriter& batches, TraceBatch& batch, double done)
    {
        batches.write(std::exchange(batch, {}));
        if (watch_ && !watch_(done))
            throw Error{.what = "the import was cancelled", .kind = ErrorKind::Failure};
    }

    ForeignTrace& trace_;
    const ForeignHeader& header_;
    const ImportWatch& watch_;
    store::RunWriter* writer_ = nullptr;
    PathMaker paths_;
    LaunchIndex launches_;
    TimeSpan time_;
    std::unordered_map<StringId, StringId> outsideOfOptimizer_; ///< by path
    std::optional<RunSteps> steps_;                             // by prepare()
    std::optional<CollectiveMatcher> collectives_;              // by prepare()
    std::optional<ActivityOrder> activities_;                   // by prepare()
    std::vector<std::int64_t> captures_;                        ///< open captures of CUDA graphs, by process
    std::int64_t tooDeep_ = 0;
    std::int64_t duplicateCalls_ = 0;
    std::int64_t early_ = 0; ///< activities that start before their launch
    std::int64_t withoutActivity_ = 0;
    std::unordered_map<std::uint32_t, CallName> callNames_;
    std::vector<PhaseMark> phases_;
    std::map<DeviceIndex, Bytes> peaks_;
    std::optional<Bytes> peakAllocated_;
    std::optional<Bytes> peakReserved_;
    std::uint32_t ranges_ = 0;
    std::uint32_t ops_ = 0;
};

/// Takes back a run that was begun.
void removeRun(const fs::path& output, RunId run)
{
    try {
        store::deleteRuns(output, std::span(&run, 1));
    } catch (const Error&) {
        // The failure that led here is what the user needs to know; the run stays as interrupted.
        return;
    }
}

} // namespace

RunId assembleRun(ForeignTrace& trace, const ForeignHeader& header, const fs::path& output,
                  const ImportWatch& watch)
{
    Assembly assembly(trace, header, watch);
    assembly.prepare();
    const bool existed = fs::exists(output);
    RunId run;
    try {
        store::RunWriter writer(output, trace.strings, store::NewFile::WhenSealed);
        try {
            run = assembly.write(writer);
            trace.work.pages += writer.pagesLookedAt();
            writer.seal();
            return run;
        } catch (...) {
            if (!run)
                run = writer.run();
            throw;
        }
    } catch (...) {
        if (existed)
            removeRun(output, run);
        throw;
    }
}

} // namespace tilescope::exchange
