#include "core/query/memory/memory_history.h"

#include "core/analysis/memory/allocated_before.h"
#include "core/analysis/memory/memory_blocks.h"
#include "core/analysis/memory/memory_curve.h"
#include "core/model/set_up_path.h"
#include "core/model/text.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tilescope::query {

namespace {

std::size_t indexOf(MemoryCategory category)
{
    return static_cast<std::size_t>(category);
}

/// Puts a history together from a run's records.
class Builder {
public:
    Builder(const store::RunReader& reader, RunId run, MemoryParts parts)
        : reader_(reader), parts_(parts), history_(std::make_shared<MemoryHistory>())
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
        constexpr std::int64_t kMostAtOnce = 1 << 22; // as far as a file's word is taken for it
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
        // Replayed steps allocate nothing, nor does a step whose first request fails: what there was when
        // they began stays until they end.
        const bool changesNothing = std::ranges::all_of(
            events, [](const AllocEvent& event) { return event.action == AllocAction::Oom; });
        if (const auto count = changesNothing ? countOfBlocks(facts) : std::nullopt) {
            events.insert(events.begin(), *count);
            history_->origin = count->time;
            if (span)
                unchangedUntil_ = span->second;
        }
        const auto device = analysis::mainMemoryDevice(events);
        if (!device)
            return true;
        history_->device = *device;
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

    std::int64_t fromOrigin(Timestamp time) const { return (time - history_->origin).count(); }

    std::uint32_t textIndex(std::string_view text)
    {
        if (text.empty())
            return 0;
        const auto [place, isNew] =
            byText_.try_emplace(std::string(text), static_cast<std::uint32_t>(history_->texts.size()));
        if (isNew)
            history_->texts.emplace_back(text);
        return place->second;
    }

    std::uint32_t textIndex(StringId id)
    {
        if (!id)
            return 0;
        const auto [place, isNew] = byId_.try_emplace(id, 0);
        if (isNew)
            place->second = textIndex(reader_.text(id));
        return place->second;
    }

    /// The tensor that a range of set-up makes.
    std::uint32_t nameOf(StringId path)
    {
        const auto [place, isNew] = made_.try_emplace(path, 0);
        if (isNew)
            if (const auto tensor = setUpTensor(reader_.text(path)))
                place->second = textIndex(tensor->name);
        return place->second;
    }

    MemoryCategory categoryOf(StringId id)
    {
        const auto [place, isNew] = categories_.try_emplace(id, MemoryCategory::Unattributed);
        if (isNew && id)
            place->second = fromWord<MemoryCategory>(reader_.text(id)).value_or(MemoryCategory::Unattributed);
        return place->second;
    }

    void readOps()
    {
        std::unordered_map<OpId, std::pair<StringId, StringId>> wanted;
        for (const AllocEvent& event : history_->events)
            if (event.op && event.action == AllocAction::Alloc)
                wanted.try_emplace(event.op);
        if (wanted.empty())
            return;
        reader_.eachOp({.run = history_->run.run}, [&](const Op& op) {
            if (wanted.contains(op.id))
                ops_[op.id] = {textIndex(op.name), textIndex(op.shapes)};
            return true;
        });
    }

    void addBlocks()
    {
        MemoryHistory& history = *history_;
        if (parts_ == MemoryParts::All)
            readOps();
        std::vector<MemoryBlock> held = history.older;
        std::erase_if(held, [](const MemoryBlock& block) { return block.isFree || block.bytes == 0; });
        older_ = held.size();
        const std::vector<AllocEvent> before = analysis::asAllocations(held);
        analysis::BlockLives told = analysis::blockLives(before, history.events, history.device);
        blockOf_ = std::move(told.blockOf);
        history.blocks.reserve(told.lives.size());
        for (const analysis::BlockLife& life : told.lives) {
            const bool isOlder = history.blocks.size() < older_;
            const AllocEvent& event = isOlder ? before[life.event] : history.events[life.event];
            MemoryLife block{.address = life.address,
                             .bytes = life.bytes,
                             .begin = life.begin == Timestamp::min() ? MemoryLife::kBefore
                                                                     : fromOrigin(life.begin),
                             .end = life.end == Timestamp::max() ? MemoryLife::kAfter : fromOrigin(life.end),
                             .step = event.step};
            if (isOlder) {
                const MemoryBlock& source = held[life.event];
                block.category = source.category;
                block.name = textIndex(source.name);
                block.shape = textIndex(source.shape);
            } else {
                block.category = categoryOf(event.category);
                block.path = textIndex(event.path);
                block.by = event.op;
                if (const auto op = ops_.find(event.op); op != ops_.end())
                    std::tie(block.op, block.shape) = op->second;
                if (event.step == kNoStep && event.path)
                    block.name = nameOf(event.path);
            }
            history.blocks.push_back(block);
        }
        history.length = fromOrigin(std::max(history.events.back().time, unchangedUntil_));
    }

    /// Bytes by category that change at each event, and what is left over of the allocator's count.
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
        // What the allocator counted then and no block accounts for.
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
            if (blockOf_[i] != analysis::BlockLives::kNone) {
                const MemoryLife& block = history.blocks[blockOf_[i]];
                bytes[indexOf(block.category)] +=
                    event.action == AllocAction::Alloc ? block.bytes : -block.bytes;
            } else if (event.action == AllocAction::FreeRequested ||
                       (event.action == AllocAction::FreeCompleted && !event.device)) {
                // A block from before the trace that nobody told of.
                bytes[indexOf(MemoryCategory::Unattributed)] -= event.bytes;
            }
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
    std::shared_ptr<MemoryHistory> history_;
    Timestamp unchangedUntil_{}; // of a run without events
    std::size_t older_ = 0;
    std::vector<std::uint32_t> blockOf_; // by event: the block that begins or ends with it
    std::unordered_map<std::string, std::uint32_t> byText_;
    std::unordered_map<StringId, std::uint32_t> byId_;
    std::unordered_map<StringId, MemoryCategory> categories_;
    std::unordered_map<StringId, std::uint32_t> made_; ///< names, by path
    std::unordered_map<OpId, std::pair<std::uint32_t, std::uint32_t>> ops_;
};

} // namespace

void MemoryHistory::index()
{
    latestEnds_.assign((blocks.size() + kStretch - 1) / kStretch, MemoryLife::kBefore);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        latestEnds_[i / kStretch] = std::max(latestEnds_[i / kStretch], blocks[i].end);
}

void MemoryHistory::columns(double from, double perColumn, std::span<MemoryColumn> out) const
{
    if (empty())
        return;
    for (std::size_t column = 0; column < out.size(); ++column) {
        const double start = from + perColumn * static_cast<double>(column);
        MemoryColumn& to = out[column];
        to.time =
            allocated.highest(static_cast<std::int64_t>(start), static_cast<std::int64_t>(start + perColumn));
        to.allocated = allocated.at(to.time);
        to.reserved = reserved.at(to.time);
        for (std::size_t i = 0; i < kMemoryCategories; ++i)
            to.bytes[i] = curves[i].empty() || to.time < curves[i].time(0) ? 0 : curves[i].at(to.time);
    }
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
                                                   const std::function<bool()>& cancelled, MemoryParts parts)
{
    return Builder(reader, run, parts).build(cancelled);
}

} // namespace tilescope::query
