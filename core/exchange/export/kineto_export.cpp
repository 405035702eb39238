#include "core/exchange/export/kineto_export.h"

#include "core/analysis/stats/counter_figures.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/base/error.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/export_topology.h"
#include "core/exchange/export/kineto_file.h"
#include "core/exchange/export/kineto_words.h"
#include "core/exchange/export/memory_parts.h"
#include "core/exchange/tables/text.h"
#include "core/model/computed_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

/// Where an event is shown.
struct Place {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
};

class KinetoExport {
public:
    KinetoExport(const fs::path& path, const store::RunReader& reader, const store::RunRecord& run,
                 const ExportOptions& options)
        : reader_(reader), run_(run), topology_(reader, run, options.withIdentity),
          texts_(reader, options.withIdentity), memory_(topology_.processes().size())
    {
        std::vector<fs::path> inputs = options.inputs;
        inputs.push_back(reader.file());
        for (const fs::path& each : kinetoPaths(path, topology_)) {
            files_.push_back(std::make_unique<KinetoFile>(each, inputs));
            figures_.files.push_back(each);
        }
    }

    KinetoFigures write()
    {
        const auto span = reader_.span(run_.run);
        counts_ = reader_.counts(run_.run);
        if (!span || counts_.total() == 0)
            throw Error{.what = "run " + std::to_string(run_.run.value) + " has no events",
                        .where = reader_.file().string(),
                        .remedy = "record it with trace: kernels or trace: full"};
        zero_ = span->first;
        const std::int64_t base = run_.startedUnixNs + (zero_ - run_.clockOrigin).count();
        for (std::size_t i = 0; i < files_.size(); ++i)
            begin(i, std::max<std::int64_t>(base, 0));
        readCollectives();
        addHostEvents();
        addDeviceEvents();
        addWaits();
        addMemory();
        addReadings();
        for (std::size_t i = 0; i < files_.size(); ++i)
            end(i);
        return figures_;
    }

    void commit()
    {
        for (const auto& file : files_)
            file->commit();
    }

private:
    // Texts -------------------------------------------------------------------------------------------------

    /// A text as JSON, with its quotation marks.
    const std::string& json(StringId id)
    {
        constexpr std::size_t kMost = 50'000;
        if (const auto found = json_.find(id); found != json_.end())
            return found->second;
        if (json_.size() >= kMost)
            json_.clear();
        return json_.emplace(id, jsonString(texts_(id))).first->second;
    }

    template <class... Values> void add(fmt::format_string<Values...> format, Values&&... values)
    {
        fmt::format_to(std::back_inserter(line_), format, std::forward<Values>(values)...);
    }

    /// Begins an event of a duration, up to the brace of its args.
    void beginSlice(std::string_view category, std::string_view name, Place place, Timestamp start,
                    Timestamp end)
    {
        line_.clear();
        add(R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": )", category, name,
            place.pid, place.tid);
        appendMicroseconds(line_, (start - zero_).count());
        line_ += ", \"dur\": ";
        appendMicroseconds(line_, std::max<std::int64_t>((end - start).count(), 0));
        line_ += ", \"args\": {";
        argSeparator_ = "";
    }

    template <class Value> void arg(std::string_view key, const Value& value)
    {
        add(R"({}"{}": {})", argSeparator_, key, value);
        argSeparator_ = ", ";
    }

    void args(std::string_view members)
    {
        if (members.empty())
            return;
        add("{}{}", argSeparator_, members);
        argSeparator_ = ", ";
    }

    void endEvent(std::size_t process)
    {
        line_ += "}}";
        files_[process]->event(line_);
    }

    Place placeOf(ThreadId thread) const
    {
        return {.pid = topology_.processes()[topology_.processOf(thread)].pid,
                .tid = topology_.nativeOf(thread)};
    }

    // The frame of a file -----------------------------------------------------------------------------------

