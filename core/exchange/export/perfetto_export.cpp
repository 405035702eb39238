#include "core/exchange/export/perfetto_export.h"

#include "core/base/error.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/export_topology.h"
#include "core/exchange/export/host_events.h"
#include "core/exchange/export/perfetto_fields.h"
#include "core/exchange/export/perfetto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tilescope::exchange {

namespace {

using namespace perfetto; // NOLINT(google-build-using-namespace): field numbers
using protozero::pbf_writer;

/// A track of slices that nest: the ends of those that are open, innermost last.
struct SliceTrack {
    std::uint64_t uuid = 0;
    std::vector<Timestamp> open = {};
};

/// A kernel, copy or memset and the launch that it belongs to.
struct Launched {
    std::uint32_t correlation = 0;
    std::uint32_t event = 0; ///< event_id, from 1

    auto operator<=>(const Launched&) const = default;
};

class PerfettoExport {
public:
    PerfettoExport(std::ostream& out, const store::RunReader& reader, const store::RunRecord& run,
                   const ExportOptions& options)
        : reader_(reader), run_(run), topology_(reader, run, options.withIdentity),
          texts_(reader, options.withIdentity), writer_(out, [this](StringId id) { return texts_(id); })
    {
    }

    PerfettoFigures write()
    {
        const auto span = reader_.span(run_.run);
        if (!span || reader_.counts(run_.run).total() == 0)
            throw Error{.what = "run " + std::to_string(run_.run.value) + " has no events",
                        .where = reader_.file().string(),
                        .remedy = "record it with trace: kernels or trace: full"};
        zero_ = std::min(span->first, Timestamp{});
        for (const Collective& each : reader_.collectives(run_.run))
            if (each.correlation)
                collectives_.emplace(each.correlation.value, each);
        writeProcesses();
        writeGpus();
        eachDeviceEvent(reader_, run_.run, [this](const DeviceEvent& event) { addDeviceEvent(event); });
        std::sort(launched_.begin(), launched_.end());
        hasCall_.assign(launched_.size(), false);
        eachHostEvent(reader_, run_.run, [this](const HostEvent& event) { addHostEvent(event); });
        for (auto& [thread, tracks] : threads_)
            for (SliceTrack& track : tracks)
                close(track, Timestamp::max());
        addLoneLaunches();
        addMemory();
        addReadings();
        return figures_;
    }

private:
    std::uint64_t at(Timestamp time) const { return static_cast<std::uint64_t>((time - zero_).count()); }

    // Tracks ------------------------------------------------------------------------------------------------

    void writeProcesses()
    {
        for (const ExportedProcess& process : topology_.processes()) {
            processTracks_.push_back(nextUuid_++);
            writer_.packet([&](pbf_writer& fields) {
                pbf_writer descriptor(fields, packet::kTrackDescriptor);
                descriptor.add_uint64(track_descriptor::kUuid, processTracks_.back());
                pbf_writer message(descriptor, track_descriptor::kProcess);
                message.add_int32(track_descriptor::kProcessPid, static_cast<std::int32_t>(process.pid));
                message.add_string(track_descriptor::kProcessName, nameOf(process));
                if (!process.commandLine.empty())
                    message.add_string(track_descriptor::kProcessCommandLine, process.commandLine);
                if (!process.host.empty())
                    message.add_string(track_descriptor::kProcessLabels, process.host);
            });
        }
    }

    static std::string nameOf(const ExportedProcess& process)
    {
        return process.rank ? fmt::format("rank {}: {}", *process.rank, process.name) : process.name;
    }

    void writeGpus()
    {
        if (topology_.devices().empty())
            return;
        // A GPU's number is its place in the list.
        std::map<std::int16_t, const TracedDevice*> devices;
        for (const TracedDevice& device : topology_.devices())
            if (device.id)
                devices.emplace(device.id.value, &device);
        writer_.packet([&](pbf_writer& fields) {
            pbf_writer info(fields, packet::kGpuInfo);
            for (std::int16_t i = 0; !devices.empty() && i <= devices.rbegin()->first; ++i) {
                pbf_writer gpu(info, gpu_info::kGpus);
                const auto found = devices.find(i);
                if (found == devices.end())
                    continue;
                gpu.add_string(gpu_info::kName, found->second->name);
                if (!found->second->uuid.empty())
                    gpu.add_string(gpu_info::kUuid, found->second->uuid);
            }
        });
    }

