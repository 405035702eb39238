#include "core/query/memory/memory_tables.h"

#include "core/model/set_up_path.h"
#include "core/model/text.h"
#include "core/query/memory/memory_history.h"
#include "core/query/memory/memory_stretches.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"

#include <algorithm>
#include <unordered_set>

namespace tilescope::query {

namespace {

Timestamp originOf(const store::RunReader& reader, RunId run)
{
    const auto span = reader.span(run);
    return span ? span->first : Timestamp{};
}

constexpr std::string_view kBeforeTrace = "before the trace";

/// Counts what the allocator has and no block accounts for.
void addUnattributed(MemoryGroupsTable& table, Bytes bytes)
{
    if (bytes == Bytes{})
        return;
    const auto row = std::ranges::find(table.rows, kUnattributed, &MemoryGroupRow::key);
    if (row == table.rows.end()) {
        table.rows.push_back({std::string(kUnattributed), bytes, bytes, 0});
    } else {
        row->atPeak += bytes;
        row->max += bytes;
    }
    std::ranges::stable_sort(table.rows, std::ranges::greater{}, &MemoryGroupRow::atPeak);
}

std::optional<OutsideAllocator> outsideOf(const std::vector<MemoryReading>& readings, DeviceIndex device)
{
    std::optional<OutsideAllocator> outside;
    for (const MemoryReading& reading : readings) {
        const auto used = reading.process ? reading.process : reading.deviceUsed;
        if (!used || !reading.device || reading.device != device)
            continue;
        const Bytes beyond{*used - reading.reserved};
        if (!outside)
            outside.emplace();
        outside->most = std::max(outside->most, beyond);
        outside->ofAllProcesses = outside->ofAllProcesses || !reading.process;
        if (reading.moment == "before set-up")
            outside->beforeSetUp = beyond;
    }
    return outside;
}

/// What lies in the private pools of CUDA graphs.
void addGraphPool(MemoryGroupsTable& table, std::span<const MemoryBlock> blocks,
                  std::span<const MemoryReading> readings)
{
    for (const MemoryBlock& block : blocks) {
        if (block.device != table.device || block.name.find(kGraphPool) == std::string::npos)
            continue;
        table.graphPool.held += Bytes{block.bytes};
        if (block.name == kGraphPool)
            table.graphPool.unknown += Bytes{block.bytes};
    }
    for (const MemoryReading& reading : readings)
        if (reading.moment == kReplayMoment && reading.device == table.device)
            table.graphPool.replay = Bytes{reading.requested};
}

/// What a device lost to the process beyond what the allocator counts as allocated.
void addBeyondTheCount(MemoryGroupsTable& table, const MemoryHistory& history)
{
    for (const MemoryCategory category : {MemoryCategory::Fragmentation, MemoryCategory::ReservedFree}) {
        const StepCurve& curve = history.curves[static_cast<std::size_t>(category)];
        if (history.hasSegments() && !curve.empty())
            table.rows.push_back({std::string(wordOf(category)), Bytes{curve.at(history.peakTime)},
                                  Bytes{curve.value(curve.peak())}, 0});
    }
    if (const auto& outside = table.outside)
        table.rows.push_back({std::string(wordOf(MemoryCategory::Context)), outside->most, outside->most, 0});
}

/// What happened while the groups ran; those that allocated nothing themselves are added.
void addStretches(MemoryGroupsTable& table, std::map<std::string, MemoryStretch> stretches)
{
    const auto fill = [](MemoryGroupRow& row, const MemoryStretch& stretch) {
        row.before = Bytes{stretch.before};
        row.after = Bytes{stretch.after};
        row.peak = Bytes{stretch.peak};
        row.churn = Bytes{stretch.churn};
    };
    for (MemoryGroupRow& row : table.rows)
        if (const auto found = stretches.find(row.key); found != stretches.end()) {
            fill(row, found->second);
            stretches.erase(found);
        }
    for (const auto& [key, stretch] : stretches) {
        table.rows.push_back({key, Bytes{}, Bytes{}, 0});
        fill(table.rows.back(), stretch);
    }
}

/// Stands for the word of a category in events that are made here, beyond the ids of any file.
StringId wordOfOlder(MemoryCategory category)
{
    return StringId{0xfffffff0U - static_cast<std::uint32_t>(category)};
}

/// Keeps the texts that the events refer to, so that the snapshot needs no reader.
void keepTexts(MemoryEventsTable& table, const store::RunReader& reader)
{
    const auto keep = [&](StringId id) {
        if (id && !table.texts.contains(id))
            table.texts.emplace(id, reader.text(id));
    };
    std::unordered_set<OpId> ops;
    for (std::size_t i = 0; i < table.events.size(); ++i) {
        const AllocEvent& event = table.events[i];
        if (i >= table.older.size())
            keep(event.category);
        keep(event.path);
        if (event.op)
            ops.insert(event.op);
    }
    if (ops.empty())
        return;
    reader.eachOp({.run = table.run.run}, [&](const Op& op) {
        if (ops.contains(op.id)) {
            table.ops.emplace(op.id, reader.text(op.name));
            if (op.shapes)
                table.shapes.emplace(op.id, reader.text(op.shapes));
        }
        return true;
    });
}

MemoryEventsTable allEvents(const store::RunReader& reader, const EventQuery& query)
{
    MemoryEventsTable table{.run = chooseRun(reader, query.run)};
    table.origin = originOf(reader, table.run.run);
    table.events = reader.allocEvents({.run = table.run.run});
    return table;
}

/// All events of a run, and before them what was allocated already.
MemoryEventsTable wholeHistory(const store::RunReader& reader, const EventQuery& query)
{
    MemoryEventsTable table = allEvents(reader, query);
    MemoryFacts facts = reader.memory(table.run.run);
    if (const auto count = table.events.empty() ? countOfBlocks(facts) : std::nullopt) {
        table.events.push_back(*count);
        table.origin = count->time;
    }
    table.places = CodePlaces(std::move(facts.places));
    table.older = std::move(facts.blocks);
    std::erase_if(table.older, [](const MemoryBlock& block) { return block.isFree; });
    std::vector<AllocEvent> events = analysis::asAllocations(table.older);
    for (std::size_t i = 0; i < events.size(); ++i) {
        const MemoryCategory category = table.older[i].category;
        events[i].category = wordOfOlder(category);
        table.texts.try_emplace(events[i].category, wordOf(category));
    }
    table.events.insert(table.events.begin(), events.begin(), events.end());
    return table;
}

} // namespace

std::string_view MemoryEventsTable::text(StringId id) const
{
    const auto found = texts.find(id);
    return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view MemoryEventsTable::op(OpId id) const
{
    const auto found = ops.find(id);
    return found == ops.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view MemoryEventsTable::shapesOf(OpId id) const
{
    const auto found = shapes.find(id);
    return found == shapes.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view MemoryEventsTable::name(std::size_t event) const
{
    if (event < older.size())
        return older[event].name;
    const auto made = setUpTensor(text(events[event].path));
    return made ? made->name : std::string_view{};
}

std::string_view LiveMemoryTable::name(std::size_t row) const
{
    return from.name(blocks[row].event);
}

std::string_view LiveMemoryTable::shape(std::size_t row) const
{
    const std::size_t event = blocks[row].event;
    return event < from.older.size() ? std::string_view(from.older[event].shape)
                                     : from.shapesOf(from.events[event].op);
}

MemoryEventsTable memoryEvents(const store::RunReader& reader, const EventQuery& query)
{
    MemoryEventsTable table = allEvents(reader, query);
    const analysis::TextOf textOf = textsOf(reader);
    PathSelection selection(query.rangeGlob, textOf);
    std::erase_if(table.events, [&](const AllocEvent& event) { return !selection.has(event.path); });
    keepTexts(table, reader);
    return table;
}

MemoryGroupsTable memoryGroups(const store::RunReader& reader, const EventQuery& query)
{
    const MemoryEventsTable history = wholeHistory(reader, query);
    MemoryGroupsTable table{.run = history.run, .rows = {}};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    table.origin = history.origin;
    const auto device = analysis::mainMemoryDevice(history.events);
    if (!device)
        return table;
    table.device = *device;

    const analysis::TextOf textOf = textsOf(reader);
    GroupKeys keys(table.grouping, textOf);
    std::unordered_map<OpId, StringId> opNames;
    if (table.grouping == Grouping::Op)
        for (const Op& op : reader.ops({.run = table.run.run}))
            opNames.emplace(op.id, op.name);
    const auto groupOf = [&](const AllocEvent& event) {
        const auto index = static_cast<std::size_t>(&event - history.events.data());
        if (index < history.older.size())
            return keys.numberOf(table.grouping == Grouping::Category ? wordOf(history.older[index].category)
                                                                      : kBeforeTrace);
        if (table.grouping == Grouping::Category)
            return keys.numberOf(event.category);
        if (table.grouping == Grouping::Step)
            return keys.numberOf(event.step == kNoStep ? "between steps"
                                                       : "step " + std::to_string(event.step));
        if (table.grouping != Grouping::Op)
            return keys.numberOf(event.path);
        const auto name = opNames.find(event.op);
        return keys.numberOf(name == opNames.end() ? StringId{} : name->second);
    };
    const analysis::MemoryGroups groups =
        analysis::memoryGroups(history.events, table.device, groupOf, history.older.size());
    table.peak = groups.peak.time;
    table.allocated = groups.peak.allocated;
    table.reserved = groups.peak.reserved;
    for (const analysis::MemoryGroup& group : groups.groups)
        table.rows.push_back({keys.key(group.group), group.atPeak, group.max, group.allocations});
    addUnattributed(table, groups.untraced);
    const std::vector<MemoryReading> readings = reader.memory(table.run.run).readings;
    addGraphPool(table, history.older, readings);
    const auto whole = memoryHistory(reader, table.run.run);
    table.outside = outsideOf(readings, table.device);
    if (table.grouping == Grouping::Category)
        addBeyondTheCount(table, *whole);
    else
        addStretches(table, memoryStretches(reader, *whole, table.grouping));
    return table;
}

namespace {

LiveMemoryTable blocksAt(const store::RunReader& reader, const EventQuery& query,
                         std::optional<Nanoseconds> at, bool ever)
{
    LiveMemoryTable table{.from = wholeHistory(reader, query), .blocks = {}};
    table.ever = ever;
    keepTexts(table.from, reader);
    const std::vector<AllocEvent>& events = table.from.events;
    const auto device = analysis::mainMemoryDevice(events);
    if (!device)
        return table;
    table.device = *device;
    table.at = at ? table.from.origin + *at : analysis::memoryPeak(events, table.device)->time;
    analysis::LiveSet live = analysis::liveAt(events, table.device, table.at);
    table.allocated = table.untraced = live.untraced;
    for (const analysis::LiveBlock& block : live.blocks)
        table.allocated += block.bytes;
    if (ever)
        live.blocks = analysis::everAllocated(events, table.device);

    const analysis::TextOf textOf = textsOf(reader);
    PathSelection selection(query.rangeGlob, textOf);
    std::erase_if(live.blocks,
                  [&](const analysis::LiveBlock& block) { return !selection.has(events[block.event].path); });
    table.blocks = std::move(live.blocks);
    return table;
}

} // namespace

LiveMemoryTable liveMemory(const store::RunReader& reader, const EventQuery& query,
                           std::optional<Nanoseconds> at)
{
    return blocksAt(reader, query, at, false);
}

LiveMemoryTable everAllocated(const store::RunReader& reader, const EventQuery& query)
{
    return blocksAt(reader, query, {}, true);
}

} // namespace tilescope::query