    void begin(std::size_t process, std::int64_t base)
    {
        const ExportedProcess& facts = topology_.processes()[process];
        std::string head = "{\n\"schemaVersion\": 1,\n";
        if (facts.rank)
            head += fmt::format("\"distributedInfo\": {{\"rank\": {}, \"world_size\": {}}},\n", *facts.rank,
                                facts.worldSize.value_or(static_cast<std::int32_t>(files_.size())));
        head += "\"deviceProperties\": [" + devicesOf(process) + "],\n";
        head += fmt::format("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": {},\n\"traceEvents\": [",
                            base);
        files_[process]->text(head);
        meta(process, "process_name", {facts.pid, 0}, "name", jsonString(facts.name));
        meta(process, "process_labels", {facts.pid, 0}, "labels", "\"CPU\"");
        if (!facts.host.empty())
            meta(process, "process_labels", {facts.pid, 0}, "labels", jsonString(facts.host));
        for (const ThreadName& thread : topology_.threads())
            if (topology_.processOf(thread.thread) == process)
                meta(process, "thread_name", placeOf(thread.thread), "name",
                     jsonString(fmt::format("thread {} ({})", topology_.nativeOf(thread.thread),
                                            texts_(thread.name))));
    }

    void meta(std::size_t process, std::string_view what, Place place, std::string_view key,
              std::string_view value)
    {
        line_.clear();
        add(R"({{"name": "{}", "ph": "M", "ts": 0.000, "pid": {}, "tid": {}, "args": {{"{}": {})", what,
            place.pid, place.tid, key, value);
        endEvent(process);
    }

    std::string devicesOf(std::size_t process) const
    {
        std::string list;
        std::set<std::int32_t> listed;
        for (const TracedDevice& device : topology_.devices()) {
            const bool isUsed =
                topology_.streams().empty() ||
                std::ranges::any_of(topology_.streams(), [&](const TracedStream& stream) {
                    return stream.device == device.id && topology_.processOf(stream.process) == process;
                });
            const std::int32_t ordinal = topology_.ordinalOf(device.id);
            if (!isUsed || !listed.insert(ordinal).second)
                continue;
            list += fmt::format("{}{{\"id\": {}, \"name\": {}", list.empty() ? "" : ", ", ordinal,
                                jsonString(device.name));
            if (device.memory)
                list += fmt::format(", \"totalGlobalMem\": {}", device.memory->count);
            const std::size_t dot = device.capability.find('.');
            const auto isNumber = [](std::string_view text) {
                return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
            };
            if (dot != std::string::npos && isNumber(device.capability.substr(0, dot)) &&
                isNumber(device.capability.substr(dot + 1)))
                list += fmt::format(", \"computeMajor\": {}, \"computeMinor\": {}",
                                    device.capability.substr(0, dot), device.capability.substr(dot + 1));
            if (device.multiprocessors)
                list += fmt::format(", \"numSms\": {}", *device.multiprocessors);
            list += "}";
        }
        return list;
    }

    void end(std::size_t process)
    {
        for (const auto& [ordinal, stream] : usedStreams_[process]) {
            if (stream >= 0) {
                meta(process, "thread_name", {ordinal, stream}, "name", fmt::format("\"stream {}\"", stream));
                continue;
            }
            meta(process, "process_name", {ordinal, 0}, "name",
                 jsonString(topology_.processes()[process].name));
            meta(process, "process_labels", {ordinal, 0}, "labels", fmt::format("\"GPU {}\"", ordinal));
        }
        files_[process]->text(fmt::format("\n],\n\"traceName\": {}\n}}\n",
                                          jsonString(figures_.files[process].filename().string())));
        files_[process]->finish();
    }

    // What threads did --------------------------------------------------------------------------------------

