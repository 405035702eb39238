#pragma once

#include "core/model/kernel_samples.h"

namespace tilescope::analysis {

/// Adds samples of another process of the run.
void append(KernelSamples& all, KernelSamples&& part);

struct SampleCompletion {
    bool keepsCode = true;     ///< the file may hold the machine code of sampled kernels
    bool readsSources = true;  ///< the processes ran on this machine, so that its files are theirs
    bool keepsSources = false; ///< the file may hold the text of source files, not only their digests
};

/// Makes what was sampled ready for the file: source lines, the texts of instructions if nvdisasm is found, digests of source
/// files. Of the machine code at most 16 MiB are kept, that of the most sampled modules first; of source files at most 1 MiB
/// each. Takes 20 s at most. Any thread.
void completeKernelSamples(KernelSamples& samples, const SampleCompletion& how);

} // namespace tilescope::analysis
