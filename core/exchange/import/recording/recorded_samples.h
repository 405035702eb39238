#pragma once

#include "core/model/kernel_samples.h"
#include "core/record/working_file.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// Adds up the samples of kernels in the blocks of one process.
class RecordedSamples {
public:
    using TextOf = std::function<std::string_view(std::uint32_t string)>;

    /// \return  the number of rows that cannot be right; they are left out
    std::int64_t add(record::WorkingBlock& block, const TextOf& text);
    bool empty() const { return counts_.empty(); }
    /// The samples, once.
    /// \param kernels  a glob: only kernels whose name, with or without its namespaces and arguments, matches
    /// \param device   the index of a device of the process, by CUDA's number
    KernelSamples take(const std::string& kernels, const std::function<DeviceIndex(std::int32_t)>& device);

private:
    struct Count {
        std::int64_t samples = 0;
        std::int64_t unissued = 0;
    };
    using Instruction = std::pair<std::uint32_t, std::uint64_t>; ///< kernel and offset

    std::uint32_t reasonOf(std::string_view name);

    std::vector<record::SampledKernelRow> kernels_;
    std::vector<std::pair<std::string, std::string>> names_; ///< name and symbol of each kernel
    std::vector<std::string> reasons_;
    std::map<Instruction, std::map<std::uint32_t, Count>> counts_;
    std::vector<KernelCode> code_;
};

} // namespace tilescope::exchange