    void addHostEvents()
    {
        const store::EventWindow all{.run = run_.run};
        reader_.eachFrame(all, [this](const Frame& frame) {
            beginSlice("python_function", json(frame.name), placeOf(frame.thread), frame.start, frame.end);
            arg("Python id", ++frames_);
            endHostEvent(frame.thread);
            return true;
        });
        const StringId stepPath = reader_.find("step");
        reader_.eachRange(all, [&](const Range& range) {
            const bool isStep = range.path == stepPath && range.step != kNoStep;
            if (texts_(topology_.nameOf(range.thread)) != kComputedSteps)
                mainThreads_.emplace(topology_.processOf(range.thread), range.thread);
            beginSlice("user_annotation",
                       isStep ? fmt::format("\"ProfilerStep#{}\"", range.step) : json(range.name),
                       placeOf(range.thread), range.start, range.end);
            endHostEvent(range.thread);
            return true;
        });
        reader_.eachOp(all, [this](const Op& op) {
            addOp(op);
            return true;
        });
        for (const auto& [place, collectives] : hostCollectives_)
            for (const Collective& each : collectives)
                addHostCollective(each);
        reader_.eachApiCall(all, [this](const ApiCall& call) {
            addCall(call);
            return true;
        });
        std::sort(called_.begin(), called_.end());
    }

    void endHostEvent(ThreadId thread)
    {
        ++figures_.hostEvents;
        endEvent(topology_.processOf(thread));
    }

    void addOp(const Op& op)
    {
        beginSlice("cpu_op", json(op.name), placeOf(op.thread), op.start, op.end);
        arg("External id", externalId(op.id));
        if (op.sequence >= 0)
            arg("Sequence number", op.sequence);
        if (op.scope == OpScope::Backward)
            arg("Fwd thread id", 1);
        args(kinetoInputs(op.shapes ? std::string_view(texts_(op.shapes)) : std::string_view()));
        const auto collective = hostCollectives_.find({op.thread, op.start, op.end});
        if (collective != hostCollectives_.end() && !collective->second.empty()) {
            addCollective(collective->second.back());
            collective->second.pop_back();
        }
        endHostEvent(op.thread);
        if (counts_.allocEvents > 0 && op.id && op.id.value < kMostOps) {
            if (op.id.value >= opThreads_.size())
                opThreads_.resize(std::size_t{op.id.value} + 1);
            opThreads_[op.id.value] = op.thread;
        }
    }

    static std::uint64_t externalId(OpId op) { return std::uint64_t{op.value} + 1; }

    void addCall(const ApiCall& call)
    {
        const std::string& name = json(call.name);
        const bool isOverhead = call.kind == ApiKind::Overhead;
        const bool isDriver = name.starts_with("\"cu") && !name.starts_with("\"cuda");
        Place place = placeOf(call.thread);
        if (isOverhead)
            place.pid = -1;
        beginSlice(isOverhead ? "overhead"
                   : isDriver ? "cuda_driver"
                              : "cuda_runtime",
                   name, place, call.start, call.end);
        if (call.op)
            arg("External id", externalId(call.op));
        if (call.correlation) {
            arg("correlation", topology_.nativeOf(call.correlation, topology_.processOf(call.thread)));
            called_.push_back(call.correlation.value);
        }
        endHostEvent(call.thread);
    }

    // Collectives -------------------------------------------------------------------------------------------

    void readCollectives()
    {
        for (const Collective& each : reader_.collectives(run_.run))
            if (each.correlation)
                kernelCollectives_.emplace(each.correlation.value, each);
            else
                hostCollectives_[{each.thread, each.start, each.end}].push_back(each);
    }

    void addCollective(const Collective& each)
    {
        const std::string op = texts_(each.op);
        arg("Collective name", jsonString(kinetoCollective(op)));
        if (each.bytes >= 0) {
            const std::string dtype = texts_(each.dtype);
            const int size = analysis::elementBytesOf(dtype);
            const std::string_view word = kinetoDtype(dtype);
            const bool isKnown = size > 0 && !word.empty() && each.bytes % size == 0;
            arg(op == "recv" ? "Out msg nelems" : "In msg nelems", isKnown ? each.bytes / size : each.bytes);
            arg("dtype", jsonString(isKnown ? word : "Byte"));
        }
        if (each.groupSize > 0)
            arg("Group size", each.groupSize);
        if (each.group)
            arg("Process Group Name", json(each.group));
        if (each.ranks)
            arg("Process Group Ranks", jsonString(fmt::format("[{}]", texts_(each.ranks))));
        if (each.sequence >= 0)
            arg("Seq", each.sequence);
        if (each.peer >= 0)
            arg(op == "recv" ? "Src Rank" : "Dst Rank", each.peer);
    }

