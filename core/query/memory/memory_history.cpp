#include "core/query/memory/memory_history.h"

#include "core/analysis/memory/allocated_before.h"
#include "core/analysis/memory/block_lives.h"
#include "core/analysis/memory/memory_curve.h"
#include "core/query/memory/life_maker.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::query {

namespace {

std::size_t indexOf(MemoryCategory category)
{
    return static_cast<std::size_t>(category);
}

constexpr std::uint32_t kNone = 0xFFFF'FFFF;

/// The blocks that an event opens and closes.
struct Change {
    std::uint32_t opened = kNone;
    std::uint32_t closed = kNone;
};

/// Builds a history from a run's records.
class Builder {
public:
    Builder(const store::RunReader& reader, RunId run, MemoryParts parts, const ProcessQuery& topology)
        : reader_(reader), parts_(parts), topology_(topology), history_(std::make_shared<MemoryHistory>())
    {
        history_->run = chooseRun(reader, run);
    }

    std::shared_ptr<const MemoryHistory> build(const std::function<bool()>& cancelled)
    {
        if (!readEvents(cancelled))
            return nullptr;
        if (history_->events.empty())
            return history_;
        addBlocks();
        if (cancelled && cancelled())
            return nullptr;
        drawCurves();
        history_->index();
        if (parts_ == MemoryParts::WithoutOps && history_->segments.empty())
            std::vector<AllocEvent>().swap(history_->events);
        return history_;
    }

private:
    bool readEvents(const std::function<bool()>& cancelled)
    {
        const RunId run = history_->run.run;
        const auto span = reader_.span(run);
        if (span)
            history_->origin = span->first;
        std::vector<AllocEvent> events;
        constexpr std::int64_t kMostAtOnce = 1 << 22; // limits what a file can claim
        events.reserve(static_cast<std::size_t>(
            std::clamp<std::int64_t>(reader_.counts(run).allocEvents, 0, kMostAtOnce)));
        std::size_t untilAsked = 0;
        bool stopped = false;
        reader_.eachAllocEvent({.run = run}, [&](const AllocEvent& event) {
            constexpr std::size_t kAskEvery = 1 << 16;
            stopped = ++untilAsked % kAskEvery == 0 && cancelled && cancelled();
            events.push_back(event);
            return !stopped;
        });
        if (stopped)
            return false;
        if (!std::ranges::is_sorted(events, {}, &AllocEvent::time))
            std::ranges::stable_sort(events, {}, &AllocEvent::time);
        MemoryFacts facts = reader_.memory(run);
        // Replayed steps allocate nothing, nor does a step whose first request fails: what was allocated when
        // they began stays until they end.
        const bool changesNothing = std::ranges::all_of(
            events, [](const AllocEvent& event) { return event.action == AllocAction::Oom; });
        if (const auto count = changesNothing ? countOfBlocks(facts) : std::nullopt) {
            events.insert(events.begin(), *count);
            history_->origin = count->time;
            if (span)
                unchangedUntil_ = span->second;
        }
        keepWanted(events);
        const auto device = analysis::mainMemoryDevice(events);
        if (!device)
            return true;
        history_->device = *device;
        const TopologyIndex topology(reader_.topology(history_->run.run), {});
        history_->process = rowProcess(topology, topology.of(*device));
        std::erase_if(events, [&](const AllocEvent& event) { return event.device != *device; });
        std::erase_if(facts.blocks, [&](const MemoryBlock& block) { return block.device != *device; });
        std::erase_if(facts.segments,
                      [&](const MemorySegment& segment) { return segment.device != *device; });
        for (std::size_t i = 1; i < events.size(); ++i)
            events[i].time = std::max(events[i].time, events[i - 1].time + Nanoseconds(1));
        history_->events = std::move(events);
        history_->older = std::move(facts.blocks);
        history_->segments = std::move(facts.segments);
        history_->places = CodePlaces(std::move(facts.places));
        return true;
    }

