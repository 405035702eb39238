#include "core/query/kernels/kernel_metrics.h"

#include "core/model/metric.h"
#include "core/query/kernels/metrics_table.h"

#include <string>
#include <unordered_map>

namespace tilescope::query {

void addMetrics(const store::RunReader& reader, const KernelQuery& query, KernelsTable& table,
                const std::function<bool()>& cancelled)
{
    const bool isByName = query.grouping == Grouping::Name;
    if ((!isByName && query.grouping != Grouping::Family) || query.span || !query.rangeGlob.empty() ||
        !query.range.empty())
        return;
    const MetricsTable sampled = metrics(reader,
                                         {.run = query.run,
                                          .topology = query.topology,
                                          .step = query.step,
                                          .group = isByName ? MetricsGroup::Kernel : MetricsGroup::Family},
                                         cancelled);
    const auto tensor = sampled.find(kTensorActive);
    if (sampled.rows.empty())
        return;
    // Without the work of ops, the names of kernels tell their precision.
    if (!table.ceilings.measured.flops && !table.ceilings.sheet.flops)
        table.ceilings = sampled.ceilings;
    std::unordered_map<std::string, const MetricsRow*> rows;
    for (const MetricsRow& row : sampled.rows)
        rows.emplace(isByName ? row.kernel : row.family, &row);
    for (KernelRow& row : table.rows) {
        const auto found = rows.find(row.key);
        if (found == rows.end())
            continue;
        row.tensorRate = found->second->tensorRate;
        row.dramBytes = found->second->dramBytes;
        if (tensor && !row.tensorActive)
            row.tensorActive = found->second->values[*tensor].mean;
        if (row.tensorActive)
            table.whyNoTensor.clear();
    }
}

} // namespace tilescope::query
