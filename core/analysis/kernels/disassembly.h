#pragma once

#include "core/model/kernel_samples.h"

#include <chrono>
#include <filesystem>

namespace tilescope::analysis {

/// nvdisasm: of PATH, of a CUDA toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda), or of the wheels of Triton and CUDA in the
/// Python that is found in PATH or active (VIRTUAL_ENV, CONDA_PREFIX). Empty if there is none.
std::filesystem::path findNvdisasm();

/// Fills in the source lines of instructions from the line tables of the kernels' code.
void addLines(KernelSamples& samples);

/// Fills in the texts of instructions that have none, by running nvdisasm on the kernels' code. Any thread.
/// \param longest  for all of them together; what takes longer stays without text
/// \return         whether all instructions whose code is there have a text now
bool addInstructions(KernelSamples& samples, const std::filesystem::path& nvdisasm,
                     std::chrono::milliseconds longest);

} // namespace tilescope::analysis
