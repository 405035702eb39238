#pragma once

#include "core/model/kernel_samples.h"
#include "core/model/run.h"

#include <memory>
#include <string>
#include <vector>

namespace tilescope::trace {

class CuptiApi;
class CuptiSession;
class PcSampler;

/// Samples the instructions of this process's kernels while some of its steps run. The machine code of the kernels, without
/// which samples have no lines, is that of the modules which are loaded while it watches: it begins with that.
///
/// One thread calls it. While it watches, CUPTI has its subscriber, so that no CuptiSession can be started.
class KernelSampler {
public:
    /// Begins to watch the modules. Call it before the kernels of interest are launched for the first time.
    explicit KernelSampler(CuptiApi& api);
    ~KernelSampler();
    KernelSampler(const KernelSampler&) = delete;
    KernelSampler& operator=(const KernelSampler&) = delete;

    /// Takes CUPTI out of the process, which makes launches faster.
    void endWatch();
    /// Samples the kernels of the current context from now on. Call it after endWatch().
    void start();
    /// Ends that. The device is idle.
    void stop();

    struct Result {
        KernelSamples samples = {};
        std::vector<EnvironmentEntry> facts = {}; ///< of the run
        std::string trouble = {}; ///< why samples are missing, in one sentence; empty: none are
    };
    /// What was sampled, once; after stop().
    Result take();

private:
    CuptiApi& api_;
    std::string refusal_; ///< why nothing is sampled
    std::unique_ptr<PcSampler> sampler_;
    std::unique_ptr<CuptiSession> watch_; ///< uses sampler_
};

/// With the CUPTI that LibTorch itself links.
std::unique_ptr<KernelSampler> makeKernelSampler();

} // namespace tilescope::trace