    void addHostCollective(const Collective& each)
    {
        Place place = placeOf(each.thread);
        const std::size_t process =
            each.thread ? topology_.processOf(each.thread) : topology_.processOf(each.process);
        place.pid = topology_.processes()[process].pid;
        // It is no op: as one, its time would count twice among the ops.
        beginSlice("collective_comm", "\"record_param_comms\"", place, each.start, each.end);
        addCollective(each);
        ++figures_.hostEvents;
        endEvent(process);
    }

    // What devices did --------------------------------------------------------------------------------------

    void addDeviceEvents()
    {
        usedStreams_.resize(files_.size());
        reader_.eachDeviceEvent({.run = run_.run}, [this](const DeviceEvent& event) {
            addDeviceEvent(event);
            return true;
        });
    }

    void addDeviceEvent(const DeviceEvent& event)
    {
        constexpr std::array<std::string_view, 3> kCategories{"kernel", "gpu_memcpy", "gpu_memset"};
        const std::size_t process = topology_.processOf(event);
        const std::int32_t ordinal = topology_.ordinalOf(event.device);
        const std::int64_t stream = topology_.nativeOf(event.device, event.stream);
        const TracedStream* known = topology_.streamOf(event.device, event.stream);
        usedStreams_[process].insert({ordinal, -1});
        usedStreams_[process].insert({ordinal, stream});
        beginSlice(kCategories.at(static_cast<std::size_t>(event.kind)), json(event.name), {ordinal, stream},
                   event.start, event.end);
        if (event.op)
            arg("External id", externalId(event.op));
        arg("device", ordinal);
        if (known && known->context)
            arg("context", *known->context);
        arg("stream", stream);
        if (event.correlation)
            arg("correlation", topology_.nativeOf(event.correlation, process));
        if (event.graphNode != 0)
            arg("graph node id", event.graphNode);
        if (event.kind == DeviceEventKind::Kernel)
            addLaunch(event);
        else
            addBytes(event);
        const auto collective = kernelCollectives_.find(event.correlation.value);
        if (event.correlation && collective != kernelCollectives_.end())
            addCollective(collective->second);
        ++figures_.gpuEvents;
        endEvent(process);
        if (event.correlation && event.launchThread && event.launched != Timestamp{})
            addArrow(event, process, {ordinal, stream});
    }

    void addLaunch(const DeviceEvent& event)
    {
        const LaunchConfig& launch = event.launch;
        if (launch.registersPerThread > 0)
            arg("registers per thread", launch.registersPerThread);
        arg("shared memory", std::uint64_t{launch.staticShared} + launch.dynamicShared);
        const auto product = [](const std::array<std::uint32_t, 3>& sizes) {
            return static_cast<double>(sizes[0]) * sizes[1] * sizes[2];
        };
        const TracedDevice* device = topology_.deviceOf(event.device);
        if (device && device->multiprocessors.value_or(0) > 0) {
            constexpr double kWarp = 32;
            const double blocks = product(launch.grid) / *device->multiprocessors;
            arg("blocks per SM", jsonNumber(blocks));
            arg("warps per SM", jsonNumber(blocks * product(launch.block) / kWarp));
        }
        args(fmt::format(R"("grid": [{}, {}, {}], "block": [{}, {}, {}])", launch.grid[0], launch.grid[1],
                         launch.grid[2], launch.block[0], launch.block[1], launch.block[2]));
    }

