#include "core/query/memory/memory_tables.h"

#include "core/model/text.h"
#include "core/query/memory/memory_stretches.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tilescope::query {

namespace {

/// Counts allocated bytes that no block accounts for.
void addUnattributed(MemoryGroupsTable& table, Bytes bytes)
{
    if (bytes == Bytes{})
        return;
    const auto row = std::ranges::find(table.rows, kUnattributed, &MemoryGroupRow::key);
    if (row == table.rows.end()) {
        table.rows.push_back({std::string(kUnattributed), bytes, bytes, 0});
    } else {
        row->held += bytes;
        row->max += bytes;
    }
    std::ranges::stable_sort(table.rows, std::ranges::greater{}, &MemoryGroupRow::held);
}

/// The contents of the private pools of CUDA graphs.
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

/// Memory that the process uses on a device beyond the allocator's reserved memory.
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

/// Adds the changes while the groups ran, and rows for groups that allocated nothing themselves.
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

/// The group of each block.
std::vector<std::uint32_t> groupsOf(const MemoryHistory& history, Grouping grouping, GroupKeys& keys)
{
    std::vector<std::optional<std::uint32_t>> byText(history.texts.size()); // each text is read once
    const auto groupOfText = [&](std::uint32_t text) {
        std::optional<std::uint32_t>& group = byText[text];
        if (!group)
            group = keys.numberOf(groupKey(grouping, history.text(text)));
        return *group;
    };
    std::vector<std::uint32_t> groups;
    groups.reserve(history.blocks.size());
    for (const MemoryLife& block : history.blocks) {
        if (grouping == Grouping::Category)
            groups.push_back(keys.numberOf(wordOf(block.category)));
        else if (block.isOlder())
            groups.push_back(keys.numberOf(kOlderGroup));
        else if (grouping == Grouping::Step)
            groups.push_back(keys.numberOf(block.step == kNoStep ? "between steps"
                                                                 : "step " + std::to_string(block.step)));
        else
            groups.push_back(groupOfText(grouping == Grouping::Op ? block.op : block.path));
    }
    return groups;
}

/// A row for each group: its bytes at the peak, the most that it ever had, its allocations.
void addGroups(MemoryGroupsTable& table, const MemoryHistory& history)
{
    GroupKeys keys(table.grouping, {});
    const std::vector<std::uint32_t> groups = groupsOf(history, table.grouping, keys);
    const std::vector<std::uint32_t> ends = history.byEnd();
    std::vector<Bytes> live;
    auto ended = ends.begin();
    Bytes unknown = table.allocated;
    for (std::size_t i = 0; i < history.blocks.size(); ++i) {
        const MemoryLife& block = history.blocks[i];
        for (; ended != ends.end() && history.blocks[*ended].end <= block.begin; ++ended)
            live[groups[*ended]] -= Bytes{history.blocks[*ended].bytes};
        const std::uint32_t group = groups[i];
        if (group == table.rows.size()) {
            table.rows.push_back({.key = keys.key(group)});
            live.emplace_back();
        }
        MemoryGroupRow& row = table.rows[group];
        live[group] += Bytes{block.bytes};
        row.max = std::max(row.max, live[group]);
        row.allocations += block.isOlder() ? 0 : 1;
        if (block.isAliveAt(history.peakTime)) {
            row.held += Bytes{block.bytes};
            unknown -= Bytes{block.bytes};
        }
    }
    std::ranges::stable_sort(table.rows, std::ranges::greater{},
                             [](const MemoryGroupRow& row) { return std::pair(row.held, row.max); });
    addUnattributed(table, unknown);
}

/// Keeps the blocks of ranges that match.
void keepMatching(LiveMemoryTable& table, const std::string& glob)
{
    if (glob.empty())
        return;
    const analysis::PathGlob pattern(glob);
    std::erase_if(table.blocks, [&](std::uint32_t block) {
        const std::string_view path = table.history->text(table.history->blocks[block].path);
        return path.empty() || !pattern.contains(analysis::fromStepDown(path));
    });
}

/// The names of the ops of a table. Most ops come in the order of their numbers, so few of them are looked up.
void findNames(const store::RunReader& reader, MemoryEventsTable& table)
{
    using OpName = MemoryEventsTable::OpName;
    std::vector<OpName>& ops = table.ops;
    std::ranges::sort(ops, {}, &OpName::id);
    const auto isSame = [](const OpName& one, const OpName& other) { return one.id == other.id; };
    ops.erase(std::unique(ops.begin(), ops.end(), isSame), ops.end());
    if (ops.empty())
        return;
    auto next = ops.begin();
    reader.eachOp({.run = table.run.run}, [&](const Op& op) {
        const bool isBehind = next == ops.begin() || std::prev(next)->id < op.id;
        if (isBehind && (next == ops.end() || op.id < next->id))
            return true;
        if (next == ops.end() || next->id != op.id)
            next = std::ranges::lower_bound(ops, op.id, {}, &OpName::id);
        if (next != ops.end() && next->id == op.id) {
            next->name = next->name ? next->name : op.name;
            ++next;
        }
        return true;
    });
    for (const OpName& op : ops)
        if (op.name && !table.texts.contains(op.name))
            table.texts.emplace(op.name, reader.text(op.name));
}

} // namespace