    /// Adds a track for slices of a thread. The first one is the thread's own, further ones are its children.
    SliceTrack& addTrack(ThreadId thread, std::vector<SliceTrack>& tracks)
    {
        const std::uint64_t parent = tracks.empty() ? 0 : tracks.front().uuid;
        tracks.push_back({.uuid = nextUuid_++});
        const std::size_t process = topology_.processOf(thread);
        const StringId known = topology_.nameOf(thread);
        const std::string name = known ? texts_(known) : fmt::format("thread {}", topology_.nativeOf(thread));
        writer_.packet([&](pbf_writer& fields) {
            pbf_writer descriptor(fields, packet::kTrackDescriptor);
            descriptor.add_uint64(track_descriptor::kUuid, tracks.back().uuid);
            if (parent != 0) {
                descriptor.add_uint64(track_descriptor::kParent, parent);
                descriptor.add_string(track_descriptor::kName, name);
                return;
            }
            descriptor.add_uint64(track_descriptor::kParent, processTracks_[process]);
            pbf_writer message(descriptor, track_descriptor::kThread);
            message.add_int32(track_descriptor::kThreadPid,
                              static_cast<std::int32_t>(topology_.processes()[process].pid));
            // The run's number, which is the native one unless another process has it too.
            message.add_int64(track_descriptor::kThreadTid,
                              thread ? static_cast<std::int64_t>(thread.value) : 0);
            message.add_string(track_descriptor::kThreadName, name);
        });
        figures_.moreTracks += parent != 0 ? 1 : 0;
        return tracks.back();
    }

    /// Ends the slices of a track that end at `now` or earlier.
    void close(SliceTrack& track, Timestamp now)
    {
        while (!track.open.empty() && track.open.back() <= now) {
            writer_.packet([&](pbf_writer& fields) {
                fields.add_uint64(packet::kTimestamp, at(track.open.back()));
                pbf_writer message(fields, packet::kTrackEvent);
                message.add_enum(track_event::kType, track_event::kSliceEnd);
                message.add_uint64(track_event::kTrackUuid, track.uuid);
            });
            track.open.pop_back();
        }
    }

    /// The first track of a thread on which a slice lies within the innermost open one.
    SliceTrack& trackFor(ThreadId thread, Timestamp start, Timestamp end)
    {
        std::vector<SliceTrack>& tracks = threads_[thread];
        SliceTrack* fitting = nullptr;
        for (SliceTrack& each : tracks) {
            close(each, start);
            if (!fitting && (each.open.empty() || each.open.back() >= end))
                fitting = &each;
        }
        return fitting ? *fitting : addTrack(thread, tracks);
    }

    // What threads did --------------------------------------------------------------------------------------

    void addHostEvent(const HostEvent& event)
    {
        const Timestamp start = startOf(event);
        const Timestamp end = endOf(event);
        SliceTrack& track = trackFor(threadOf(event), start, end);
        track.open.push_back(end);
        ++figures_.slices;
        writer_.packet([&](pbf_writer& fields) {
            fields.add_uint64(packet::kTimestamp, at(start));
            pbf_writer message(fields, packet::kTrackEvent);
            message.add_enum(track_event::kType, track_event::kSliceBegin);
            message.add_uint64(track_event::kTrackUuid, track.uuid);
            std::visit([&](const auto& each) { addFields(message, each); }, event);
        });
    }

    void addNameAndCategory(pbf_writer& message, StringId name, std::string_view category)
    {
        message.add_uint64(track_event::kNameIid, writer_.intern(interned::kEventNames, name));
        message.add_uint64(track_event::kCategoryIid, writer_.intern(interned::kCategories, category));
    }

