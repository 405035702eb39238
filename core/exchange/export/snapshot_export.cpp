#include "core/exchange/export/snapshot_export.h"

#include "core/analysis/memory/allocated_before.h"
#include "core/analysis/memory/block_lives.h"
#include "core/analysis/memory/memory_curve.h"
#include "core/analysis/memory/memory_segments.h"
#include "core/base/error.h"
#include "core/exchange/export/pickle_writer.h"
#include "core/exchange/import/snapshot_frames.h"
#include "core/exchange/import/snapshot_import.h"
#include "core/exchange/import/snapshot_stacks.h"
#include "core/exchange/tables/section_parts.h"
#include "core/model/text.h"
#include "core/query/memory/memory_history.h"
#include "core/query/runs/code_places.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace tilescope::exchange {

namespace {

/// A block that is allocated: by which event, or which holder had it before the trace.
struct Holding {
    std::int64_t bytes = 0;
    const AllocEvent* event = nullptr;
    const MemoryBlock* older = nullptr;
};

/// A block as a snapshot shows it.
struct ShownBlock {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::int64_t bytes = 0;
    std::string_view state = {};
    const Holding* holding = nullptr;
};

/// One device's memory, followed to the moment that is shown.
struct DeviceState {
    DeviceIndex device = {};
    std::int64_t index = 0; ///< in the snapshot
    std::vector<AllocEvent> events = {};
    analysis::SegmentMap map{{}, {}};
    std::map<std::uint64_t, Holding> live = {};
    std::int64_t unknown = 0; ///< bytes that the allocator counts and no block accounts for
    bool hasSegments = false;
};

/// Writes stacks as lists of frames, each once.
class FrameWriter {
public:
    FrameWriter(PickleWriter& pickle, const store::RunReader& reader, const store::RunRecord& run)
        : pickle_(pickle), reader_(reader), isStack_(run.traits().pathsAreStacks)
    {
        reader.eachOp({.run = run.run}, [&](const Op& op) {
            ops_.emplace(op.id, op.name);
            return true;
        });
    }

    /// The places where ranges were opened; set before the first stack.
    void know(std::vector<CodePlace> places) { places_ = query::CodePlaces(std::move(places)); }

    void none()
    {
        pickle_.text("frames");
        list({}, [] {});
    }

    void of(const Holding& holding)
    {
        if (holding.event)
            return of(*holding.event);
        pickle_.text("frames");
        const MemoryBlock& block = *holding.older;
        const std::string_view category = wordOf(block.category);
        list(std::string(category) + '\n' + block.name + '\n' + block.shape + '\n' + block.dtype, [&] {
            if (isStack_ && block.category == MemoryCategory::Unattributed)
                return stack(block.name);
            std::string text = block.name.empty() ? std::string(query::kOlderGroup) : block.name;
            for (const std::string& more : {block.shape, block.dtype})
                text += more.empty() ? "" : " " + more;
            frame(text, category, 0);
        });
    }

    void of(const AllocEvent& event)
    {
        pickle_.text("frames");
        const auto found = event.op ? ops_.find(event.op) : ops_.end();
        const StringId op = found == ops_.end() ? StringId{} : found->second;
        const auto [known, isNew] = byPlace_.try_emplace({event.path, op});
        if (!isNew)
            return pickle_.recall(known->second);
        pickle_.beginList();
        known->second = pickle_.remember();
        if (event.path || op)
            frames(event.path ? reader_.text(event.path) : std::string_view{},
                   op ? reader_.text(op) : std::string_view{});
        pickle_.endList();
    }

private:
    void frames(std::string_view path, std::string_view op)
    {
        if (isStack_)
            return stack(path);
        // The op, then its ranges, each with the function that opened it, as an equivalent of a call stack.
        frame(op.empty() ? "-" : op, path.empty() ? kOwnFrames : path, 0);
        while (!path.empty()) {
            if (const CodePlace* place = places_.of(path))
                frame(place->function, place->file, place->line);
            const std::size_t slash = path.rfind('/');
            const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
            path = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
            frame(name, path.empty() ? kOwnFrames : path, 0);
        }
    }

