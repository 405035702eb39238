#pragma once

#include "core/analysis/time/busy_parts.h"
#include "core/query/runs/correlation_set.h"
#include "core/query/runs/run_kernels.h"

namespace tilescope::query {

/// Determines the kind of work of a run's device events. One thread.
class DeviceWorks {
public:
    /// \param reader  must outlive this object
    DeviceWorks(const store::RunReader& reader, RunId run);

    analysis::DeviceWork of(const DeviceEvent& event);

private:
    RunKernels kernels_;
    CorrelationSet collectives_; ///< of their kernels
};

} // namespace tilescope::query
