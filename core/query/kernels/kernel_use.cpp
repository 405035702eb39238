#include "core/query/kernels/kernel_use.h"

#include "core/model/metric.h"
#include "core/query/kernels/metrics_table.h"

#include <string_view>

namespace tilescope::query {

namespace {

constexpr double kPercent = 100;

} // namespace

KernelUses kernelUses(const store::RunReader& reader, RunId run, const ProcessQuery& topology,
                      const std::function<bool()>& cancelled)
{
    KernelUses uses;
    const MetricsTable sampled = metrics(reader, {.run = run, .topology = topology}, cancelled);
    uses.hasMetrics = !sampled.rows.empty();
    const auto read = sampled.find(kDramRead);
    const auto write = sampled.find(kDramWrite);
    const auto tensor = sampled.find(kTensorActive);
    for (const MetricsRow& row : sampled.rows) {
        KernelUse& use = uses.kernels[row.kernel];
        use.opBytes = row.opBytes;
        use.dramBytes = row.dramBytes;
        if (tensor && row.values[*tensor].mean)
            use.tensorActive = *row.values[*tensor].mean / kPercent;
        if (!read || !write)
            continue;
        const MetricValue& in = row.values[*read];
        const MetricValue& out = row.values[*write];
        if (in.mean && out.mean)
            use.dramActive = (*in.mean + *out.mean) / kPercent;
    }
    for (auto& [kernel, stall] : kernelStalls(reader, run)) {
        uses.kernels[kernel].stall = std::move(stall);
        uses.hasSamples = true;
    }
    return uses;
}

} // namespace tilescope::query