    /// Lists the devices and drops the events of devices that were not requested.
    void keepWanted(std::vector<AllocEvent>& events)
    {
        std::set<DeviceIndex> gpus;
        DeviceIndex last;
        for (const AllocEvent& event : events)
            if (event.device && event.device != last)
                gpus.insert(last = event.device);
        history_->gpus.assign(gpus.begin(), gpus.end());
        if (topology_.empty())
            return;
        const ProcessFilter filter(reader_, history_->run.run, topology_);
        std::erase_if(events, [&filter](const AllocEvent& event) { return !filter.hasDevice(event.device); });
    }

    std::int64_t fromOrigin(Timestamp time) const { return (time - history_->origin).count(); }

    void addBlocks()
    {
        MemoryHistory& history = *history_;
        LifeMaker maker(reader_, history);
        if (parts_ == MemoryParts::All)
            maker.readOps(history.events);
        analysis::BlockLives<std::uint32_t> lives;
        for (const MemoryBlock& block : history.older)
            if (!block.isFree && block.bytes != 0) {
                lives.open(block.address, static_cast<std::uint32_t>(history.blocks.size()));
                history.blocks.push_back(maker.of(block));
            }
        older_ = history.blocks.size();
        changes_.reserve(history.events.size());
        for (const AllocEvent& event : history.events) {
            Change& change = changes_.emplace_back();
            const auto closed = lives.apply(event, [&] {
                change.opened = static_cast<std::uint32_t>(history.blocks.size());
                history.blocks.push_back(maker.of(event));
                return change.opened;
            });
            if (closed) {
                change.closed = *closed;
                history.blocks[*closed].end = fromOrigin(event.time);
            }
        }
        history.length = fromOrigin(std::max(history.events.back().time, unchangedUntil_));
    }

    /// Bytes by category that change at each event, and the remainder of the allocator's count.
    void drawCurves()
    {
        MemoryHistory& history = *history_;
        std::array<StepCurveDrawing, kMemoryCategories> drawings;
        std::array<std::int64_t, kMemoryCategories> bytes{};
        StepCurveDrawing allocated;
        StepCurveDrawing reserved;
        for (std::size_t i = 0; i < older_; ++i)
            bytes[indexOf(history.blocks[i].category)] += history.blocks[i].bytes;
        analysis::SegmentMap map = history.segmentsAt(MemoryLife::kBefore);
        std::int64_t followed = 0;
        for (const std::int64_t held : bytes)
            followed += held;
        const std::int64_t before = analysis::allocatedBefore(history.events.front());
        // Bytes that the allocator counted at that time and no block accounts for.
        bytes[indexOf(MemoryCategory::Unattributed)] += before - followed;
        const auto note = [&](std::int64_t time, std::int64_t total, std::int64_t held) {
            if (history.hasSegments()) {
                bytes[indexOf(MemoryCategory::Fragmentation)] = map.use().fragmentation();
                bytes[indexOf(MemoryCategory::ReservedFree)] = map.use().freeSegments;
            }
            for (std::size_t i = 0; i < kMemoryCategories; ++i)
                if (bytes[i] != 0 || !drawings[i].empty())
                    drawings[i].add(time, bytes[i]);
            allocated.add(time, total);
            reserved.add(time, held);
        };
        const std::int64_t start = std::min<std::int64_t>(0, fromOrigin(history.events.front().time));
        note(start, before, history.events.front().reserved);
        for (std::size_t i = 0; i < history.events.size(); ++i) {
            const AllocEvent& event = history.events[i];
            const Change& change = changes_[i];
            if (change.closed != kNone)
                bytes[indexOf(history.blocks[change.closed].category)] -= history.blocks[change.closed].bytes;
            else if (event.action == AllocAction::FreeRequested ||
                     (event.action == AllocAction::FreeCompleted && !event.device))
                bytes[indexOf(MemoryCategory::Unattributed)] -= event.bytes; // unknown, from before the trace
            if (change.opened != kNone)
                bytes[indexOf(history.blocks[change.opened].category)] += history.blocks[change.opened].bytes;
            if (history.hasSegments())
                map.apply(event);
            if (event.action != AllocAction::Oom)
                note(fromOrigin(event.time), event.allocated, event.reserved);
        }
        history.allocated = allocated.curve();
        history.reserved = reserved.curve();
        for (std::size_t i = 0; i < kMemoryCategories; ++i)
            history.curves[i] = drawings[i].curve();
        history.peakTime = history.allocated.time(history.allocated.peak());
    }

