#include "core/query/tables/kernel_tables.h"

#include "core/analysis/kernels/device_totals.h"
#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/op_totals.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"

#include <unordered_set>

namespace tilescope::query {

namespace {

using analysis::KernelFamilies;
using analysis::TextOf;

/// What kernel names mean, asked once a name.
class Descriptions {
public:
    explicit Descriptions(const TextOf& textOf) : textOf_(textOf) {}

    const analysis::KernelDescription& of(StringId name, DeviceEventKind kind)
    {
        const auto [entry, isNew] = known_.try_emplace(name);
        if (isNew)
            entry->second = KernelFamilies::standard().describe(textOf_(name), kind);
        return entry->second;
    }

private:
    const TextOf& textOf_;
    std::unordered_map<StringId, analysis::KernelDescription> known_;
};

/// Names of a run's ops, four bytes an op: they are numbered nearly without gaps.
class OpNames {
public:
    void read(const store::RunReader& reader, RunId run)
    {
        dense_.resize(static_cast<std::size_t>(reader.counts(run).ops) * 2);
        reader.eachOp({.run = run}, [this](const Op& op) {
            if (op.id && op.id.value < dense_.size())
                dense_[op.id.value] = op.name;
            else
                others_[op.id] = op.name;
            return true;
        });
    }
    StringId of(OpId op) const
    {
        if (op && op.value < dense_.size())
            return dense_[op.value];
        const auto found = others_.find(op);
        return found == others_.end() ? StringId{} : found->second;
    }

private:
    std::vector<StringId> dense_;
    std::unordered_map<OpId, StringId> others_;
};

/// Hands a file's records to `add` in start order without holding them all.
template <class Record, class Each, class Add> void eachInOrder(Each&& each, Add&& add)
{
    const auto startOf = [](const Record& record) { return record.start; };
    InOrder<Record, decltype(startOf)> inOrder(startOf);
    const auto take = [&add](std::span<const Record> records) {
        for (const Record& record : records)
            add(record);
    };
    each([&](const Record& record) {
        inOrder.add(record, take);
        return true;
    });
    inOrder.finish(take);
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
    PathSelection selection(query.rangeGlob, textOf);
    Descriptions descriptions(textOf);
    GroupKeys keys(table.grouping, textOf);
    OpNames opNames;
    if (table.grouping == Grouping::Op)
        opNames.read(reader, table.run.run);
    std::unordered_map<std::uint32_t, std::unordered_set<StringId>> names;
    std::unordered_map<std::uint32_t, DeviceEventKind> kinds;

    const auto keyOf = [&](const DeviceEvent& event) {
        switch (table.grouping) {
        case Grouping::Family:
            return keys.numberOf(wordOf(descriptions.of(event.name, event.kind).family));
        case Grouping::Range:
        case Grouping::Phase:
        case Grouping::Module:
            return keys.numberOf(event.path);
        case Grouping::Op:
            return keys.numberOf(opNames.of(event.op));
        default:
            return keys.numberOf(event.name);
        }
    };
    analysis::DeviceTotals sums;
    reader.eachDeviceEvent({.run = table.run.run}, [&](const DeviceEvent& event) {
        ++table.events;
        if (event.step == kNoStep)
            ++table.outsideSteps;
        else if (selection.has(event.path)) {
            const std::uint32_t key = keyOf(event);
            names[key].insert(event.name);
            kinds.try_emplace(key, event.kind);
            sums.add(key, event);
        }
        return true;
    });
    const std::vector<analysis::DeviceTotal> totals = sums.list();
    for (const analysis::DeviceTotal& total : totals)
        table.total += total.total;
    for (const analysis::DeviceTotal& total : totals) {
        KernelRow row{.key = keys.key(total.group), .shortName = {}, .family = {}, .does = {}};
        if (table.grouping == Grouping::Name) {
            const analysis::KernelDescription& description =
                descriptions.of(*names.at(total.group).begin(), kinds.at(total.group));
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
    PathSelection selection(query.rangeGlob, textOf);
    GroupKeys keys(table.grouping, textOf);
    analysis::OpTotals sums;
    eachInOrder<Op>([&](auto&& take) { reader.eachOp({.run = table.run.run}, take); },
                    [&](const Op& op) {
                        ++table.events;
                        std::optional<std::uint32_t> group;
                        if (op.step != kNoStep && selection.has(op.path))
                            group = keys.numberOf(table.grouping == Grouping::Name ? op.name : op.path);
                        sums.add(op, group);
                    });
    const std::vector<analysis::OpTotal> totals = sums.finish();
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
    analysis::RangeTotals sums(textOf);
    GroupKeys modules(Grouping::Module, textOf);
    const std::uint32_t none = modules.numberOf(kUnattributed);
    eachInOrder<Range>([&](auto&& take) { reader.eachRange(window, take); },
                       [&](const Range& range) { sums.add(range); });
    eachInOrder<Op>([&](auto&& take) { reader.eachOp(window, take); }, [&](const Op& op) { sums.add(op); });
    eachInOrder<DeviceEvent>([&](auto&& take) { reader.eachDeviceEvent(window, take); },
                             [&](const DeviceEvent& event) {
                                 table.hasGpu = true;
                                 sums.add(event);
                                 if (event.step == kNoStep)
                                     return;
                                 table.gpu += event.end - event.start;
                                 if (modules.numberOf(event.path) != none)
                                     table.gpuInModules += event.end - event.start;
                             });
    table.rows = sums.list();
    if (!query.rangeGlob.empty()) {
        const analysis::PathGlob glob(query.rangeGlob);
        std::erase_if(table.rows,
                      [&glob](const analysis::RangeTotal& row) { return !glob.matches(row.path); });
    }
    return table;
}

} // namespace tilescope::query