    void stack(std::string_view path)
    {
        for (const SnapshotFrame& call : framesOf(path))
            frame(call.name, call.file, call.line);
    }

    void frame(std::string_view name, std::string_view file, std::int64_t line)
    {
        pickle_.beginDict();
        pickle_.entry("name", name);
        pickle_.entry("filename", file);
        pickle_.entry("line", line);
        pickle_.endDict();
    }

    template <class Write> void list(const std::string& key, Write&& write)
    {
        const auto [known, isNew] = byText_.try_emplace(key);
        if (!isNew)
            return pickle_.recall(known->second);
        pickle_.beginList();
        known->second = pickle_.remember();
        write();
        pickle_.endList();
    }

    PickleWriter& pickle_;
    const store::RunReader& reader_;
    const bool isStack_;
    std::unordered_map<OpId, StringId> ops_;
    query::CodePlaces places_;
    std::map<std::pair<StringId, StringId>, PickleWriter::Memo> byPlace_; // by path and op
    std::unordered_map<std::string, PickleWriter::Memo> byText_;
};

/// Follows a run's memory and writes it.
class Exporter {
public:
    Exporter(std::ostream& out, const store::RunReader& reader, RunId run)
        : reader_(reader), run_(query::chooseRun(reader, run)), pickle_(out), frames_(pickle_, reader, run_)
    {
    }

    SnapshotFigures write(const SnapshotMoment& moment)
    {
        std::vector<AllocEvent> events = reader_.allocEvents({.run = run_.run});
        facts_ = reader_.memory(run_.run);
        frames_.know(facts_.places);
        if (const auto count = events.empty() ? query::countOfBlocks(facts_) : std::nullopt)
            events.push_back(*count);
        if (events.empty())
            throw Error{.what = "run " + std::to_string(run_.run.value) + " has no allocation events",
                        .where = reader_.file().string(),
                        .remedy = run_.coversRecording()
                                      ? "profile with profile_memory=True, or record with memory"
                                      : "memory: true and a traced step record them"};
        cutAfter(events, moment);
        chooseDevices(std::move(events));
        for (DeviceState& state : devices_)
            follow(state);
        pickle_.beginDict();
        pickle_.text("segments");
        pickle_.beginList();
        for (const DeviceState& state : devices_)
            writeSegments(state);
        pickle_.endList();
        writeTraces();
        writeSettings();
        pickle_.endDict();
        pickle_.finish();
        return figures_;
    }

private:
    void cutAfter(std::vector<AllocEvent>& events, const SnapshotMoment& moment) const
    {
        if (moment.peak) {
            const DeviceIndex device = *analysis::mainMemoryDevice(events);
            const std::int64_t most = analysis::memoryPeak(events, device)->allocated.count;
            const auto last = std::ranges::find_if(events, [&](const AllocEvent& event) {
                return event.device == device && event.action != AllocAction::Oom && event.allocated == most;
            });
            events.erase(std::next(last), events.end());
        } else if (moment.at) {
            const Timestamp last = reader_.span(run_.run)->first + *moment.at;
            std::erase_if(events, [&](const AllocEvent& event) { return event.time > last; });
            if (events.empty())
                throw Error{.what = "has no allocation event until then", .where = reader_.file().string()};
        }
    }

    /// GPUs if there are any, otherwise the CPU: host allocations of a GPU run are not of interest.
    void chooseDevices(std::vector<AllocEvent> events)
    {
        std::map<DeviceIndex, DeviceState> byDevice;
        const bool onGpu =
            std::ranges::any_of(events, [](const AllocEvent& event) { return bool(event.device); });
        for (const AllocEvent& event : events)
            if (bool(event.device) == onGpu)
                byDevice[event.device].events.push_back(event);
        for (auto& [device, state] : byDevice) {
            state.device = device;
            state.index = device ? device.value : 0;
            devices_.push_back(std::move(state));
        }
    }

