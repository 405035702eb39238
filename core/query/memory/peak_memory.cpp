#include "core/query/memory/peak_memory.h"

#include "core/analysis/memory/memory_curve.h"
#include "core/model/text.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

namespace {

/// The highest that a device's memory stood.
struct Peak {
    DeviceIndex device = {};
    Timestamp time{};
    std::int64_t allocated = 0;
};

/// Of all devices the highest, of several the first. None where no track tells.
std::optional<Peak> peakOf(const store::RunReader& reader, const store::RunRecord& run,
                           std::span<const AllocEvent> older)
{
    std::optional<Peak> highest;
    const auto consider = [&highest](const Peak& peak) {
        if (!highest || peak.allocated > highest->allocated ||
            (peak.allocated == highest->allocated && peak.time < highest->time))
            highest = peak;
    };
    for (const store::TrackInfo& track : reader.tracks(run.run)) {
        if (track.kind != store::LaneKind::Memory)
            continue;
        reader.eachPoints(run.run, track, [&](std::span<const store::MemoryPoint> points) {
            const auto most = std::ranges::max_element(points, {}, &store::MemoryPoint::allocated);
            consider({track.device, run.clockOrigin + Nanoseconds(most->time), most->allocated});
            return true;
        });
    }
    if (highest)
        for (const AllocEvent& event : older)
            consider({event.device, event.time, event.allocated});
    return highest;
}

/// Follows a device's blocks, as analysis::liveAt does, keeping only what is alive.
class LiveBlocks {
public:
    explicit LiveBlocks(const Peak& peak) : peak_(peak) {}

    void add(const AllocEvent& event)
    {
        const std::size_t number = next_++;
        if (event.device != peak_.device || event.action == AllocAction::Oom || event.time > peak_.time)
            return;
        allocated_ = event.allocated;
        sawPeak_ = sawPeak_ || (event.time == peak_.time && event.allocated == peak_.allocated);
        if (event.action == AllocAction::Alloc)
            live_[event.address] = {number, event};
        else if (event.action == AllocAction::FreeRequested || event.action == AllocAction::FreeCompleted)
            live_.erase(event.address);
    }
    /// Whether the peak is that of an event that counts memory: the track has an Oom's too.
    bool sawPeak() const { return sawPeak_; }

    /// \pre the first `older` events that were added are table.from.events
    void fill(LiveMemoryTable& table, std::size_t older) const
    {
        std::vector<std::pair<std::size_t, const AllocEvent*>> alive;
        for (const auto& [address, block] : live_)
            alive.emplace_back(block.first, &block.second);
        std::ranges::sort(alive);
        std::int64_t followed = 0;
        for (const auto& [number, event] : alive) {
            std::size_t index = number;
            if (number >= older) {
                index = table.from.events.size();
                table.from.events.push_back(*event);
            }
            table.blocks.push_back({event->address, {event->bytes}, index});
            followed += event->bytes;
        }
        std::ranges::stable_sort(table.blocks, std::ranges::greater{}, &analysis::LiveBlock::bytes);
        table.allocated = {allocated_};
        table.untraced = {allocated_ - followed};
    }

private:
    const Peak peak_;
    std::unordered_map<std::uint64_t, std::pair<std::size_t, AllocEvent>> live_; ///< by address
    std::size_t next_ = 0;
    std::int64_t allocated_ = 0;
    bool sawPeak_ = false;
};

void keepTexts(MemoryEventsTable& table, const store::RunReader& reader)
{
    for (std::size_t i = 0; i < table.events.size(); ++i)
        for (const StringId id : {table.events[i].category, table.events[i].path})
            if (id && !table.texts.contains(id))
                table.texts.emplace(id, reader.text(id));
}

/// What was allocated before the first event, as liveMemory() has it.
void addOlder(MemoryEventsTable& table, const store::RunReader& reader)
{
    table.older = reader.memory(table.run.run).blocks;
    std::erase_if(table.older, [](const MemoryBlock& block) { return block.isFree; });
    table.events = analysis::asAllocations(table.older);
    for (std::size_t i = 0; i < table.events.size(); ++i) {
        const MemoryCategory category = table.older[i].category;
        // Beyond the ids of any file.
        table.events[i].category = StringId{0xfffffff0U - static_cast<std::uint32_t>(category)};
        table.texts.try_emplace(table.events[i].category, wordOf(category));
    }
}

} // namespace

LiveMemoryTable memoryAtPeak(const store::RunReader& reader, RunId run,
                             const std::function<bool()>& cancelled)
{
    LiveMemoryTable table{.from = {.run = chooseRun(reader, run)}, .blocks = {}};
    const auto span = reader.span(run);
    table.from.origin = span ? span->first : Timestamp{};
    addOlder(table.from, reader);
    const std::optional<Peak> peak = peakOf(reader, table.from.run, table.from.events);
    if (!peak)
        return liveMemory(reader, {.run = run}, {});
    table.device = peak->device;
    table.at = peak->time;
    LiveBlocks live(*peak);
    const std::size_t older = table.from.events.size();
    for (const AllocEvent& event : table.from.events)
        live.add(event);
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
        return liveMemory(reader, {.run = run}, {});
    live.fill(table, older);
    keepTexts(table.from, reader);
    return table;
}

} // namespace tilescope::query
