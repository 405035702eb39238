#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tilescope::trace {

/// The part of CUPTI's range profiler that reading counters uses, so that tests can replace it on machines
/// without a GPU. Every kernel is a separate range, in launch order. Session thread, CUDA initialised.
///
/// Members return a sentence if they fail; empty on success.
class CounterApi {
public:
    virtual ~CounterApi() = default;

    /// Prepares to read these metrics of a step of that many kernels. CUPTI must be in the process already:
    /// once it has been finalized, its profiler alone does not bring it back. close() must follow, whatever
    /// this returned.
    virtual std::string open(const std::vector<std::string>& metrics, std::size_t kernels) = 0;
    /// A pass begins, before the step runs.
    virtual std::string beginPass() = 0;
    /// Ends the pass. The device must be idle.
    /// \param complete  whether that was the last that the metrics need
    virtual std::string endPass(bool& complete) = 0;
    /// Values of every kernel in order, each of all metrics.
    virtual std::string read(std::vector<std::vector<double>>& kernels) = 0;
    /// Takes CUPTI out of the process.
    virtual void close() = 0;
};

/// The range profiler of the CUPTI that LibTorch itself links.
CounterApi& realCounters();

} // namespace tilescope::trace
