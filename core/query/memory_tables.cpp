#include "core/query/event_tables.h"

#include "core/query/selection.h"

#include <algorithm>

namespace tilescope::query {

namespace {

Timestamp originOf(const store::RunReader& reader, RunId run)
{
    const auto span = reader.span(run);
    return span ? span->first : Timestamp{};
}

/// Keeps the texts that the events refer to, so that the snapshot needs no reader.
void keepTexts(MemoryEventsTable& table, const store::RunReader& reader)
{
    const auto keep = [&](StringId id) {
        if (id && !table.texts.contains(id))
            table.texts.emplace(id, reader.text(id));
    };
    bool hasOps = false;
    for (const AllocEvent& event : table.events) {
        keep(event.category);
        keep(event.path);
        hasOps = hasOps || event.op;
    }
    if (!hasOps)
        return;
    std::unordered_map<OpId, StringId> names;
    for (const Op& op : reader.ops({.run = table.run.run}))
        names.emplace(op.id, op.name);
    for (const AllocEvent& event : table.events)
        if (const auto name = names.find(event.op); name != names.end() && !table.ops.contains(event.op))
            table.ops.emplace(event.op, reader.text(name->second));
}

MemoryEventsTable allEvents(const store::RunReader& reader, const EventQuery& query)
{
    MemoryEventsTable table{.run = chooseRun(reader, query.run), .events = {}, .texts = {}, .ops = {}};
    table.origin = originOf(reader, table.run.run);
    table.events = reader.allocEvents({.run = table.run.run});
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
    MemoryGroupsTable table{.run = chooseRun(reader, query.run), .rows = {}};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    table.origin = originOf(reader, table.run.run);
    const std::vector<AllocEvent> events = reader.allocEvents({.run = table.run.run});
    const auto device = analysis::mainMemoryDevice(events);
    if (!device)
        return table;
    table.device = *device;

    const analysis::TextOf textOf = textsOf(reader);
    GroupKeys keys(table.grouping, textOf);
    std::unordered_map<OpId, StringId> opNames;
    if (table.grouping == Grouping::Op)
        for (const Op& op : reader.ops({.run = table.run.run}))
            opNames.emplace(op.id, op.name);
    const analysis::MemoryGroups groups =
        analysis::memoryGroups(events, table.device, [&](const AllocEvent& event) {
            if (table.grouping == Grouping::Category)
                return keys.numberOf(event.category);
            if (table.grouping != Grouping::Op)
                return keys.numberOf(event.path);
            const auto name = opNames.find(event.op);
            return keys.numberOf(name == opNames.end() ? StringId{} : name->second);
        });
    table.peak = groups.peak.time;
    table.allocated = groups.peak.allocated;
    table.reserved = groups.peak.reserved;
    for (const analysis::MemoryGroup& group : groups.groups)
        table.rows.push_back({keys.key(group.group), group.atPeak, group.max, group.allocations});
    if (groups.untraced != Bytes{}) {
        table.rows.push_back({"before the trace", groups.untraced, groups.untraced, 0});
        std::stable_sort(
            table.rows.begin(), table.rows.end(),
            [](const MemoryGroupRow& a, const MemoryGroupRow& b) { return a.atPeak > b.atPeak; });
    }
    return table;
}

LiveMemoryTable liveMemory(const store::RunReader& reader, const EventQuery& query,
                           std::optional<Nanoseconds> at)
{
    LiveMemoryTable table{.from = allEvents(reader, query), .blocks = {}};
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

    const analysis::TextOf textOf = textsOf(reader);
    PathSelection selection(query.rangeGlob, textOf);
    std::erase_if(live.blocks,
                  [&](const analysis::LiveBlock& block) { return !selection.has(events[block.event].path); });
    table.blocks = std::move(live.blocks);
    return table;
}

} // namespace tilescope::query
