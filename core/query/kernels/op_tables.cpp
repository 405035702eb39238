#include "core/query/kernels/op_tables.h"

#include "core/analysis/work/op_families.h"
#include "core/analysis/work/op_totals.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/step_paths.h"

namespace tilescope::query {

namespace {

using analysis::TextOf;

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

/// Reads ranges up to the first one of a step.
bool hasSteps(const store::RunReader& reader, RunId run)
{
    StepPaths paths(reader);
    bool found = false;
    reader.eachRange({.run = run}, [&](const Range& range) {
        found = paths.isStep(range);
        return !found;
    });
    return found;
}

} // namespace

OpsTable ops(const store::RunReader& reader, const EventQuery& query, const std::optional<TimeSpan>& span)
{
    OpsTable table{.run = chooseRun(reader, query.run), .span = span, .rows = {}};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    const TextOf textOf = textsOf(reader);
    PathSelection selection(query.rangeGlob, textOf);
    GroupKeys keys(table.grouping, textOf);
    analysis::OpTotals sums;
    const bool all = span || table.run.coversRecording();
    const ProcessFilter filter(reader, table.run.run, query.topology);
    const store::EventWindow window = windowOf(reader, table.run.run, span);
    eachInOrder<Op>([&](auto&& take) { reader.eachOp(window, take); },
                    [&](Op op) {
                        ++table.events;
                        clip(op, window);
                        std::optional<std::uint32_t> group;
                        if ((all || op.step != kNoStep) && filter.has(op.thread) && selection.has(op.path))
                            group = keys.numberOf(table.grouping == Grouping::Name ? op.name : op.path);
                        sums.add(op, group);
                    });
    const std::vector<analysis::OpTotal> totals = sums.finish();
    Nanoseconds self{0};
    for (const analysis::OpTotal& total : totals)
        self += total.self;
    for (const analysis::OpTotal& total : totals)
        table.rows.push_back({.key = keys.key(total.group),
                              .family = analysis::familyOfOp(keys.key(total.group)),
                              .instances = total.instances,
                              .total = total.self,
                              .withCalls = total.total,
                              .hasRange = false,
                              .percent = percentOf(total.self, self)});
    return table;
}

RangesTable ranges(const store::RunReader& reader, const EventQuery& query,
                   const std::optional<TimeSpan>& span)
{
    RangesTable table{.run = chooseRun(reader, query.run), .span = span, .rows = {}};
    const TextOf textOf = textsOf(reader);
    const store::EventWindow window = windowOf(reader, table.run.run, span);
    if (table.run.coversRecording() && !hasSteps(reader, table.run.run))
        table.scope = analysis::RangeScope::Recording;
    analysis::RangeTotals sums(textOf, table.scope);
    const ProcessFilter filter(reader, table.run.run, query.topology);
    GroupKeys modules(Grouping::Module, textOf);
    const std::uint32_t none = modules.numberOf(kUnattributed);
    eachInOrder<Range>([&](auto&& take) { reader.eachRange(window, take); },
                       [&](Range range) {
                           clip(range, window);
                           if (filter.has(range.thread))
                               sums.add(range);
                       });
    eachInOrder<Op>([&](auto&& take) { reader.eachOp(window, take); },
                    [&](Op op) {
                        clip(op, window);
                        if (filter.has(op.thread))
                            sums.add(op);
                    });
    eachInOrder<DeviceEvent>([&](auto&& take) { reader.eachDeviceEvent(window, take); },
                             [&](DeviceEvent event) {
                                 clip(event, window);
                                 if (!filter.has(event))
                                     return;
                                 table.hasGpu = true;
                                 sums.add(event);
                                 if (event.step == kNoStep)
                                     return;
                                 table.gpu += event.end - event.start;
                                 if (modules.numberOf(event.path) != none)
                                     table.gpuInModules += event.end - event.start;
                             });
    table.rows = sums.list();
    table.paths = table.rows.size();
    if (!query.rangeGlob.empty()) {
        const analysis::PathGlob glob(query.rangeGlob);
        std::erase_if(table.rows,
                      [&glob](const analysis::RangeTotal& row) { return !glob.matches(row.path); });
    }
    return table;
}

} // namespace tilescope::query
