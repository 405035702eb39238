#include "core/query/work/link_rate.h"

#include "core/analysis/work/device_sheets.h"
#include "core/base/number_text.h"
#include "core/model/ceilings.h"
#include "core/model/environment_facts.h"
#include "core/query/runs/run_device.h"

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
    const auto nvlink = parseNumber<double>(factOf(reader.environment(run.run), "gpu.nvlink"));
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
