#include "core/query/runs/traced_pieces.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/op_families.h"
#include "core/analysis/work/op_totals.h"
#include "core/query/runs/selection.h"

#include <set>
#include <unordered_map>

namespace tilescope::query {

TracedPieces tracedPieces(const store::RunReader& reader, RunId run, const PartyQuery& parties)
{
    TracedPieces traced;
    const PartyFilter filter(reader, run, parties);
    std::vector<DeviceEvent> device = reader.deviceEvents({.run = run});
    std::vector<Op> ops = reader.ops({.run = run});
    std::erase_if(device, [&](const DeviceEvent& event) { return !filter.has(event); });
    std::erase_if(ops, [&](const Op& op) { return !filter.has(op.thread); });
    traced.onGpu = !device.empty();
    std::set<std::int32_t> steps;
    const auto place = [&reader](StringId path) {
        return path ? analysis::fromStepDown(reader.text(path)) : std::string_view{};
    };
    std::unordered_map<OpId, StringId> opNames;
    for (const Op& op : ops)
        opNames.emplace(op.id, op.name);
    std::unordered_map<StringId, analysis::KernelDescription> described;
    for (const DeviceEvent& event : device) {
        if (event.step == kNoStep)
            continue;
        steps.insert(event.step);
        const auto [description, isNew] = described.try_emplace(event.name);
        if (isNew)
            description->second =
                analysis::KernelFamilies::standard().describe(reader.text(event.name), event.kind);
        const auto op = opNames.find(event.op);
        const std::string_view path = place(event.path);
        traced.pieces.push_back({path, analysis::phaseOf(path),
                                 op == opNames.end() ? std::string_view{} : reader.text(op->second),
                                 description->second.shortName, description->second.does,
                                 description->second.family, event.end - event.start});
    }
    if (!traced.onGpu) {
        const std::vector<Nanoseconds> self = analysis::selfTimes(ops);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (ops[i].step == kNoStep)
                continue;
            steps.insert(ops[i].step);
            const std::string_view name = reader.text(ops[i].name);
            const std::string_view path = place(ops[i].path);
            traced.pieces.push_back({path,
                                     analysis::phaseOf(path),
                                     name,
                                     std::string(name),
                                     {},
                                     analysis::familyOfOp(name),
                                     self[i]});
        }
    }
    traced.steps = static_cast<std::int64_t>(steps.size());
    return traced;
}

} // namespace tilescope::query