    void addFields(pbf_writer& message, const Frame& frame)
    {
        addNameAndCategory(message, frame.name, "frame");
    }

    void addFields(pbf_writer& message, const Range& range)
    {
        addNameAndCategory(message, range.name, "range");
        annotate(message, "path", range.path);
        annotateStep(message, range.step);
    }

    void addFields(pbf_writer& message, const Op& op)
    {
        addNameAndCategory(message, op.name, op.scope == OpScope::Backward ? "backward op" : "op");
        annotate(message, "shapes", op.shapes);
        annotate(message, "path", op.path);
        if (op.sequence >= 0)
            annotate(message, "sequence", op.sequence);
        annotateStep(message, op.step);
    }

    void addFields(pbf_writer& message, const ApiCall& call)
    {
        addNameAndCategory(message, call.name, call.kind == ApiKind::Overhead ? "profiler" : "cuda");
        if (!call.correlation)
            return;
        const std::size_t process = topology_.processOf(call.thread);
        annotate(message, "correlation", topology_.nativeOf(call.correlation, process));
        const auto [first, last] = eventsOf(call.correlation);
        // The outermost of nested calls comes first.
        if (first == last || hasCall_[static_cast<std::size_t>(first - launched_.begin())])
            return;
        addSubmission(message, first, last);
        for (auto each = first; each != last; ++each)
            hasCall_[static_cast<std::size_t>(each - launched_.begin())] = true;
    }

    using LaunchedRange = std::vector<Launched>::const_iterator;

    std::pair<LaunchedRange, LaunchedRange> eventsOf(CorrelationId correlation) const
    {
        const auto first =
            std::lower_bound(launched_.begin(), launched_.end(), Launched{correlation.value, 0});
        auto last = first;
        while (last != launched_.end() && last->correlation == correlation.value)
            ++last;
        return {first, last};
    }

    void addSubmission(pbf_writer& message, LaunchedRange first, LaunchedRange last)
    {
        pbf_writer correlation(message, track_event::kGpuCorrelation);
        for (auto each = first; each != last; ++each)
            correlation.add_uint64(track_event::kSubmittedEvents, each->event);
        figures_.flows += last - first;
    }

    void annotate(pbf_writer& message, std::string_view name, StringId text)
    {
        if (!text)
            return;
        pbf_writer one(message, track_event::kAnnotation);
        one.add_uint64(annotation::kNameIid, writer_.intern(interned::kAnnotationNames, name));
        one.add_uint64(annotation::kStringIid, writer_.intern(interned::kAnnotationStrings, text));
    }

    void annotate(pbf_writer& message, std::string_view name, std::int64_t value)
    {
        pbf_writer one(message, track_event::kAnnotation);
        one.add_uint64(annotation::kNameIid, writer_.intern(interned::kAnnotationNames, name));
        one.add_int64(annotation::kInt, value);
    }

    void annotateStep(pbf_writer& message, std::int32_t step)
    {
        if (step != kNoStep)
            annotate(message, "step", step);
    }

