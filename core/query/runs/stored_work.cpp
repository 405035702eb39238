#include "core/query/runs/stored_work.h"

#include "core/store/tracks/call_totals.h"

#include <algorithm>

namespace tilescope::query {

namespace {

OpId idOf(std::uint32_t op)
{
    return op == store::kNoOpCall ? OpId{} : OpId{op};
}

/// Converts totals to the ops and device events that they represent.
struct StandIns {
    std::vector<Op> ops;
    std::vector<OpId> first;
    std::vector<std::int64_t> calls;
    std::vector<std::int64_t> launching;
    std::vector<DeviceEvent> device;
    std::vector<std::int64_t> activities;

    void add(const store::OpCallTotal& total)
    {
        Op op;
        op.id = OpId{static_cast<std::uint32_t>(ops.size())};
        op.parent = idOf(total.caller);
        op.name = total.name;
        op.shapes = total.shapes;
        op.path = total.path;
        op.step = total.isTraced ? 0 : kNoStep;
        ops.push_back(op);
        first.push_back(total.first);
        calls.push_back(total.calls);
        launching.push_back(total.launching);
    }

    void add(const store::ActivityTotal& total)
    {
        DeviceEvent event;
        event.kind = total.kind;
        event.name = total.name;
        event.path = total.path;
        event.op = idOf(total.op);
        event.step = total.isTraced ? 0 : kNoStep;
        event.correlation = CorrelationId{static_cast<std::uint32_t>(device.size()) + 1};
        event.graphNode = total.isReplayed ? 1 : 0;
        event.launched = total.isLaunched ? timestampAt(1) : Timestamp{};
        event.start = timestampAt(1);
        event.end = timestampAt(1 + total.total);
        device.push_back(event);
        activities.push_back(total.instances);
    }
};

} // namespace

std::optional<std::vector<analysis::TimedWork>> storedWork(const store::RunReader& reader, RunId run,
                                                           const analysis::TextOf& textOf,
                                                           const analysis::FamilyOf& familyOf,
                                                           const analysis::WorkContext& context,
                                                           analysis::WorkScope scope)
{
    const std::optional<store::CallTotals> totals = reader.callTotals(run);
    if (!totals || !totals->countsWork || totals->activities.empty() ||
        std::ranges::none_of(totals->ops, [](const auto& op) { return bool(op.shapes); }))
        return {};
    StandIns all;
    for (const store::OpCallTotal& total : totals->ops)
        all.add(total);
    for (const store::ActivityTotal& total : totals->activities)
        all.add(total);
    return analysis::timedWorkOfSums(
        all.ops, all.device,
        {.first = all.first, .calls = all.calls, .launching = all.launching, .activities = all.activities},
        textOf, familyOf, context, scope);
}

} // namespace tilescope::query
