#include "core/engine/lm/token_batch.h"

#include "core/engine/common/set_up.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace tilescope::engine {

TokenBatch::TokenBatch(const ExperimentSpec& spec, at::Device device, int mine, int batches)
    : batch_(spec.batch), context_(spec.context), vocab_(spec.vocab), mine_(mine), batches_(batches),
      source_(at::detail::createCPUGenerator(static_cast<std::uint64_t>(spec.seed)))
{
    constexpr auto kInput = MemoryCategory::Inputs;
    {
        // One more token than the context, because the targets are the inputs shifted by one.
        const Making making(kInput, "tokens on the host");
        host_ = at::empty({batch_, context_ + 1}, at::kLong);
    }
    {
        const Making making(kInput, "tokens");
        tokens_ = at::empty({batch_ * context_}, at::device(device).dtype(at::kLong));
    }
    const Making making(kInput, "targets");
    targets_ = at::empty_like(tokens_);
    if (spec.data == TokenData::Markov)
        chain_.emplace(vocab_, source_);
}

void TokenBatch::refresh()
{
    // Together, the ranks have the tokens of one process with all batches: each rank draws all batches and
    // keeps its own.
    for (int batch = 0; batch < batches_; ++batch) {
        if (chain_)
            chain_->draw(host_, source_);
        else
            host_.random_(0, vocab_, source_);
        if (batch == mine_)
            take();
    }
}

void TokenBatch::take()
{
    tokens_.view({batch_, context_}).copy_(host_.narrow(1, 0, context_));
    targets_.view({batch_, context_}).copy_(host_.narrow(1, 1, context_));
}

void TokenBatch::visitHeld(const HoldVisitor& visit) const
{
    visit(MemoryCategory::Inputs, "tokens", tokens_);
    visit(MemoryCategory::Inputs, "targets", targets_);
    visit(MemoryCategory::Inputs, "tokens on the host", host_);
}

std::vector<EnvironmentEntry> TokenBatch::facts() const
{
    if (!chain_)
        return {};
    return {{"result.entropy", std::to_string(MarkovChain::entropy(vocab_)), "nat"}};
}

} // namespace tilescope::engine