    /// Launches of which only the time is known: an instant stands for the call.
    void addLoneLaunches()
    {
        if (std::ranges::all_of(hasCall_, [](bool has) { return has; }))
            return;
        std::vector<bool> isDone(launched_.size(), false);
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            if (!event.correlation || !event.launchThread || event.launched == Timestamp{})
                return true;
            const std::pair<LaunchedRange, LaunchedRange> started = eventsOf(event.correlation);
            const auto place = static_cast<std::size_t>(started.first - launched_.begin());
            if (started.first == started.second || hasCall_[place] || isDone[place])
                return true;
            isDone[place] = true;
            std::vector<SliceTrack>& tracks = threads_[event.launchThread];
            const std::uint64_t uuid =
                tracks.empty() ? addTrack(event.launchThread, tracks).uuid : tracks.front().uuid;
            ++figures_.launches;
            writer_.packet([&](pbf_writer& fields) {
                fields.add_uint64(packet::kTimestamp, at(event.launched));
                pbf_writer message(fields, packet::kTrackEvent);
                message.add_enum(track_event::kType, track_event::kInstant);
                message.add_uint64(track_event::kTrackUuid, uuid);
                message.add_uint64(track_event::kNameIid, writer_.intern(interned::kEventNames, "launch"));
                message.add_uint64(track_event::kCategoryIid, writer_.intern(interned::kCategories, "cuda"));
                addSubmission(message, started.first, started.second);
            });
            return true;
        });
    }

    // What devices did --------------------------------------------------------------------------------------

    void addDeviceEvent(const DeviceEvent& event)
    {
        ++figures_.gpuEvents;
        const auto id = static_cast<std::uint32_t>(figures_.gpuEvents);
        if (event.correlation)
            launched_.push_back({event.correlation.value, id});
        const std::size_t process = topology_.processOf(event);
        const bool isKernel = event.kind == DeviceEventKind::Kernel;
        writer_.packet([&](pbf_writer& fields) {
            fields.add_uint64(packet::kTimestamp, at(event.start));
            pbf_writer message(fields, packet::kRenderStageEvent);
            message.add_uint64(render_stage::kEventId, id);
            message.add_uint64(
                render_stage::kDuration,
                static_cast<std::uint64_t>(std::max(event.end - event.start, Nanoseconds(0)).count()));
            message.add_uint64(render_stage::kContext, contextOf(process));
            message.add_int32(render_stage::kGpuId, std::max<std::int32_t>(event.device.value, 0));
            message.add_uint64(render_stage::kQueueIid, queueOf(event, process));
            message.add_uint64(render_stage::kStageIid, stageOf(event));
            message.add_uint64(render_stage::kNameIid, writer_.intern(interned::kEventNames, event.name));
            if (isKernel) {
                message.add_uint64(render_stage::kKernelIid,
                                   writer_.intern(interned::kComputeKernels, event.name));
                addLaunch(message, event.launch);
            } else {
                addExtra(message, "bytes", std::to_string(event.bytes));
            }
            if (event.correlation)
                addExtra(message, "correlation",
                         std::to_string(topology_.nativeOf(event.correlation, process)));
            if (event.graphNode != 0)
                addExtra(message, "graph node", std::to_string(event.graphNode));
            if (event.path)
                addExtra(message, "path", texts_(event.path));
            const auto collective = collectives_.find(event.correlation.value);
            if (event.correlation && collective != collectives_.end())
                addCollective(message, collective->second);
        });
    }

    void addCollective(pbf_writer& message, const Collective& each)
    {
        addExtra(message, "collective", texts_(each.op));
        if (each.group)
            addExtra(message, "process group", texts_(each.group));
        if (each.ranks)
            addExtra(message, "ranks", texts_(each.ranks));
        if (each.sequence >= 0)
            addExtra(message, "sequence", std::to_string(each.sequence));
        if (each.bytes >= 0)
            addExtra(message, "message bytes", std::to_string(each.bytes));
    }

    std::uint64_t contextOf(std::size_t process)
    {
        return writer_.intern(interned::kGraphicsContexts, process, {}, [&](pbf_writer& context) {
            context.add_int32(graphics_context::kPid,
                              static_cast<std::int32_t>(topology_.processes()[process].pid));
            context.add_enum(graphics_context::kApi, graphics_context::kCuda);
        });
    }

    /// The stage has the name of the event: versions of Perfetto that do not know names of events show it.
    std::uint64_t stageOf(const DeviceEvent& event)
    {
        const std::uint64_t key = (static_cast<std::uint64_t>(event.kind) + 1) << 32 | event.name.value;
        const auto [known, isNew] = stages_.try_emplace(key);
        if (isNew)
            known->second = writer_.intern(
                interned::kGpuSpecifications, key, texts_(event.name), [&event](pbf_writer& stage) {
                    constexpr std::string_view kWhat[] = {"Kernel", "Memcpy", "Memset"};
                    const std::string_view what = kWhat[static_cast<std::size_t>(event.kind)];
                    stage.add_string(specification::kDescription, what.data(), what.size());
                    stage.add_enum(specification::kCategory, event.kind == DeviceEventKind::Kernel
                                                                 ? specification::kCompute
                                                                 : specification::kOther);
                });
        return known->second;
    }

    /// The hardware queue of a stream. Events that overlap on a stream go to further queues of the same name.
    std::uint64_t queueOf(const DeviceEvent& event, std::size_t process)
    {
        auto& rows = queues_[{event.device, event.stream}];
        auto row = std::ranges::find_if(rows, [&](const auto& each) { return each.second <= event.start; });
        if (row == rows.end()) {
            rows.emplace_back(queueCount_++, Timestamp{}); // below the keys of stages
            row = rows.end() - 1;
        }
        row->second = std::max(event.start, event.end);
        const std::int64_t stream = topology_.nativeOf(event.device, event.stream);
        const ExportedProcess& owner = topology_.processes()[process];
        const std::string name = owner.rank ? fmt::format("stream {} (rank {})", stream, *owner.rank)
                                            : fmt::format("stream {}", stream);
        return writer_.intern(interned::kGpuSpecifications, row->first, name, {});
    }

    static void addSizes(pbf_writer& message, std::uint32_t field, const std::array<std::uint32_t, 3>& sizes)
    {
        pbf_writer dimensions(message, field);
        for (std::uint32_t i = 0; i < sizes.size(); ++i)
            dimensions.add_uint32(i + 1, sizes.at(i));
    }

    void addLaunch(pbf_writer& message, const LaunchConfig& config)
    {
        pbf_writer launch(message, render_stage::kLaunch);
        addSizes(launch, render_stage::kGridSize, config.grid);
        addSizes(launch, render_stage::kWorkgroupSize, config.block);
        const auto argument = [&](std::string_view name, std::uint32_t value) {
            pbf_writer one(launch, render_stage::kLaunchArgs);
            one.add_uint64(render_stage::kArgNameIid, writer_.intern(interned::kComputeArgNames, name));
            one.add_uint64(render_stage::kArgUint, value);
        };
        if (config.registersPerThread > 0)
            argument("registers_per_thread", config.registersPerThread);
        argument("shared_mem_static", config.staticShared);
        argument("shared_mem_dynamic", config.dynamicShared);
        argument("local_memory_per_thread", config.localPerThread);
        if (config.cluster[0] > 0) {
            argument("cluster_x", config.cluster[0]);
            argument("cluster_y", config.cluster[1]);
            argument("cluster_z", config.cluster[2]);
        }
    }

    static void addExtra(pbf_writer& message, std::string_view name, const std::string& value)
    {
        pbf_writer extra(message, render_stage::kExtraData);
        extra.add_string(render_stage::kExtraName, name.data(), name.size());
        extra.add_string(render_stage::kExtraValue, value);
    }

    // Memory ------------------------------------------------------------------------------------------------

    /// A counter's track and its last value.
    struct Counter {
        std::uint64_t uuid = 0;
        std::optional<std::int64_t> value = {};
    };

    void addMemory()
    {
        reader_.eachAllocEvent({.run = run_.run}, [this](const AllocEvent& event) {
            count(counters_[{event.device, false}], event, event.allocated, "allocated");
            count(counters_[{event.device, true}], event, event.reserved, "reserved");
            return true;
        });
    }

    void count(Counter& counter, const AllocEvent& alloc, std::int64_t value, std::string_view what)
    {
        if (counter.value == value)
            return;
        if (!counter.value) {
            counter.uuid = nextUuid_++;
            const std::string name = alloc.device ? fmt::format("GPU {} memory {}", alloc.device.value, what)
                                                  : fmt::format("CPU memory {}", what);
            writer_.packet([&](pbf_writer& fields) {
                pbf_writer descriptor(fields, packet::kTrackDescriptor);
                descriptor.add_uint64(track_descriptor::kUuid, counter.uuid);
                descriptor.add_uint64(track_descriptor::kParent,
                                      processTracks_[topology_.processOf(alloc.device)]);
                descriptor.add_string(track_descriptor::kName, name);
                pbf_writer(descriptor, track_descriptor::kCounter)
                    .add_enum(track_descriptor::kCounterUnit, track_descriptor::kUnitBytes);
            });
        }
        counter.value = value;
        ++figures_.counters;
        writer_.packet([&](pbf_writer& fields) {
            fields.add_uint64(packet::kTimestamp, at(alloc.time));
            pbf_writer message(fields, packet::kTrackEvent);
            message.add_enum(track_event::kType, track_event::kCounterType);
            message.add_uint64(track_event::kTrackUuid, counter.uuid);
            message.add_int64(track_event::kCounterValue, value);
        });
    }

    // Counters ----------------------------------------------------------------------------------------------

    void addReadings()
    {
        std::map<std::pair<std::size_t, std::string>, std::uint64_t> uuids;
        for (const CounterTrack& track : reader_.counterTracks(run_.run)) {
            const std::size_t process =
                track.device ? topology_.processOf(track.device) : topology_.processOf(track.process);
            const std::string name =
                (track.device ? fmt::format("GPU {} ", track.device.value) : "") + track.name;
            // Parts with holes between them are one track.
            const auto [known, isNew] = uuids.try_emplace({process, name}, nextUuid_);
            nextUuid_ += isNew ? 1 : 0;
            const std::uint64_t uuid = known->second;
            if (isNew)
                writer_.packet([&](pbf_writer& fields) {
                    pbf_writer descriptor(fields, packet::kTrackDescriptor);
                    descriptor.add_uint64(track_descriptor::kUuid, uuid);
                    descriptor.add_uint64(track_descriptor::kParent, processTracks_[process]);
                    descriptor.add_string(track_descriptor::kName, name);
                    pbf_writer(descriptor, track_descriptor::kCounter)
                        .add_string(track_descriptor::kCounterUnitName, track.unit);
                });
            for (const CounterPoint& point : track.points)
                writer_.packet([&](pbf_writer& fields) {
                    fields.add_uint64(packet::kTimestamp, at(point.time));
                    pbf_writer message(fields, packet::kTrackEvent);
                    message.add_enum(track_event::kType, track_event::kCounterType);
                    message.add_uint64(track_event::kTrackUuid, uuid);
                    message.add_double(track_event::kDoubleCounterValue,
                                       static_cast<double>(point.value) / kPartsOfCounterUnit);
                });
            figures_.readings += static_cast<std::int64_t>(track.points.size());
        }
    }

    const store::RunReader& reader_;
    const store::RunRecord& run_;
    const ExportTopology topology_;
    ExportTexts texts_;
    PerfettoWriter writer_;
    PerfettoFigures figures_;
    Timestamp zero_{};
    std::uint64_t nextUuid_ = 1;
    std::vector<std::uint64_t> processTracks_;
    std::map<ThreadId, std::vector<SliceTrack>> threads_;
    std::vector<Launched> launched_;                            ///< sorted before the host's events
    std::unordered_map<std::uint32_t, Collective> collectives_; ///< by correlation
    std::vector<bool> hasCall_;                                 ///< of launched_
    std::map<std::pair<DeviceIndex, StreamId>, std::vector<std::pair<std::uint64_t, Timestamp>>> queues_;
    std::uint64_t queueCount_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> stages_; ///< numbers by kind and name of event
    std::map<std::pair<DeviceIndex, bool>, Counter> counters_;
};

} // namespace

PerfettoFigures writePerfetto(std::ostream& out, const store::RunReader& reader, const store::RunRecord& run,
                              const ExportOptions& options)
{
    PerfettoFigures figures;
    reader.atOnce([&] { figures = PerfettoExport(out, reader, run, options).write(); });
    return figures;
}

} // namespace tilescope::exchange