    void addBytes(const DeviceEvent& event)
    {
        arg("bytes", event.bytes);
        const std::int64_t duration = (event.end - event.start).count();
        // Bytes per nanosecond are GB/s.
        if (duration > 0)
            arg("memory bandwidth (GB/s)",
                jsonNumber(static_cast<double>(event.bytes) / static_cast<double>(duration)));
    }

    /// Adds the arrow from a launch to the activity, and the launch itself if its call was not recorded.
    void addArrow(const DeviceEvent& event, std::size_t process, Place target)
    {
        const std::uint32_t correlation = topology_.nativeOf(event.correlation, process);
        const Place place = placeOf(event.launchThread);
        const bool isGraph = event.graphNode != 0;
        const bool isKnown = std::binary_search(called_.begin(), called_.end(), event.correlation.value);
        if (!isKnown && (!isGraph || graphLaunches_.insert(event.correlation.value).second)) {
            constexpr std::array<std::string_view, 3> kCalls{"\"cudaLaunchKernel\"", "\"cudaMemcpyAsync\"",
                                                             "\"cudaMemsetAsync\""};
            beginSlice("cuda_runtime",
                       isGraph ? "\"cudaGraphLaunch\"" : kCalls.at(static_cast<std::size_t>(event.kind)),
                       place, event.launched, event.launched);
            if (event.op)
                arg("External id", externalId(event.op));
            arg("correlation", correlation);
            ++figures_.launches;
            endEvent(process);
        }
        const auto half = [&](std::string_view phase, std::string_view more, Place at, Timestamp time) {
            line_.clear();
            add(R"({{"ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": )", phase, correlation, at.pid,
                at.tid);
            appendMicroseconds(line_, (time - zero_).count());
            add(R"(, "cat": "ac2g", "name": "ac2g"{}}})", more);
            files_[process]->event(line_);
        };
        half("s", "", place, event.launched);
        half("f", R"(, "bp": "e")", target, event.start);
    }

    // Waits and memory --------------------------------------------------------------------------------------

    void addWaits()
    {
        constexpr std::array<std::string_view, 4> kKinds{"Event Sync", "Stream Wait Event", "Stream Sync",
                                                         "Context Sync"};
        for (const Wait& wait : reader_.waits(run_.run)) {
            const std::size_t process = topology_.processOf(wait.process);
            const std::string_view kind = kKinds.at(static_cast<std::size_t>(wait.kind));
            const std::int64_t stream = wait.stream ? topology_.nativeOf(wait.device, wait.stream) : -1;
            const std::int32_t ordinal = topology_.ordinalOf(wait.device);
            beginSlice("cuda_sync", jsonString(kind), {ordinal, stream}, wait.start, wait.end);
            arg("cuda_sync_kind", jsonString(kind));
            arg("device", ordinal);
            arg("stream", stream);
            if (wait.correlation)
                arg("correlation", topology_.nativeOf(wait.correlation, process));
            if (wait.waitedFor)
                arg("wait_on_stream", topology_.nativeOf(wait.device, wait.waitedFor));
            if (wait.recordCorrelation)
                arg("wait_on_cuda_event_record_corr_id", topology_.nativeOf(wait.recordCorrelation, process));
            ++figures_.waits;
            endEvent(process);
        }
    }

    void addMemory()
    {
        reader_.eachAllocEvent({.run = run_.run}, [this](const AllocEvent& event) {
            addAllocation(event);
            return true;
        });
    }

