#include "core/engine/lm/generation_check.h"

#include "core/engine/lm/generation_ops.h"

#include <ATen/ATen.h>

#include <utility>

namespace tilescope::engine {
namespace {

using at::Tensor;

/// The spec of the reference: all positions at once, as the prompt.
ExperimentSpec referenceSpec(ExperimentSpec spec, const Tensor& sequences)
{
    spec.batch = sequences.size(0);
    spec.context = sequences.size(1);
    spec.newTokens = 1;
    spec.cache = CacheKind::Contiguous;
    spec.backend = Backend::Naive;
    spec.annotateAttention = false;
    return spec;
}

} // namespace

Tensor referenceLogits(const ExperimentSpec& spec, const Tensor& sequences)
{
    const at::NoGradGuard noGrad;
    const ExperimentSpec whole = referenceSpec(spec, sequences);
    GenerationOps ops(whole, at::device(sequences.device()).dtype(at::kDouble));
    ops.keepAllRows();
    ops.setPositions(0, whole.context);
    GenerationModel model(whole, std::move(ops));
    const Tensor logits = model.forward(sequences.reshape({-1}));
    return logits.view({whole.batch, whole.context, whole.vocab});
}

LogitError logitError(const ExperimentSpec& spec, const Tensor& logits, const Tensor& prompts,
                      const Tensor& made)
{
    const at::NoGradGuard noGrad;
    const std::int64_t tokens = made.size(1);
    // The last token is not read.
    const Tensor sequences = at::cat({prompts, made.narrow(1, 0, tokens - 1)}, 1);
    const Tensor reference =
        referenceLogits(spec, sequences).narrow(1, spec.context - 1, tokens).to(at::kCPU);
    const Tensor differences = at::amax(at::sub(logits.to(at::kCPU, at::kDouble), reference).abs(), {0, 2});

    LogitError error;
    error.largest = differences.max().item<double>();
    error.relative = error.largest / reference.abs().max().item<double>();
    for (std::int64_t i = 0; i < tokens; ++i)
        error.byToken.push_back(differences[i].item<double>());
    if (spec.sampling == Sampling::Seeded)
        return error;
    const auto [values, indices] = at::topk(reference, std::min<std::int64_t>(2, spec.vocab), -1);
    const Tensor isClear =
        at::gt(values.select(-1, 0) - values.select(-1, values.size(-1) - 1), 2 * error.largest);
    const Tensor differs = at::ne(indices.select(-1, 0), made.to(at::kCPU));
    error.wrongTokens = at::logical_and(isClear, differs).sum().item<std::int64_t>();
    return error;
}

} // namespace tilescope::engine
