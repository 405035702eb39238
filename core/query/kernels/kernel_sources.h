#pragma once

#include "core/model/kernel_samples.h"
#include "core/store/run_reader.h"

#include <map>
#include <string>
#include <vector>

namespace tilescope::query {

/// The text of a file that sampled kernels were compiled from.
struct KernelSourceFile {
    std::vector<std::string> lines = {}; ///< as the file had them when the kernels were recorded
    bool isRecorded = false;             ///< the recording holds the text (--sources)
    bool isOnDisk = false;               ///< the file on this machine is the same
    std::string why = {};                ///< why there is no text, as a sentence; then `lines` is empty

    /// A line counted from 1; empty: unknown.
    std::string line(std::uint32_t number) const;
};

/// The files of a run's sampled kernels by their names, with the text that the recording holds, or that of the file on this
/// machine if its checksum is that of the recording.
std::map<std::string, KernelSourceFile> kernelSources(const store::RunReader& reader, RunId run);

} // namespace tilescope::query
