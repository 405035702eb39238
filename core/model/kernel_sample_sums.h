#pragma once

#include "core/base/units.h"
#include "core/model/kernel_samples.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tilescope {

/// Adds up samples of kernels by instruction, stall reason and the time in which they were read. One thread at a time.
class KernelSampleSums {
public:
    /// Numbers kernels from 0.
    std::uint32_t addKernel(SampledKernel kernel);
    std::size_t kernelCount() const { return kernels_.size(); }
    /// The number of a stall reason, by its name: `long_scoreboard`.
    std::uint32_t reasonOf(std::string_view name);
    /// \param kernel  from addKernel()
    /// \param reason  from reasonOf()
    /// \param start   of the time in which they were read, until \p end; equal: unknown
    void add(std::uint32_t kernel, std::uint64_t offset, std::uint32_t reason, std::int64_t samples,
             std::int64_t unissued, Timestamp start = {}, Timestamp end = {});
    void addCode(KernelCode code) { code_.push_back(std::move(code)); }
    bool empty() const { return counts_.empty(); }

    /// What was added, once: sums by kernel, offset, reason and time, without lines and texts.
    /// \param keeps  says which kernels are kept; the code of modules without one is left out
    KernelSamples take(const std::function<bool(const SampledKernel&)>& keeps);
    KernelSamples take();

private:
    struct Count {
        std::int64_t samples = 0;
        std::int64_t unissued = 0;
    };
    using Instruction = std::pair<std::uint32_t, std::uint64_t>;  ///< kernel and offset
    using Kind = std::tuple<std::uint32_t, Timestamp, Timestamp>; ///< reason, start and end

    std::vector<SampledKernel> kernels_;
    std::vector<std::string> reasons_;
    std::map<Instruction, std::map<Kind, Count>> counts_;
    std::vector<KernelCode> code_;
};

} // namespace tilescope
