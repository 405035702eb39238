#pragma once

#include "core/model/kernel_samples.h"
#include "core/store/run_reader.h"

#include <map>
#include <string>

namespace tilescope::query {

/// What leaves most of a kernel's issue slots empty.
struct KernelStall {
    std::string reason = {}; ///< as analysis::stallReason() takes it
    SourceLine line =
        {}; ///< with most of these empty slots; of an inlined function, the kernel's own line. No line: unknown
    double share = 0;  ///< of the kernel's issue slots: empty at a sample with this reason
    double issued = 0; ///< of them: used
};

/// The stalls of a run's sampled kernels, by their names as of DeviceEvent; empty if the run has no samples.
std::map<std::string, KernelStall> kernelStalls(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