std::string_view MemoryEventsTable::text(StringId id) const
{
    const auto found = texts.find(id);
    return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view MemoryEventsTable::op(OpId id) const
{
    const auto found = std::ranges::lower_bound(ops, id, {}, &OpName::id);
    return found == ops.end() || found->id != id ? std::string_view{} : text(found->name);
}

MemoryEventsTable memoryEvents(const store::RunReader& reader, const EventQuery& query)
{
    MemoryEventsTable table{.run = chooseRun(reader, query.run)};
    if (const auto span = reader.span(table.run.run))
        table.origin = span->first;
    table.events = reader.allocEvents({.run = table.run.run});
    if (!query.topology.empty()) {
        const ProcessFilter filter(reader, table.run.run, query.topology);
        std::erase_if(table.events,
                      [&filter](const AllocEvent& event) { return !filter.hasDevice(event.device); });
    }
    const analysis::TextOf textOf = textsOf(reader);
    PathSelection selection(query.rangeGlob, textOf);
    std::erase_if(table.events, [&](const AllocEvent& event) { return !selection.has(event.path); });
    const TopologyIndex topology(reader.topology(table.run.run), {});
    for (const AllocEvent& event : table.events) {
        if (!table.processes.contains(event.device))
            table.processes.emplace(event.device, rowProcess(topology, topology.of(event.device)));
        for (const StringId id : {event.category, event.path})
            if (id && !table.texts.contains(id))
                table.texts.emplace(id, reader.text(id));
        if (event.op)
            table.ops.push_back({.id = event.op});
    }
    findNames(reader, table);
    return table;
}

MemoryGroupsTable memoryGroupsTable(const store::RunReader& reader, const EventQuery& query)
{
    const auto history =
        memoryHistory(reader, chooseRun(reader, query.run).run, {}, MemoryParts::All, query.topology);
    MemoryGroupsTable table{
        .run = history->run, .device = history->device, .process = history->process, .rows = {}};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    if (history->empty())
        return table;
    table.peak = Nanoseconds(history->peakTime);
    table.allocated = Bytes{history->allocated.at(history->peakTime)};
    table.reserved = Bytes{history->reserved.at(history->peakTime)};
    addGroups(table, *history);
    const std::vector<MemoryReading> readings = reader.memory(table.run.run).readings;
    addGraphPool(table, history->older, readings);
    table.outside = outsideOf(readings, table.device);
    if (table.grouping == Grouping::Category)
        addBeyondTheCount(table, *history);
    else
        addStretches(table, memoryStretches(reader, *history, table.grouping));
    return table;
}

LiveMemoryTable liveMemory(const store::RunReader& reader, const EventQuery& query,
                           std::optional<Nanoseconds> at)
{
    LiveMemoryTable table{.history = memoryHistory(reader, chooseRun(reader, query.run).run, {},
                                                   MemoryParts::All, query.topology)};
    const MemoryHistory& history = *table.history;
    if (history.empty())
        return table;
    table.at = at ? at->count() : history.peakTime;
    table.allocated = table.untraced = Bytes{history.allocated.at(table.at)};
    table.blocks = history.aliveAt(table.at);
    for (const std::uint32_t block : table.blocks)
        table.untraced -= Bytes{history.blocks[block].bytes};
    keepMatching(table, query.rangeGlob);
    return table;
}

LiveMemoryTable everAllocated(const store::RunReader& reader, const EventQuery& query)
{
    LiveMemoryTable table = liveMemory(reader, {.run = query.run, .topology = query.topology}, {});
    const std::vector<MemoryLife>& blocks = table.history->blocks;
    table.ever = true;
    table.blocks.resize(blocks.size());
    std::iota(table.blocks.begin(), table.blocks.end(), 0U);
    std::ranges::stable_sort(table.blocks, std::ranges::greater{},
                             [&](std::uint32_t block) { return blocks[block].bytes; });
    keepMatching(table, query.rangeGlob);
    return table;
}

} // namespace tilescope::query
