#include "core/exchange/import/run_assembly.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/sha256.h"
#include "core/base/version.h"
#include "core/exchange/import/launch_index.h"
#include "core/exchange/import/party_numbers.h"
#include "core/exchange/import/path_maker.h"
#include "core/exchange/import/step_finder.h"
#include "core/exchange/text.h"
#include "core/model/api_class.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBatch = 4096;

/// An event that a thread is in.
struct Open {
    std::int64_t end = 0;
    RangeId range = {}; ///< innermost range, this event included
    OpId op = {};       ///< innermost op, this event included
    StringId path = {};
};

/// Assembles one run; see assembleRun().
class Assembly {
public:
    Assembly(ForeignTrace& trace, const ForeignHeader& header, const ImportWatch& watch)
        : trace_(trace), header_(header), watch_(watch), paths_(trace.strings)
    {
    }

    /// What can fail without the output: numbering, times, steps, order.
    void prepare()
    {
        requireEvents();
        numberParties(trace_);
        placeOnOneAxis();
        numberCorrelations();
        findSteps();
        const auto outermostFirst = [](const HostRow& a, const HostRow& b) {
            if (a.start != b.start)
                return a.start < b.start;
            return a.end != b.end ? a.end > b.end : a.kind < b.kind;
        };
        std::ranges::sort(trace_.host, outermostFirst);
        const auto byStart = [](const DeviceRow& a, const DeviceRow& b) {
            return std::tie(a.start, a.stream, a.correlation, a.end, a.name) <
                   std::tie(b.start, b.stream, b.correlation, b.end, b.name);
        };
        std::ranges::sort(trace_.activities, byStart);
        launches_.expect(trace_);
    }

    RunId write(store::RunWriter& writer)
    {
        writer_ = &writer;
        const RunId run = writer.beginRun(runHeader());
        TraceBatch first;
        for (const KnownThread& thread : trace_.threads)
            first.threads.push_back({.thread = thread.number,
                                     .name = thread.name,
                                     .process = thread.process,
                                     .native = thread.native});
        writer.write(first);
        writer.writeParties(trace_.parties);
        writeHost();
        writeActivities();
        writeAllocations();
        writeCollectives();
        writeWaits();
        addFacts();
        TraceBatch last;
        for (const auto& [which, count] : trace_.losses)
            last.losses.push_back(lossOf(trace_.strings, which.first, count, which.second));
        last.recordsChecked = trace_.records;
        writer.write(last);
        writer.writeEnvironment(trace_.environment);
        writer.writeSamples(samples());
        writer.endRun(result());
        return run;
    }

private:
    void requireEvents() const
    {
        if (trace_.host.empty() && trace_.activities.empty() && trace_.allocations.empty() && !trace_.memory)
            throw Error{.what = "has no events that Tilescope stores",
                        .where = header_.name,
                        .mend = "record with CUDA, NVTX or CPU activities turned on"};
    }

    const TracedProcess& processOf(ProcessIndex index) const
    {
        return trace_.parties.processes[static_cast<std::size_t>(index.value)];
    }
    ProcessIndex processOf(const HostRow& row) const { return trace_.threads[row.thread].process; }
    ProcessIndex processOf(const DeviceRow& row) const { return trace_.streams[row.stream].process; }

