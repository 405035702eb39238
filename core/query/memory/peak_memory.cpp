#include "core/query/memory/peak_memory.h"

#include "core/analysis/memory/block_lives.h"
#include "core/query/memory/life_maker.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>

namespace tilescope::query {

namespace {

/// The highest that a device's memory stood.
struct Peak {
    DeviceIndex device = {};
    Timestamp time{}; ///< time of the event that caused the peak; may be before the span
    std::int64_t allocated = 0;
};

/// The highest peak of all devices; the first of several equal ones. None without a memory track.
std::optional<Peak> peakOf(const store::RunReader& reader, const store::RunRecord& run,
                           const MemoryFacts& facts, const store::EventWindow& window,
                           const ProcessFilter& filter)
{
    std::optional<Peak> highest;
    const auto consider = [&highest](const Peak& peak) {
        if (!highest || peak.allocated > highest->allocated ||
            (peak.allocated == highest->allocated && peak.time < highest->time))
            highest = peak;
    };
    for (const store::TrackInfo& track : reader.tracks(run.run)) {
        if (track.kind != store::LaneKind::Memory || !filter.hasDevice(track.device))
            continue;
        std::optional<Peak> before; // holds at the start of the window
        reader.eachPoints(run.run, track, [&](std::span<const store::MemoryPoint> points) {
            for (const store::MemoryPoint& point : points) {
                const Peak peak{track.device, run.clockOrigin + Nanoseconds(point.time), point.allocated};
                if (peak.time >= window.to)
                    return false;
                if (peak.time <= window.from)
                    before = peak;
                else
                    consider(peak);
            }
            return true;
        });
        if (before)
            consider(*before);
    }
    if (const auto older = highest ? countOfBlocks(facts) : std::nullopt;
        older && filter.hasDevice(older->device) && older->time >= window.from && older->time < window.to)
        consider({older->device, older->time, older->allocated});
    return highest;
}

/// The blocks that are allocated at the peak: all that is kept of the events.
class BlocksAtPeak {
public:
    BlocksAtPeak(const Peak& peak, std::span<const MemoryBlock> older) : peak_(peak)
    {
        for (const MemoryBlock& block : older)
            if (block.device == peak.device && !block.isFree && block.bytes != 0)
                lives_.open(block.address, {next_++, &block, {}});
    }

    void add(const AllocEvent& event)
    {
        if (event.device != peak_.device || event.action == AllocAction::Oom || event.time > peak_.time)
            return;
        allocated_ = event.allocated;
        sawPeak_ = sawPeak_ || (event.time == peak_.time && event.allocated == peak_.allocated);
        lives_.apply(event, [&] { return Block{next_++, nullptr, event}; });
    }
    /// Whether an event that counts memory has the peak: the track also has those that failed.
    bool sawPeak() const { return sawPeak_; }

    void fill(LiveMemoryTable& table, MemoryHistory& history, LifeMaker maker) const
    {
        std::vector<const Block*> alive;
        for (const auto& [address, block] : lives_.all())
            alive.push_back(&block);
        std::ranges::sort(alive, {}, [](const Block* block) { return block->number; });
        table.allocated = table.untraced = {allocated_};
        for (const Block* block : alive) {
            table.blocks.push_back(static_cast<std::uint32_t>(history.blocks.size()));
            history.blocks.push_back(block->older ? maker.of(*block->older) : maker.of(block->event));
            table.untraced -= {history.blocks.back().bytes};
        }
        std::ranges::stable_sort(table.blocks, std::ranges::greater{},
                                 [&](std::uint32_t block) { return history.blocks[block].bytes; });
    }

private:
    struct Block {
        std::size_t number = 0; ///< in the order of allocation
        const MemoryBlock* older = nullptr;
        AllocEvent event = {}; ///< its allocation; unused for an older block
    };
    const Peak peak_;
    analysis::BlockLives<Block> lives_;
    std::size_t next_ = 0;
    std::int64_t allocated_ = 0;
    bool sawPeak_ = false;
};

/// The peak from the whole history, for files without a memory track.
LiveMemoryTable fromHistory(const store::RunReader& reader, RunId run, const store::EventWindow& window,
                            bool isWhole, const ProcessQuery& topology)
{
    const EventQuery query{.run = run, .topology = topology};
    LiveMemoryTable table = liveMemory(reader, query, {});
    if (isWhole)
        return table;
    const MemoryHistory& history = *table.history;
    const auto at = [&](Timestamp time) {
        return std::clamp<std::int64_t>((time - history.origin).count(), 0, history.length);
    };
    return liveMemory(reader, query, Nanoseconds(history.allocated.highest(at(window.from), at(window.to))));
}

} // namespace

LiveMemoryTable memoryAtPeak(const store::RunReader& reader, RunId run,
                             const std::function<bool()>& cancelled, const std::optional<TimeSpan>& span,
                             const ProcessQuery& topology)
{
    const store::EventWindow window = windowOf(reader, run, span);
    auto history = std::make_shared<MemoryHistory>();
    history->run = chooseRun(reader, run);
    if (const auto recorded = reader.span(run))
        history->origin = recorded->first;
    const MemoryFacts facts = reader.memory(run);
    const std::optional<Peak> peak =
        peakOf(reader, history->run, facts, window, ProcessFilter(reader, run, topology));
    if (!peak) {
        LiveMemoryTable table = fromHistory(reader, run, window, !span, topology);
        const bool isOfOthers = !topology.empty() && table.history->empty();
        return isOfOthers ? LiveMemoryTable{} : table;
    }
    history->device = peak->device;
    LiveMemoryTable table{.history = history,
                          .at = (std::max(peak->time, window.from) - history->origin).count()};
    BlocksAtPeak live(*peak, facts.blocks);
    const auto timeOf = [](const AllocEvent& event) { return event.time; };
    InOrder<AllocEvent, decltype(timeOf)> inOrder(timeOf);
    const auto take = [&live](std::span<const AllocEvent> events) {
        for (const AllocEvent& event : events)
            live.add(event);
    };
    bool going = true;
    std::int64_t seen = 0;
    reader.eachAllocEvent({.run = run, .to = peak->time + Nanoseconds(1)}, [&](const AllocEvent& event) {
        inOrder.add(event, take);
        going = ++seen % 65'536 != 0 || !cancelled();
        return going;
    });
    if (!going)
        return table;
    inOrder.finish(take);
    if (!live.sawPeak())
        return fromHistory(reader, run, window, !span, topology);
    live.fill(table, *history, LifeMaker(reader, *history));
    return table;
}

} // namespace tilescope::query
