#pragma once

#include "core/model/kernel_sample_sums.h"
#include "core/record/working_file.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// Adds up the samples of kernels in the blocks of one process.
class RecordedSamples {
public:
    using TextOf = std::function<std::string_view(std::uint32_t string)>;

    /// \return  the number of rows that cannot be right; they are left out
    std::int64_t add(record::WorkingBlock& block, const TextOf& text);
    bool empty() const { return sums_.empty(); }
    /// The samples, once.
    /// \param kernels  a glob: only kernels whose name, with or without its namespaces and arguments, matches
    /// \param device   the index of a device of the process, by CUDA's number
    KernelSamples take(const std::string& kernels, const std::function<DeviceIndex(std::int32_t)>& device);

private:
    KernelSampleSums sums_; ///< whose kernels have CUDA's numbers of devices
};

} // namespace tilescope::exchange