    /// Adds the offset of each process' clock to its times and finds the first and the last.
    void placeOnOneAxis()
    {
        if (trace_.parties.clocks.empty())
            trace_.parties.clocks.push_back(
                {.id = ClockIndex{0}, .name = header_.name, .method = "same clock"});
        std::vector<std::int64_t> offsets;
        for (TracedProcess& process : trace_.parties.processes) {
            if (!process.clock)
                process.clock = ClockIndex{0};
            offsets.push_back(
                trace_.parties.clocks[static_cast<std::size_t>(process.clock.value)].offset.count());
        }
        const auto offsetOf = [&offsets](ProcessIndex process) {
            return process ? offsets[static_cast<std::size_t>(process.value)] : 0;
        };
        const auto place = [&](auto& row) {
            const std::int64_t offset = offsetOf(processOf(row));
            row.start += offset;
            row.end += offset;
            reach(row.start, row.end);
        };
        std::ranges::for_each(trace_.host, place);
        std::ranges::for_each(trace_.activities, place);
        // An allocation has the time of its host row.
        for (const HostRow& row : trace_.host)
            if (row.kind == HostKind::Allocation)
                trace_.allocations[row.extra].time = timestampAt(row.start);
        const auto shift = [&](auto& event) {
            event.start += Nanoseconds(offsetOf(event.process));
            event.end += Nanoseconds(offsetOf(event.process));
        };
        std::ranges::for_each(trace_.collectives, shift);
        std::ranges::for_each(trace_.waits, shift);
        if (trace_.memory)
            for (const AllocEvent& event : trace_.memory->first.allocEvents)
                reach(nanosecondsOf(event.time), nanosecondsOf(event.time));
    }

    void reach(std::int64_t start, std::int64_t end)
    {
        first_ = std::min(first_, start);
        last_ = std::max(last_, end);
    }

    /// Gives each process' correlation ids an interval of the run's.
    void numberCorrelations()
    {
        std::vector<std::uint32_t> highest(trace_.parties.processes.size(), 0);
        const auto note = [&](ProcessIndex process, std::uint32_t correlation) {
            auto& known = highest[static_cast<std::size_t>(process.value)];
            known = std::max(known, correlation);
        };
        for (const HostRow& row : trace_.host)
            if (row.kind == HostKind::ApiCall || row.kind == HostKind::Launch)
                note(processOf(row), row.extra);
        for (const DeviceRow& row : trace_.activities)
            note(processOf(row), row.correlation);
        std::uint64_t next = 0;
        for (std::size_t i = 0; i < highest.size(); ++i) {
            // Ids beyond 32 bits wrap: they label events, which the assembly connects before.
            trace_.parties.processes[i].firstCorrelation = static_cast<std::uint32_t>(next);
            next += highest[i];
        }
    }

    CorrelationId correlationOf(ProcessIndex process, std::uint32_t native) const
    {
        return native == 0 ? CorrelationId{} : CorrelationId{processOf(process).firstCorrelation + native};
    }

    // Steps -------------------------------------------------------------------------------------------------

    void findSteps()
    {
        const std::size_t count = trace_.parties.processes.size();
        std::vector<std::vector<StepCandidate>> candidates(count);
        std::vector<std::int64_t> first(count, std::numeric_limits<std::int64_t>::max());
        std::vector<char> mayDelimit; // by name: 0 unknown, 1 no, 2 yes
        for (std::size_t i = 0; i < trace_.host.size(); ++i) {
            const HostRow& row = trace_.host[i];
            const auto process = static_cast<std::size_t>(processOf(row).value);
            first[process] = std::min(first[process], row.start);
            const bool isMarked = row.kind == HostKind::Step;
            if (!isMarked && row.kind != HostKind::Range)
                continue;
            if (row.name >= mayDelimit.size())
                mayDelimit.resize(std::max<std::size_t>(row.name + 1, 2 * mayDelimit.size()), 0);
            const std::string_view name = trace_.strings.text(StringId{row.name});
            char& known = mayDelimit[row.name];
            if (known == 0)
                known = mayDelimitSteps(name) ? 2 : 1;
            if (isMarked || known == 2)
                candidates[process].push_back({name, i, row.thread, row.start, row.end, isMarked});
        }
        steps_.resize(count);
        std::set<std::string> sources;
        for (std::size_t i = 0; i < count; ++i) {
            std::ranges::stable_sort(candidates[i], {}, &StepCandidate::start);
            FoundSteps found = stepsFromRanges(candidates[i], first[i]);
            if (found.steps.empty())
                found = stepsFromKernels(kernelsOfBusiestStream(ProcessIndex{static_cast<std::int32_t>(i)}));
            if (found.steps.empty())
                continue;
            sources.insert(found.source + (found.isInferred ? " (inferred)" : ""));
            keepSteps(i, std::move(found));
        }
        std::string all;
        for (const std::string& source : sources)
            all += (all.empty() ? "" : ", ") + source;
        if (!all.empty())
            trace_.environment.push_back({"steps.source", all});
    }

