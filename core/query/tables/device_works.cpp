#include "core/query/tables/device_works.h"

#include "core/analysis/kernels/kernel_families.h"

namespace tilescope::query {

using analysis::DeviceWork;

DeviceWorks::DeviceWorks(const store::RunReader& reader, RunId run) : reader_(reader)
{
    for (const Collective& record : reader.collectives(run))
        if (record.correlation)
            collectives_.insert(record.correlation);
}

DeviceWork DeviceWorks::of(const DeviceEvent& event)
{
    if (event.kind != DeviceEventKind::Kernel)
        return analysis::workOfCopy(event.copy);
    if (!collectives_.empty() && collectives_.contains(event.correlation))
        return DeviceWork::Communication;
    const auto [known, isNew] = names_.try_emplace(event.name, DeviceWork::Compute);
    if (isNew && analysis::KernelFamilies::standard().describe(reader_.text(event.name), event.kind).family ==
                     analysis::KernelFamily::Collective)
        known->second = DeviceWork::Communication;
    return known->second;
}

} // namespace tilescope::query
