#include "core/model/kernel_sample_sums.h"

#include <algorithm>
#include <set>

namespace tilescope {

std::uint32_t KernelSampleSums::addKernel(SampledKernel kernel)
{
    kernels_.push_back(std::move(kernel));
    return static_cast<std::uint32_t>(kernels_.size() - 1);
}

std::uint32_t KernelSampleSums::reasonOf(std::string_view name)
{
    const auto known = std::ranges::find(reasons_, name);
    const auto index = static_cast<std::uint32_t>(known - reasons_.begin());
    if (known == reasons_.end())
        reasons_.emplace_back(name);
    return index;
}

void KernelSampleSums::add(std::uint32_t kernel, std::uint64_t offset, std::uint32_t reason,
                           std::int64_t samples, std::int64_t unissued, Timestamp start, Timestamp end)
{
    Count& count = counts_[{kernel, offset}][{reason, start, end}];
    count.samples += samples;
    count.unissued += unissued;
}

KernelSamples KernelSampleSums::take()
{
    return take([](const SampledKernel&) { return true; });
}

KernelSamples KernelSampleSums::take(const std::function<bool(const SampledKernel&)>& keeps)
{
    KernelSamples all{.reasons = std::move(reasons_)};
    constexpr std::uint32_t kNone = ~0U;
    std::vector<std::uint32_t> numbers(kernels_.size(), kNone);
    std::set<std::uint64_t> modules;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (!keeps(kernels_[i]))
            continue;
        numbers[i] = static_cast<std::uint32_t>(all.kernels.size());
        modules.insert(kernels_[i].cubin);
        all.kernels.push_back(std::move(kernels_[i]));
    }
    for (const auto& [instruction, counts] : counts_) {
        const auto& [kernel, offset] = instruction;
        if (numbers[kernel] == kNone)
            continue;
        const auto number = static_cast<std::uint32_t>(all.instructions.size());
        all.instructions.push_back({.kernel = numbers[kernel], .offset = offset});
        for (const auto& [kind, count] : counts) {
            const auto& [reason, start, end] = kind;
            all.stalls.push_back({.instruction = number,
                                  .reason = reason,
                                  .samples = count.samples,
                                  .unissued = std::min(count.unissued, count.samples),
                                  .start = start,
                                  .end = end});
        }
    }
    for (KernelCode& code : code_)
        if (modules.contains(code.cubin))
            all.code.push_back(std::move(code));
    kernels_.clear();
    reasons_.clear();
    counts_.clear();
    code_.clear();
    return all;
}

} // namespace tilescope