    /// The ranges that are steps become rows of kind Step, and no others; a computed step becomes a row.
    void keepSteps(std::size_t process, FoundSteps&& found)
    {
        for (HostRow& row : trace_.host)
            if (row.kind == HostKind::Step && static_cast<std::size_t>(processOf(row).value) == process)
                row.kind = HostKind::Range;
        const std::uint32_t thread =
            found.thread ? *found.thread : mainThreadOf(ProcessIndex{static_cast<std::int32_t>(process)});
        for (const FoundStep& step : found.steps)
            if (step.range)
                trace_.host[*step.range].kind = HostKind::Step;
            else
                trace_.host.push_back(
                    {.start = step.start,
                     .end = step.end,
                     .name = trace_.strings.intern("step_" + std::to_string(step.number)).value,
                     .thread = thread,
                     .kind = HostKind::Step});
        steps_[process] = std::move(found.steps);
    }

    std::uint32_t mainThreadOf(ProcessIndex process)
    {
        std::vector<std::size_t> events(trace_.threads.size(), 0);
        for (const HostRow& row : trace_.host)
            ++events[row.thread];
        std::optional<std::uint32_t> main;
        for (std::uint32_t i = 0; i < trace_.threads.size(); ++i)
            if (trace_.threads[i].process == process && (!main || events[i] > events[*main]))
                main = i;
        if (main)
            return *main;
        trace_.threads.push_back({.process = process,
                                  .name = trace_.strings.intern("steps"),
                                  .number = ThreadId{std::numeric_limits<std::uint32_t>::max() - 1 -
                                                     static_cast<std::uint32_t>(process.value)}});
        return static_cast<std::uint32_t>(trace_.threads.size() - 1);
    }

    std::vector<KernelInstant> kernelsOfBusiestStream(ProcessIndex process) const
    {
        std::vector<std::int64_t> busy(trace_.streams.size(), 0);
        for (const DeviceRow& row : trace_.activities)
            if (row.kind == DeviceEventKind::Kernel && processOf(row) == process)
                busy[row.stream] += row.end - row.start;
        std::vector<KernelInstant> kernels;
        const auto most = std::ranges::max_element(busy);
        if (most == busy.end() || *most == 0)
            return kernels;
        const auto stream = static_cast<std::uint32_t>(most - busy.begin());
        for (const DeviceRow& row : trace_.activities)
            if (row.kind == DeviceEventKind::Kernel && row.stream == stream)
                kernels.push_back({row.name, row.start, row.end});
        std::ranges::sort(kernels, {}, &KernelInstant::start);
        return kernels;
    }

    std::int32_t stepAt(ProcessIndex process, std::int64_t time) const
    {
        const auto& steps = steps_[static_cast<std::size_t>(process.value)];
        const auto next = std::ranges::upper_bound(steps, time, {}, &FoundStep::start);
        return next != steps.begin() && time < std::prev(next)->end ? std::prev(next)->number : kNoStep;
    }

    // Host --------------------------------------------------------------------------------------------------

    void writeHost()
    {
        std::vector<std::vector<Open>> open(trace_.threads.size());
        TraceBatch batch;
        std::size_t written = 0;
        for (const HostRow& row : trace_.host) {
            std::vector<Open>& stack = open[row.thread];
            while (!stack.empty() && stack.back().end <= row.start)
                stack.pop_back();
            addHost(row, stack, batch);
            if (++written % kBatch == 0)
                flush(batch, 0.6 * static_cast<double>(written) / static_cast<double>(trace_.host.size()));
        }
        flush(batch, 0.6);
        std::vector<HostRow>().swap(trace_.host);
    }

    /// The innermost event that contains the row; events of one thread may overlap without nesting.
    static Open enclosing(const std::vector<Open>& stack, const HostRow& row)
    {
        for (auto outer = stack.rbegin(); outer != stack.rend(); ++outer)
            if (outer->end >= row.end)
                return *outer;
        return {};
    }