    void addAllocation(AllocEvent event)
    {
        const bool isGpu = static_cast<bool>(event.device);
        const ThreadId thread =
            event.op && event.op.value < opThreads_.size() ? opThreads_[event.op.value] : ThreadId{};
        const std::size_t process =
            memory_.take(event, thread ? std::optional(topology_.processOf(thread)) : std::nullopt)
                .value_or(isGpu ? topology_.processOf(event.device) : 0);
        const bool isFree = event.action == (isGpu ? AllocAction::FreeRequested : AllocAction::FreeCompleted);
        const bool isOom = event.action == AllocAction::Oom;
        if (event.action != AllocAction::Alloc && !isFree && !isOom) {
            ++figures_.leftOut;
            return;
        }
        line_.clear();
        add(R"({{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "{}", "pid": {}, "tid": {}, "ts": )",
            isOom ? "[OutOfMemory]" : "[memory]", topology_.processes()[process].pid,
            thread ? topology_.nativeOf(thread) : mainThreadOf(process));
        appendMicroseconds(line_, (event.time - zero_).count());
        line_ += ", \"args\": {";
        argSeparator_ = "";
        arg("Total Reserved", event.reserved);
        arg("Total Allocated", event.allocated);
        arg("Bytes", isFree ? -event.bytes : event.bytes);
        arg("Addr", event.address);
        arg("Device Id", isGpu ? topology_.ordinalOf(event.device) : -1);
        arg("Device Type", isGpu ? 1 : 0);
        ++figures_.memory;
        endEvent(process);
    }

    void addReadings()
    {
        for (const CounterTrack& track : reader_.counterTracks(run_.run)) {
            const std::size_t process =
                track.device ? topology_.processOf(track.device) : topology_.processOf(track.process);
            const std::int64_t pid =
                track.device ? topology_.ordinalOf(track.device) : topology_.processes()[process].pid;
            const std::string name = jsonString(track.name);
            const std::string key = jsonString(track.unit.empty() ? "value" : track.unit);
            const CounterTrack shown = analysis::clipped(track, zero_, Timestamp::max());
            for (const CounterPoint& point : shown.points) {
                line_.clear();
                add(R"({{"ph": "C", "name": {}, "pid": {}, "tid": 0, "ts": )", name, pid);
                appendMicroseconds(line_, (point.time - zero_).count());
                add(R"(, "args": {{{}: {})", key,
                    jsonNumber(static_cast<double>(point.value) / kPartsOfCounterUnit));
                endEvent(process);
            }
            figures_.readings += static_cast<std::int64_t>(shown.points.size());
        }
    }

    /// The thread of a process' first range, otherwise its first named thread.
    std::int64_t mainThreadOf(std::size_t process) const
    {
        if (const auto known = mainThreads_.find(process); known != mainThreads_.end())
            return topology_.nativeOf(known->second);
        for (const ThreadName& thread : topology_.threads())
            if (topology_.processOf(thread.thread) == process)
                return topology_.nativeOf(thread.thread);
        return topology_.processes()[process].pid;
    }

    using HostPlace = std::tuple<ThreadId, Timestamp, Timestamp>;
    static constexpr std::uint32_t kMostOps = 1U << 28;

    const store::RunReader& reader_;
    const store::RunRecord& run_;
    const ExportTopology topology_;
    ExportTexts texts_;
    std::vector<std::unique_ptr<KinetoFile>> files_; ///< by process
    KinetoFigures figures_;
    store::EventCounts counts_;
    Timestamp zero_{};
    std::unordered_map<StringId, std::string> json_;
    std::string line_;
    std::string_view argSeparator_;
    std::int64_t frames_ = 0;
    std::vector<std::uint32_t> called_; ///< correlations of recorded calls, sorted
    std::unordered_set<std::uint32_t> graphLaunches_;
    std::vector<ThreadId> opThreads_;             ///< by OpId
    std::map<std::size_t, ThreadId> mainThreads_; ///< by process
    MemoryParts memory_;
    std::unordered_map<std::uint32_t, Collective> kernelCollectives_;
    std::map<HostPlace, std::vector<Collective>> hostCollectives_;
    std::vector<std::set<std::pair<std::int32_t, std::int64_t>>> usedStreams_; ///< -1: the device
};

} // namespace

KinetoFigures writeKineto(const fs::path& path, const store::RunReader& reader, const store::RunRecord& run,
                          const ExportOptions& options)
{
    KinetoExport exporter(path, reader, run, options);
    KinetoFigures figures;
    reader.atOnce([&] { figures = exporter.write(); });
    exporter.commit();
    return figures;
}

} // namespace tilescope::exchange