    void follow(DeviceState& state)
    {
        std::vector<MemorySegment> segments;
        std::vector<MemoryBlock> blocks;
        for (const MemorySegment& segment : facts_.segments)
            if (segment.device == state.device)
                segments.push_back(segment);
        analysis::BlockLives<Holding> lives;
        std::int64_t known = 0;
        for (const MemoryBlock& block : facts_.blocks) {
            if (block.device != state.device)
                continue;
            blocks.push_back(block);
            if (!block.isFree && block.bytes > 0) {
                lives.open(block.address, {.bytes = block.bytes, .older = &block});
                known += block.bytes;
            }
        }
        state.hasSegments = analysis::canFollow(segments, state.events);
        state.map = state.hasSegments ? analysis::SegmentMap(segments, blocks) : analysis::SegmentMap({}, {});
        state.unknown = analysis::allocatedBefore(state.events.front()) - known;
        for (const AllocEvent& event : state.events) {
            const auto closed =
                lives.apply(event, [&] { return Holding{.bytes = event.bytes, .event = &event}; });
            // A CPU allocator records completed frees only.
            if (!closed && (event.action == AllocAction::FreeRequested ||
                            (event.action == AllocAction::FreeCompleted && !event.device)))
                state.unknown -= event.bytes;
            if (state.hasSegments)
                state.map.apply(event);
        }
        state.live = {lives.all().begin(), lives.all().end()};
        figures_.inconsistent += state.map.inconsistent();
        figures_.madeUpSegments = figures_.madeUpSegments || !state.hasSegments;
    }

    void writeSegments(const DeviceState& state)
    {
        std::uint64_t end = 0;
        const auto write = [&](const MemorySegment& segment, const std::vector<ShownBlock>& blocks) {
            writeSegment(state, segment, blocks);
            end = std::max(end, segment.address + static_cast<std::uint64_t>(segment.bytes));
        };
        const auto alone = [&](std::uint64_t address, const Holding& holding) {
            write({.device = state.device, .address = address, .bytes = holding.bytes, .isLarge = true},
                  {{address, holding.bytes, holding.bytes, "active_allocated", &holding}});
        };
        if (state.hasSegments) {
            for (const MemorySegment& segment : state.map.segments())
                write(segment, shownBlocks(state, segment));
        } else {
            for (const auto& [address, holding] : state.live)
                alone(address, holding);
        }
        if (state.unknown <= 0)
            return;
        // Its address is unknown, so it is placed behind everything else.
        constexpr std::uint64_t kPage = 2 << 20;
        MemoryBlock block;
        block.name = query::kOlderGroup;
        const Holding holding{.bytes = state.unknown, .older = &block};
        alone((end / kPage + 1) * kPage, holding);
        figures_.unknown += Bytes{state.unknown};
    }

    std::vector<ShownBlock> shownBlocks(const DeviceState& state, const MemorySegment& segment) const
    {
        using State = analysis::PlacedBlock::State;
        std::vector<ShownBlock> shown;
        for (const analysis::PlacedBlock& block : state.map.blocksOf(segment)) {
            ShownBlock to{.address = block.address, .size = block.size, .bytes = block.bytes};
            to.state = block.state == State::Free        ? "inactive"
                       : block.state == State::Allocated ? "active_allocated"
                                                         : "active_pending_free";
            if (const auto live = state.live.find(block.address);
                block.state == State::Allocated && live != state.live.end())
                to.holding = &live->second;
            shown.push_back(to);
        }
        return shown;
    }

