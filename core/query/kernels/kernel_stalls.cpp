#include "core/query/kernels/kernel_stalls.h"

#include "core/analysis/kernels/stall_reasons.h"
#include "core/store/kernel_sample_reader.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tilescope::query {

std::map<std::string, KernelStall> kernelStalls(const store::RunReader& reader, RunId run)
{
    struct Sums {
        std::int64_t samples = 0;
        std::int64_t unissued = 0;
        std::map<std::uint32_t, std::int64_t> empty;                          ///< by reason
        std::map<std::pair<std::uint32_t, SourceLine>, std::int64_t> emptyAt; ///< by reason and line
    };
    const KernelSamples samples = store::kernelSamples(reader.file(), run, false);
    std::map<std::string, Sums> kernels;
    for (const StallSamples& each : samples.stalls) {
        const SampledInstruction& instruction = samples.instructions[each.instruction];
        Sums& sums = kernels[samples.kernels[instruction.kernel].name];
        sums.samples += each.samples;
        sums.unissued += each.unissued;
        if (!analysis::stallReason(samples.reasons[each.reason]).isStall)
            continue;
        const SourceLine& line = instruction.caller.line > 0 ? instruction.caller : instruction.line;
        sums.empty[each.reason] += each.unissued;
        sums.emptyAt[{each.reason, line}] += each.unissued;
    }
    std::map<std::string, KernelStall> stalls;
    for (const auto& [kernel, sums] : kernels) {
        if (sums.empty.empty() || sums.samples == 0)
            continue;
        const auto [reason, empty] =
            *std::ranges::max_element(sums.empty, {}, &std::pair<const std::uint32_t, std::int64_t>::second);
        KernelStall stall{.reason = samples.reasons[reason],
                          .share = static_cast<double>(empty) / static_cast<double>(sums.samples),
                          .issued =
                              1 - static_cast<double>(sums.unissued) / static_cast<double>(sums.samples)};
        std::int64_t most = 0;
        for (const auto& [place, count] : sums.emptyAt)
            if (place.first == reason && count > most) {
                stall.line = place.second;
                most = count;
            }
        stalls.emplace(kernel, std::move(stall));
    }
    return stalls;
}

} // namespace tilescope::query
