#include "core/query/tables/link_rate.h"

#include "core/analysis/work/device_sheets.h"
#include "core/base/number_text.h"
#include "core/model/ceilings.h"
#include "core/query/runs/run_device.h"

#include <algorithm>

namespace tilescope::query {

std::optional<LinkRate> linkRateOf(const store::RunReader& reader, const store::RunRecord& run)
{
    const std::string name = deviceOfRun(reader, run).name;
    LinkRate link;
    std::int64_t latest = 0;
    for (const Ceiling& ceiling : reader.ceilings())
        if (ceiling.kind == kPeerCopy && ceiling.deviceName == name && ceiling.measuredUnixNs >= latest) {
            latest = ceiling.measuredUnixNs;
            link.copied = ceiling.value;
        }
    const analysis::DeviceSheet* const sheet = analysis::DeviceSheets::standard().find(name);
    const std::vector<EnvironmentEntry> facts = reader.environment(run.run);
    const auto fact = std::ranges::find(facts, "gpu.nvlink", &EnvironmentEntry::key);
    const auto nvlink = fact == facts.end() ? std::nullopt : parseNumber<double>(fact->value);
    if (nvlink && *nvlink > 0) {
        link.bytesPerSecond = *nvlink;
        link.source = "NVLink by NVML";
    } else if (sheet && sheet->link) {
        link.bytesPerSecond = *sheet->link;
        link.source = "data sheet of " + sheet->name;
    } else if (link.copied) {
        link.bytesPerSecond = *link.copied;
        link.source = "measured copy between two GPUs";
    } else {
        return {};
    }
    return link;
}

} // namespace tilescope::query