    void writeSegment(const DeviceState& state, const MemorySegment& segment,
                      const std::vector<ShownBlock>& blocks)
    {
        std::int64_t allocated = 0;
        std::int64_t active = 0;
        std::int64_t requested = 0;
        for (const ShownBlock& block : blocks) {
            allocated += block.state == "active_allocated" ? block.size : 0;
            active += block.state == "inactive" ? 0 : block.size;
            requested += block.bytes;
        }
        pickle_.beginDict();
        pickle_.entry("device", state.index);
        pickle_.addressEntry("address", segment.address);
        pickle_.entry("total_size", segment.bytes);
        pickle_.entry("allocated_size", allocated);
        pickle_.entry("active_size", active);
        pickle_.entry("requested_size", requested);
        pickle_.entry("stream", streamOf(segment.stream));
        pickle_.entry("segment_type", segment.isLarge ? "large" : "small");
        writePool(segment.pool);
        pickle_.flagEntry("is_expandable", segment.isExpandable);
        expandable_ = expandable_ || segment.isExpandable;
        frames_.none();
        pickle_.text("blocks");
        pickle_.beginList();
        for (const ShownBlock& block : blocks) {
            pickle_.beginDict();
            pickle_.addressEntry("address", block.address);
            pickle_.entry("size", block.size);
            pickle_.entry("requested_size", block.bytes);
            pickle_.entry("state", block.state);
            block.holding ? frames_.of(*block.holding) : frames_.none();
            pickle_.endDict();
            figures_.blocks += block.state == "active_allocated" ? 1 : 0;
        }
        pickle_.endList();
        pickle_.endDict();
        ++figures_.segments;
        figures_.reserved += Bytes{segment.bytes};
        figures_.allocated += Bytes{requested};
    }

    void writePool(std::uint32_t pool)
    {
        pickle_.text("segment_pool_id");
        const bool isOwn = (pool & kOwnPool) != 0;
        pickle_.pair(isOwn ? 0 : pool, isOwn ? pool & ~kOwnPool : 0);
    }

    static std::int64_t streamOf(StreamId stream) { return stream ? stream.value : 0; }

    void writeTraces()
    {
        pickle_.text("device_traces");
        pickle_.beginList();
        std::int64_t next = 0;
        for (const DeviceState& state : devices_) {
            for (; next < state.index; ++next) {
                pickle_.beginList();
                pickle_.endList();
            }
            pickle_.beginList();
            for (const AllocEvent& event : state.events) {
                // Readers expect frees in two parts, but a CPU's allocator records only the second.
                if (!state.device && event.action == AllocAction::FreeCompleted)
                    writeEvent(event, AllocAction::FreeRequested);
                writeEvent(event, event.action);
            }
            pickle_.endList();
            ++next;
        }
        pickle_.endList();
    }

    void writeEvent(const AllocEvent& event, AllocAction action)
    {
        pickle_.beginDict();
        pickle_.entry("action", wordOf(action));
        pickle_.addressEntry(action == AllocAction::Oom ? "device_free" : "addr", event.address);
        pickle_.entry("size", event.bytes);
        pickle_.entry("stream", streamOf(event.stream));
        const std::int64_t unixNs = run_.startedUnixNs + (event.time - run_.clockOrigin).count();
        pickle_.entry("time_us", unixNs / 1000);
        pickle_.entry("compile_context", "N/A");
        pickle_.entry("user_metadata", event.category ? reader_.text(event.category) : std::string_view{});
        frames_.of(event);
        pickle_.endDict();
        ++figures_.events;
    }

    void writeSettings()
    {
        pickle_.text("allocator_settings");
        pickle_.beginDict();
        pickle_.flagEntry("expandable_segments", expandable_);
        pickle_.endDict();
        pickle_.text("external_annotations");
        pickle_.beginList();
        pickle_.endList();
    }

    const store::RunReader& reader_;
    const store::RunRecord run_;
    PickleWriter pickle_;
    FrameWriter frames_;
    MemoryFacts facts_;
    std::vector<DeviceState> devices_; // by their numbers
    SnapshotFigures figures_;
    bool expandable_ = false; ///< a segment is
};

} // namespace

SnapshotFigures writeSnapshot(std::ostream& out, const store::RunReader& reader, RunId run,
                              const SnapshotMoment& moment)
{
    return Exporter(out, reader, run).write(moment);
}

} // namespace tilescope::exchange
