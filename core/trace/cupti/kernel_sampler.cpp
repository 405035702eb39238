#include "core/trace/cupti/kernel_sampler.h"

#include "core/base/plural.h"
#include "core/model/kernel_sample_sums.h"
#include "core/trace/assembly/graph_description.h"
#include "core/trace/cupti/cupti_session.h"
#include "core/trace/cupti/pc_sampler.h"

#include <optional>
#include <utility>

namespace tilescope::trace {

KernelSampler::KernelSampler(CuptiApi& api) : api_(api)
{
    const std::optional<PcSamplingApi> functions = api.pcSampling(refusal_);
    if (!functions)
        return;
    // Ranks have a GPU each, so that no other process samples this one's.
    sampler_ = std::make_unique<PcSampler>(*functions, std::filesystem::path(), PcSampler::MayBegin());
    watch_ = std::make_unique<CuptiSession>(api, 1, std::size_t{1} << 16);
    refusal_ = watch_->watchContexts(*sampler_);
    if (!refusal_.empty()) {
        watch_.reset();
        sampler_.reset();
    }
}

KernelSampler::~KernelSampler()
{
    endWatch();
}

void KernelSampler::endWatch()
{
    watch_.reset();
}

void KernelSampler::start()
{
    if (!sampler_)
        return;
    if (CUcontext context = api_.currentContext())
        sampler_->contextCreated(context);
    sampler_->setOn(true);
}

void KernelSampler::stop()
{
    if (sampler_)
        sampler_->stop();
}

KernelSampler::Result KernelSampler::take()
{
    Result result{.trouble = refusal_};
    if (sampler_) {
        const PcSamplerCounts counts = sampler_->counts();
        PcSamples sampled = sampler_->take();
        KernelSampleSums sums;
        for (PcKernel& kernel : sampled.kernels) {
            std::string name = demangled(kernel.symbol.c_str());
            sums.addKernel({.device = DeviceIndex{static_cast<std::int16_t>(kernel.device)},
                            .name = std::move(name),
                            .symbol = std::move(kernel.symbol),
                            .cubin = kernel.cubin});
        }
        std::vector<std::uint32_t> reasons;
        for (const std::string& reason : sampler_->reasons())
            reasons.push_back(sums.reasonOf(reason));
        for (const PcCount& count : sampled.counts)
            sums.add(count.kernel, count.offset, reasons[count.reason],
                     static_cast<std::int64_t>(count.samples), static_cast<std::int64_t>(count.unissued),
                     count.start, count.end);
        for (auto& [checksum, code] : sampled.cubins)
            sums.addCode({.cubin = checksum, .code = std::move(code)});
        result.samples = sums.take();
        result.trouble = sampler_->trouble();
        const auto missing = static_cast<std::int64_t>(counts.dropped);
        if (result.trouble.empty() && missing > 0)
            result.trouble = "the hardware dropped " + counted(missing, "sample");
        if (result.trouble.empty() && counts.full + counts.failed > 0)
            result.trouble = counted(static_cast<std::int64_t>(counts.full + counts.failed), "reading") +
                             " of the samples failed";
        if (const std::uint32_t period = sampler_->period(); period > 0)
            result.facts.push_back({kInsideCycles, std::to_string(std::uint64_t{1} << period)});
        result.facts.push_back({kInsideOthers, std::to_string(counts.others)});
    }
    if (!result.trouble.empty())
        result.facts.push_back({"record.inside", result.trouble});
    return result;
}

} // namespace tilescope::trace
