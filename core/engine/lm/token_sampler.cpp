#include "core/engine/lm/token_sampler.h"

#include "core/engine/common/set_up.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr const char* kHost = "random numbers on the host";
constexpr const char* kDevice = "random numbers";

} // namespace

TokenSampler::TokenSampler(const ExperimentSpec& spec, at::Device device)
    : isSeeded_(spec.sampling == Sampling::Seeded), seed_(spec.seed), lastToken_(spec.vocab - 1),
      source_(at::detail::createCPUGenerator(static_cast<std::uint64_t>(spec.seed)))
{
    if (!isSeeded_)
        return;
    {
        const Making making(MemoryCategory::Inputs, kHost);
        host_ = at::empty({spec.batch, 1}, at::kFloat);
    }
    const Making making(MemoryCategory::Inputs, kDevice);
    uniform_ = at::empty({spec.batch, 1}, at::device(device).dtype(at::kFloat));
}

void TokenSampler::restart()
{
    source_.set_current_seed(static_cast<std::uint64_t>(seed_));
}

void TokenSampler::draw()
{
    if (isSeeded_)
        uniform_.copy_(host_.uniform_(0, 1, source_));
}

void TokenSampler::choose(const Tensor& logits, Tensor& next)
{
    if (!isSeeded_) {
        at::argmax_out(next, logits, -1);
        return;
    }
    // The first token whose cumulative probability exceeds the random number. Rounding may leave the sum below 1.
    const Tensor cumulative = at::cumsum(at::softmax(logits, -1, at::kFloat), -1);
    next.copy_(at::searchsorted(cumulative, uniform_, /*out_int32=*/false, /*right=*/true)
                   .view({-1})
                   .clamp_max_(lastToken_));
}

void TokenSampler::visitHeld(const HoldVisitor& visit) const
{
    visit(MemoryCategory::Inputs, kHost, host_);
    visit(MemoryCategory::Inputs, kDevice, uniform_);
}

} // namespace tilescope::engine
