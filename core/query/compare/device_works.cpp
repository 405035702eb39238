#include "core/query/compare/device_works.h"

namespace tilescope::query {

using analysis::DeviceWork;

DeviceWorks::DeviceWorks(const store::RunReader& reader, RunId run) : kernels_(reader, run)
{
    for (const Collective& record : reader.collectives(run))
        collectives_.insert(record.correlation);
}

DeviceWork DeviceWorks::of(const DeviceEvent& event)
{
    if (event.kind != DeviceEventKind::Kernel)
        return analysis::workOfCopy(event.copy);
    if (collectives_.has(event.correlation))
        return DeviceWork::Communication;
    return kernels_.familyOf(event) == analysis::KernelFamily::Collective ? DeviceWork::Communication
                                                                          : DeviceWork::Compute;
}

} // namespace tilescope::query
