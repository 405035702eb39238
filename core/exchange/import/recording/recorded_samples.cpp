#include "core/exchange/import/recording/recorded_samples.h"

#include "core/analysis/kernels/kernel_name.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>

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

std::int64_t RecordedSamples::add(record::WorkingBlock& block, const TextOf& text)
{
    std::int64_t wrong = 0;
    for (const record::SampledKernelRow& row : block.sampledKernels)
        sums_.addKernel({.device = DeviceIndex{static_cast<std::int16_t>(row.device)},
                         .name = std::string(text(row.name)),
                         .symbol = std::string(text(row.symbol)),
                         .cubin = row.cubin});
    std::map<std::uint32_t, std::uint32_t> reasons;
    for (const record::PcSampleRow& row : block.pcSamples) {
        if (row.kernel >= sums_.kernelCount() || row.samples < 0 || row.unissued < 0 || row.end < row.start ||
            row.offset > std::numeric_limits<std::uint32_t>::max()) {
            ++wrong;
            continue;
        }
        const auto [reason, isNew] = reasons.try_emplace(row.reason, 0);
        if (isNew)
            reason->second = sums_.reasonOf(text(row.reason));
        sums_.add(row.kernel, row.offset, reason->second, row.samples, row.unissued, timestampAt(row.start),
                  timestampAt(row.end));
    }
    for (record::Cubin& cubin : block.cubins)
        sums_.addCode({.cubin = cubin.checksum, .code = std::move(cubin.code)});
    return wrong;
}

KernelSamples RecordedSamples::take(const std::string& kernels,
                                    const std::function<DeviceIndex(std::int32_t)>& device)
{
    KernelSamples all = sums_.take([&kernels](const SampledKernel& kernel) {
        return kernels.empty() || matches(kernels, kernel.name, kernel.symbol);
    });
    for (SampledKernel& kernel : all.kernels)
        kernel.device = device(kernel.device.value);
    return all;
}

} // namespace tilescope::exchange
