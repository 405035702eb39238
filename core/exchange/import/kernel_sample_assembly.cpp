#include "core/exchange/import/kernel_sample_assembly.h"

#include "core/analysis/kernels/sample_completion.h"
#include "core/base/this_host.h"

#include <algorithm>
#include <utility>

namespace tilescope::exchange {

namespace {

/// Whether the processes ran on this machine, so that its files are theirs.
bool isOfThisHost(const ForeignTrace& trace)
{
    return std::ranges::all_of(trace.topology.processes,
                               [here = hostName()](const TracedProcess& each) { return each.host == here; });
}

} // namespace

KernelSamples assembleKernelSamples(ForeignTrace& trace)
{
    KernelSamples all;
    for (auto& [process, samples] : trace.kernelSamples) {
        for (SampledKernel& kernel : samples.kernels) {
            kernel.process = trace.topology.processes.size() < 2 ? ProcessIndex{} : process;
            if (kernel.device)
                kernel.device = trace.devices[static_cast<std::size_t>(kernel.device.value)].number;
        }
        analysis::append(all, std::move(samples));
    }
    analysis::completeKernelSamples(all, {.keepsCode = trace.keepsKernelCode,
                                          .readsSources = isOfThisHost(trace),
                                          .keepsSources = trace.keepsSources});
    return all;
}

} // namespace tilescope::exchange
