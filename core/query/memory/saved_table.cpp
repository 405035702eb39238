#include "core/query/memory/saved_table.h"

#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

namespace {

/// The key under which a total counts a tensor.
std::string savedKey(Grouping grouping, std::string_view path)
{
    const std::string_view module = analysis::moduleOf(path);
    const std::string_view key = grouping == Grouping::Range   ? analysis::fromStepDown(path)
                                 : grouping == Grouping::Phase ? analysis::phaseOf(path)
                                 : grouping == Grouping::Layer ? module.substr(0, module.find('/'))
                                                               : module;
    if (!key.empty())
        return std::string(key);
    // The loss is a phase without modules.
    const std::string_view phase = analysis::phaseOf(path);
    return std::string(phase.empty() ? kUnattributed : phase);
}

} // namespace

SavedTable saved(const store::RunReader& reader, const EventQuery& query)
{
    SavedTable table{.run = chooseRun(reader, query.run)};
    table.grouping = query.grouping;
    if (const auto span = reader.span(table.run.run))
        table.origin = span->first;
    std::optional<analysis::PathGlob> glob;
    if (!query.rangeGlob.empty())
        glob.emplace(query.rangeGlob);
    std::unordered_map<std::string, std::size_t> totals;
    std::int64_t number = 0;
    MemoryFacts facts = reader.memory(table.run.run);
    table.residual = residualStream(table.run, facts.saved);
    for (SavedTensor& tensor : facts.saved) {
        const std::int64_t own = number++;
        if (glob && !glob->contains(analysis::fromStepDown(tensor.path)))
            continue;
        const auto [place, isNew] =
            totals.emplace(savedKey(query.grouping, tensor.path), table.totals.size());
        if (isNew)
            table.totals.push_back({.path = place->first});
        SavedTotal& total = table.totals[place->second];
        ++total.tensors;
        if (!tensor.sharedWith) {
            const bool only = tensor.category == MemoryCategory::Activations;
            (only ? total.activations : total.others) += Bytes{tensor.storageBytes};
            (only ? table.activations : table.others) += Bytes{tensor.storageBytes};
        }
        table.rows.push_back({own, std::move(tensor)});
    }
    return table;
}

} // namespace tilescope::query
