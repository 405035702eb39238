#include "core/query/event_tables.h"

#include "core/analysis/device_totals.h"
#include "core/analysis/kernel_families.h"
#include "core/analysis/op_totals.h"
#include "core/query/selection.h"

#include <unordered_set>

namespace tilescope::query {

namespace {

using analysis::KernelFamilies;
using analysis::TextOf;

/// What kernel names mean, asked once a name.
class Descriptions {
public:
    explicit Descriptions(const TextOf& textOf) : textOf_(textOf) {}

    const analysis::KernelDescription& of(const DeviceEvent& event)
    {
        const auto [entry, isNew] = known_.try_emplace(event.name);
        if (isNew)
            entry->second = KernelFamilies::standard().describe(textOf_(event.name), event.kind);
        return entry->second;
    }

private:
    const TextOf& textOf_;
    std::unordered_map<StringId, analysis::KernelDescription> known_;
};

std::unordered_map<OpId, StringId> opNamesOf(const store::RunReader& reader, RunId run)
{
    std::unordered_map<OpId, StringId> names;
    for (const Op& op : reader.ops({.run = run}))
        names.emplace(op.id, op.name);
    return names;
}

} // namespace

double KernelRow::instancesPerStep() const
{
    return steps > 0 ? static_cast<double>(instances) / static_cast<double>(steps) : 0;
}

KernelsTable kernels(const store::RunReader& reader, const EventQuery& query)
{
    KernelsTable table{.run = chooseRun(reader, query.run), .rows = {}};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    const TextOf textOf = textsOf(reader);
    const std::vector<DeviceEvent> events = reader.deviceEvents({.run = table.run.run});
    table.events = static_cast<std::int64_t>(events.size());

    PathSelection selection(query.rangeGlob, textOf);
    Descriptions descriptions(textOf);
    GroupKeys keys(table.grouping, textOf);
    std::unordered_map<OpId, StringId> opNames;
    if (table.grouping == Grouping::Op)
        opNames = opNamesOf(reader, table.run.run);
    std::unordered_map<std::uint32_t, std::unordered_set<StringId>> names;
    std::unordered_map<std::uint32_t, const DeviceEvent*> example;

    const auto keyOf = [&](const DeviceEvent& event) {
        switch (table.grouping) {
        case Grouping::Family:
            return keys.numberOf(wordOf(descriptions.of(event).family));
        case Grouping::Range:
        case Grouping::Phase:
        case Grouping::Module:
            return keys.numberOf(event.path);
        case Grouping::Op: {
            const auto name = opNames.find(event.op);
            return keys.numberOf(name == opNames.end() ? StringId{} : name->second);
        }
        default:
            return keys.numberOf(event.name);
        }
    };
    const auto totals =
        analysis::deviceTotals(events, [&](const DeviceEvent& event) -> std::optional<std::uint32_t> {
            if (event.step == kNoStep) {
                ++table.outsideSteps;
                return {};
            }
            if (!selection.has(event.path))
                return {};
            const std::uint32_t key = keyOf(event);
            names[key].insert(event.name);
            example.try_emplace(key, &event);
            return key;
        });
    for (const analysis::DeviceTotal& total : totals)
        table.total += total.total;
    for (const analysis::DeviceTotal& total : totals) {
        KernelRow row{.key = keys.key(total.group), .shortName = {}, .family = {}, .does = {}};
        if (table.grouping == Grouping::Name) {
            const analysis::KernelDescription& description = descriptions.of(*example.at(total.group));
            row.shortName = description.shortName;
            row.family = wordOf(description.family);
            row.does = description.does;
        }
        row.kernels = static_cast<std::int64_t>(names.at(total.group).size());
        row.instances = total.instances;
        row.steps = total.steps;
        row.total = total.total;
        row.average = total.average();
        row.shortest = total.shortest;
        row.longest = total.longest;
        row.percent = percentOf(total.total, table.total);
        table.rows.push_back(std::move(row));
    }
    return table;
}

OpsTable ops(const store::RunReader& reader, const EventQuery& query)
{
    OpsTable table{.run = chooseRun(reader, query.run), .rows = {}};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    const TextOf textOf = textsOf(reader);
    const std::vector<Op> all = reader.ops({.run = table.run.run});
    table.events = static_cast<std::int64_t>(all.size());
    PathSelection selection(query.rangeGlob, textOf);
    GroupKeys keys(table.grouping, textOf);
    const auto totals = analysis::opTotals(all, [&](const Op& op) -> std::optional<std::uint32_t> {
        if (op.step == kNoStep || !selection.has(op.path))
            return {};
        return keys.numberOf(table.grouping == Grouping::Name ? op.name : op.path);
    });
    Nanoseconds self{0};
    for (const analysis::OpTotal& total : totals)
        self += total.self;
    for (const analysis::OpTotal& total : totals)
        table.rows.push_back({.key = keys.key(total.group),
                              .instances = total.instances,
                              .total = total.total,
                              .self = total.self,
                              .average = total.average(),
                              .percent = percentOf(total.self, self)});
    return table;
}

RangesTable ranges(const store::RunReader& reader, const EventQuery& query)
{
    RangesTable table{.run = chooseRun(reader, query.run), .rows = {}};
    const TextOf textOf = textsOf(reader);
    const store::EventWindow window{.run = table.run.run};
    const std::vector<DeviceEvent> device = reader.deviceEvents(window);
    table.rows = analysis::rangeTotals(reader.ranges(window), reader.ops(window), device, textOf);
    table.hasGpu = !device.empty();
    GroupKeys modules(Grouping::Module, textOf);
    const std::uint32_t none = modules.numberOf(kUnattributed);
    for (const DeviceEvent& event : device) {
        if (event.step == kNoStep)
            continue;
        table.gpu += event.end - event.start;
        if (modules.numberOf(event.path) != none)
            table.gpuInModules += event.end - event.start;
    }
    if (!query.rangeGlob.empty()) {
        const analysis::PathGlob glob(query.rangeGlob);
        std::erase_if(table.rows,
                      [&glob](const analysis::RangeTotal& row) { return !glob.matches(row.path); });
    }
    return table;
}

} // namespace tilescope::query