    void addHost(const HostRow& row, std::vector<Open>& stack, TraceBatch& batch)
    {
        const ProcessIndex process = processOf(row);
        const KnownThread& thread = trace_.threads[row.thread];
        const std::int32_t step = stepAt(process, row.start);
        const Open outer = enclosing(stack, row);
        const StringId within = outer.path ? outer.path : paths_.ofStep(step);
        const StringId name{row.name};
        const Timestamp start = timestampAt(row.start);
        const Timestamp end = timestampAt(row.end);
        switch (row.kind) {
        case HostKind::Step:
        case HostKind::Module:
        case HostKind::Range: {
            const StringId path = row.kind == HostKind::Step ? paths_.ofStep(step)
                                  : row.extra != 0           ? StringId{row.extra - 1}
                                                             : paths_.child(within, name);
            const RangeId id{ranges_++};
            batch.ranges.push_back({.id = id,
                                    .parent = outer.range,
                                    .path = path,
                                    .name = name,
                                    .thread = thread.number,
                                    .step = step,
                                    .start = start,
                                    .end = end});
            stack.push_back({row.end, id, outer.op, path});
            return;
        }
        case HostKind::Op: {
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
            stack.push_back({row.end, outer.range, id, path});
            return;
        }
        case HostKind::ApiCall:
        case HostKind::Overhead: {
            const bool isCall = row.kind == HostKind::ApiCall;
            batch.apiCalls.push_back(
                {.name = name,
                 .correlation = isCall ? correlationOf(process, row.extra) : CorrelationId{},
                 .kind = isCall ? apiKindOfName(name) : ApiKind::Overhead,
                 .range = outer.range,
                 .op = outer.op,
                 .thread = thread.number,
                 .step = step,
                 .start = start,
                 .end = end});
            if (isCall)
                launches_.note(process, row.extra,
                               {row.start, outer.range, outer.op, thread.number, within, step});
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
            batch.frames.push_back(
                {.name = name, .thread = thread.number, .step = step, .start = start, .end = end});
            stack.push_back({row.end, outer.range, outer.op, outer.path});
            return;
        case HostKind::Allocation: {
            AllocEvent& event = trace_.allocations[row.extra];
            event.path = within;
            event.op = outer.op;
            event.step = step;
            return;
        }
        }
    }

    ApiKind apiKindOfName(StringId name)
    {
        const auto [place, isNew] = apiKinds_.try_emplace(name.value, ApiKind::Other);
        if (isNew)
            place->second = apiKindOf(classifyApi(trace_.strings.text(name)));
        return place->second;
    }

    // Device ------------------------------------------------------------------------------------------------

    void writeActivities()
    {
        noteCollectives();
        TraceBatch batch;
        std::size_t done = 0;
        std::int64_t unlaunched = 0;
        std::int64_t duplicates = 0;
        const DeviceRow* before = nullptr;
        for (const DeviceRow& row : trace_.activities) {
            if (before && isSame(*before, row))
                ++duplicates;
            else
                unlaunched += addActivity(row, batch) ? 0 : 1;
            before = &row;
            if (++done % kBatch == 0)
                flush(batch,
                      0.6 + 0.3 * static_cast<double>(done) / static_cast<double>(trace_.activities.size()));
        }
        flush(batch, 0.9);
        if (unlaunched > 0)
            trace_.losses[{RecordLoss::UnlaunchedActivity, {}}] += unlaunched;
        if (duplicates > 0)
            trace_.losses[{RecordLoss::DuplicateActivity, {}}] += duplicates;
    }

    static bool isSame(const DeviceRow& a, const DeviceRow& b)
    {
        return a.start == b.start && a.end == b.end && a.stream == b.stream && a.name == b.name &&
               a.correlation == b.correlation && a.kind == b.kind && a.extra == 0 && b.extra == 0;
    }

    /// \return  whether its launch is known
    bool addActivity(const DeviceRow& row, TraceBatch& batch)
    {
        const KnownStream& stream = trace_.streams[row.stream];
        const ActivityFacts& facts = trace_.activityFacts[row.extra];
        const Launch* launch = launches_.find(stream.process, row.correlation);
        const bool isLaunched = launch != nullptr;
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
        if (launch) {
            event.range = launch->range;
            event.op = launch->op;
            event.launchThread = launch->thread;
            event.path = launch->path;
            event.step = launch->step;
            if (isLaunched)
                event.launched = timestampAt(launch->start);
        } else {
            event.step = stepAt(stream.process, row.start);
            event.path = paths_.ofStep(event.step);
        }
        if (!collectives_.empty())
            completeCollective(stream.process, row.correlation, event);
        batch.deviceEvents.push_back(event);
        return isLaunched;
    }

    // Collectives and waits ---------------------------------------------------------------------------------

    static std::uint64_t keyOf(ProcessIndex process, std::uint32_t correlation)
    {
        return static_cast<std::uint64_t>(process.value) << 32 | correlation;
    }

    void noteCollectives()
    {
        for (std::size_t i = 0; i < trace_.collectives.size(); ++i)
            if (const Collective& collective = trace_.collectives[i]; collective.correlation)
                collectives_.emplace(keyOf(collective.process, collective.correlation.value), i);
    }

    /// A collective is what its kernel does: it takes the kernel's times and place.
    void completeCollective(ProcessIndex process, std::uint32_t native, const DeviceEvent& kernel)
    {
        const auto found = collectives_.find(keyOf(process, native));
        if (found == collectives_.end() || kernel.kind != DeviceEventKind::Kernel)
            return;
        Collective& collective = trace_.collectives[found->second];
        collective.correlation = kernel.correlation;
        collective.device = kernel.device;
        collective.stream = kernel.stream;
        collective.thread = kernel.launchThread;
        collective.range = kernel.range;
        collective.path = kernel.path;
        collective.step = kernel.step;
        collective.start = kernel.start;
        collective.end = kernel.end;
        collectives_.erase(found);
    }

    void writeCollectives()
    {
        std::set<std::size_t> unmatched;
        for (const auto& [key, index] : collectives_)
            unmatched.insert(index);
        std::vector<Collective> kept;
        for (std::size_t i = 0; i < trace_.collectives.size(); ++i) {
            Collective& collective = trace_.collectives[i];
            if (unmatched.contains(i))
                continue;
            if (!collective.device && collective.thread) {
                collective.step = stepAt(collective.process, nanosecondsOf(collective.start));
                collective.path = paths_.ofStep(collective.step);
                collective.thread = trace_.threads[collective.thread.value].number;
            }
            kept.push_back(collective);
        }
        if (!unmatched.empty())
            trace_.losses[{RecordLoss::CollectivesUnmatched, {}}] +=
                static_cast<std::int64_t>(unmatched.size());
        std::ranges::stable_sort(kept, {}, &Collective::start);
        // The n-th of a group on each rank belong together.
        std::map<std::pair<ProcessIndex, StringId>, std::int64_t> next;
        for (Collective& collective : kept)
            if (collective.sequence < 0)
                collective.sequence = next[{collective.process, collective.group}]++;
        TraceBatch batch;
        batch.collectives = std::move(kept);
        writer_->write(batch);
    }

    void writeWaits()
    {
        for (Wait& wait : trace_.waits) {
            wait.step = stepAt(wait.process, nanosecondsOf(wait.start));
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
        batch.waits = std::move(trace_.waits);
        writer_->write(batch);
    }

    // Memory ------------------------------------------------------------------------------------------------

    void writeAllocations()
    {
        std::vector<AllocEvent> events = std::move(trace_.allocations);
        for (AllocEvent& event : events)
            if (event.device)
                event.device = trace_.devices[static_cast<std::size_t>(event.device.value)].number;
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
            op.start = op.end = timestampAt(first_);
            stacks.ops.push_back(op);
        }
        writer_->write(stacks);
        for (AllocEvent& event : batch.allocEvents) {
            event.device = inRun(event.device);
            if (event.op)
                event.op.value += first;
            if (!trace_.parties.processes.empty())
                event.step = stepAt(ProcessIndex{0}, nanosecondsOf(event.time));
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
        header.workload = kTraceWorkload;
        header.specJson = fmt::format(R"({{"workload":"{}","format":{},"file":{}}})", kTraceWorkload,
                                      jsonString(header_.format), jsonString(header_.name));
        header.program = header_.program.empty() ? programBanner() : header_.program;
        header.specHash = sha256(header.specJson + std::to_string(first_));
        header.clockOrigin = timestampAt(first_);
        // Recordings carry the wall clock or count from their own start.
        constexpr std::int64_t kYear2001 = 1'000'000'000'000'000'000;
        if (first_ > kYear2001)
            header.startedUnixNs = first_;
        header.eventCap = std::numeric_limits<std::int64_t>::max();
        return header;
    }

    /// Facts of the first device under the keys that runs of Tilescope itself have.
    void addFacts()
    {
        if (trace_.parties.devices.empty())
            return;
        const TracedDevice& device = trace_.parties.devices.front();
        if (!device.name.empty())
            trace_.environment.push_back({"gpu.name", device.name});
        if (!device.uuid.empty())
            trace_.environment.push_back({"gpu.uuid", device.uuid});
        if (device.memory)
            trace_.environment.push_back({"gpu.memory", std::to_string(device.memory->count), "B"});
    }

    /// The steps of the lowest rank; ranks take part in the same steps.
    std::vector<Sample> samples() const
    {
        std::vector<Sample> samples;
        std::size_t process = 0;
        for (std::size_t i = 1; i < trace_.parties.processes.size(); ++i) {
            const TracedProcess& other = trace_.parties.processes[i];
            const TracedProcess& best = trace_.parties.processes[process];
            if (steps_[process].empty() || (other.rank && best.rank && *other.rank < *best.rank))
                process = steps_[i].empty() ? process : i;
        }
        if (process < steps_.size())
            for (const FoundStep& step : steps_[process])
                samples.push_back({.step = step.number,
                                   .kind = SampleKind::Trace,
                                   .phase = Phase::Step,
                                   .wall = Nanoseconds(step.end - step.start)});
        return samples;
    }

    RunResult result() const
    {
        RunResult result;
        result.device = trace_.parties.devices.empty()
                            ? "cpu"
                            : "cuda:" + std::to_string(trace_.parties.devices.front().id.value);
        result.peakAllocated = peakAllocated_;
        result.peakReserved = peakReserved_;
        result.duration = Nanoseconds(last_ - first_);
        return result;
    }

    void flush(TraceBatch& batch, double done)
    {
        writer_->write(batch);
        batch = {};
        if (watch_ && !watch_(done))
            throw Error{.what = "the import was cancelled", .kind = ErrorKind::Failure};
    }

    ForeignTrace& trace_;
    const ForeignHeader& header_;
    const ImportWatch& watch_;
    store::RunWriter* writer_ = nullptr;
    PathMaker paths_;
    LaunchIndex launches_;
    std::vector<std::vector<FoundStep>> steps_; ///< by process
    std::unordered_map<std::uint32_t, ApiKind> apiKinds_;
    std::unordered_map<std::uint64_t, std::size_t> collectives_; ///< without their kernel
    std::map<DeviceIndex, Bytes> peaks_;
    std::optional<Bytes> peakAllocated_;
    std::optional<Bytes> peakReserved_;
    std::uint32_t ranges_ = 0;
    std::uint32_t ops_ = 0;
    std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

/// Takes back a run that was begun.
void removeRun(const fs::path& output, bool existed, RunId run)
{
    std::error_code ignored;
    if (!existed) {
        fs::remove(output, ignored);
        return;
    }
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
        store::RunWriter writer(output, trace.strings);
        try {
            return assembly.write(writer);
        } catch (...) {
            run = writer.run();
            throw;
        }
    } catch (...) {
        removeRun(output, existed, run);
        throw;
    }
}

} // namespace tilescope::exchange
