#include "core/exchange/import/recording/recorded_samples.h"

#include "core/analysis/kernels/kernel_name.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace tilescope::exchange {

namespace {

bool matches(const std::string& glob, const std::string& name, const std::string& symbol)
{
    const std::string readable = analysis::readableKernelName(name);
    const analysis::KernelName parts = analysis::parseKernelName(readable);
    return std::ranges::any_of(
        std::array{name, readable, std::string(parts.qualified), std::string(parts.root), symbol},
        [&glob](const std::string& each) { return fnmatch(glob.c_str(), each.c_str(), 0) == 0; });
}

} // namespace

std::uint32_t RecordedSamples::reasonOf(std::string_view name)
{
    const auto known = std::ranges::find(reasons_, name);
    const auto index = static_cast<std::uint32_t>(known - reasons_.begin());
    if (known == reasons_.end())
        reasons_.emplace_back(name);
    return index;
}

std::int64_t RecordedSamples::add(record::WorkingBlock& block, const TextOf& text)
{
    for (const record::SampledKernelRow& row : block.sampledKernels) {
        kernels_.push_back(row);
        names_.emplace_back(text(row.name), text(row.symbol));
    }
    std::int64_t wrong = 0;
    std::map<std::uint32_t, std::uint32_t> reasons;
    for (const record::PcSampleRow& row : block.pcSamples) {
        if (row.kernel >= kernels_.size() || row.samples < 0 || row.unissued < 0 ||
            row.offset > std::numeric_limits<std::uint32_t>::max()) {
            ++wrong;
            continue;
        }
        const auto [reason, isNew] = reasons.try_emplace(row.reason, 0);
        if (isNew)
            reason->second = reasonOf(text(row.reason));
        Count& count = counts_[{row.kernel, row.offset}][reason->second];
        count.samples += row.samples;
        count.unissued += row.unissued;
    }
    for (record::Cubin& cubin : block.cubins)
        code_.push_back({.cubin = cubin.checksum, .code = std::move(cubin.code)});
    return wrong;
}

KernelSamples RecordedSamples::take(const std::string& kernels,
                                    const std::function<DeviceIndex(std::int32_t)>& device)
{
    KernelSamples all{.reasons = std::move(reasons_)};
    constexpr std::uint32_t kNone = ~0U;
    std::vector<std::uint32_t> numbers(kernels_.size(), kNone);
    std::set<std::uint64_t> modules;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        const auto& [name, symbol] = names_[i];
        if (!kernels.empty() && !matches(kernels, name, symbol))
            continue;
        numbers[i] = static_cast<std::uint32_t>(all.kernels.size());
        all.kernels.push_back({.device = device(kernels_[i].device),
                               .name = name,
                               .symbol = symbol,
                               .cubin = kernels_[i].cubin});
        modules.insert(kernels_[i].cubin);
    }
    for (const auto& [instruction, counts] : counts_) {
        const auto& [kernel, offset] = instruction;
        if (numbers[kernel] == kNone)
            continue;
        const auto number = static_cast<std::uint32_t>(all.instructions.size());
        all.instructions.push_back({.kernel = numbers[kernel], .offset = offset});
        for (const auto& [reason, count] : counts)
            all.stalls.push_back({.instruction = number,
                                  .reason = reason,
                                  .samples = count.samples,
                                  .unissued = std::min(count.unissued, count.samples)});
    }
    for (KernelCode& code : code_)
        if (modules.contains(code.cubin))
            all.code.push_back(std::move(code));
    return all;
}

} // namespace tilescope::exchange