    const store::RunReader& reader_;
    const MemoryParts parts_;
    const ProcessQuery topology_;
    std::shared_ptr<MemoryHistory> history_;
    Timestamp unchangedUntil_{}; // of a run without events
    std::size_t older_ = 0;
    std::vector<Change> changes_; // by event
};

} // namespace

void MemoryHistory::index()
{
    latestEnds_.assign((blocks.size() + kStretch - 1) / kStretch, MemoryLife::kBefore);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        latestEnds_[i / kStretch] = std::max(latestEnds_[i / kStretch], blocks[i].end);
}

void MemoryHistory::eachAliveWithin(std::int64_t from, std::int64_t to,
                                    const std::function<void(std::uint32_t)>& take) const
{
    const auto last = std::ranges::upper_bound(blocks, to, {}, &MemoryLife::begin) - blocks.begin();
    const auto count = static_cast<std::size_t>(last);
    for (std::size_t stretch = 0; stretch * kStretch < count; ++stretch) {
        if (latestEnds_[stretch] <= from)
            continue;
        for (std::size_t i = stretch * kStretch; i < std::min(count, (stretch + 1) * kStretch); ++i)
            if (blocks[i].end > from)
                take(static_cast<std::uint32_t>(i));
    }
}

std::vector<std::uint32_t> MemoryHistory::aliveAt(std::int64_t time) const
{
    std::vector<std::uint32_t> alive;
    eachAliveWithin(time, time, [&](std::uint32_t block) { alive.push_back(block); });
    std::ranges::stable_sort(alive, std::ranges::greater{},
                             [this](std::uint32_t block) { return blocks[block].bytes; });
    return alive;
}

std::vector<std::uint32_t> MemoryHistory::byEnd() const
{
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < blocks.size(); ++i)
        if (blocks[i].end != MemoryLife::kAfter)
            order.push_back(i);
    std::ranges::sort(order, {}, [this](std::uint32_t block) { return blocks[block].end; });
    return order;
}

analysis::SegmentMap MemoryHistory::segmentsAt(std::int64_t time) const
{
    if (!hasSegments())
        return {{}, {}};
    analysis::SegmentMap map(segments, older);
    for (const AllocEvent& event : events) {
        if ((event.time - origin).count() > time)
            break;
        map.apply(event);
    }
    return map;
}

std::optional<AllocEvent> countOfBlocks(const MemoryFacts& facts)
{
    std::map<DeviceIndex, AllocEvent> counts;
    for (const MemoryBlock& block : facts.blocks) {
        AllocEvent& count = counts[block.device];
        count.time = block.time;
        count.action = AllocAction::Snapshot;
        count.device = block.device;
        count.allocated += block.bytes;
        count.reserved += block.device ? block.size : block.bytes;
    }
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second.allocated; });
    return most == counts.end() ? std::nullopt : std::optional(most->second);
}

std::shared_ptr<const MemoryHistory> memoryHistory(const store::RunReader& reader, RunId run,
                                                   const std::function<bool()>& cancelled, MemoryParts parts,
                                                   const ProcessQuery& topology)
{
    return Builder(reader, run, parts, topology).build(cancelled);
}

} // namespace tilescope::query
