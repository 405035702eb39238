#include "core/engine/lm/eager_gradients.h"

#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

namespace tilescope::engine {
namespace {

/// Half the distance from 1 to the next larger number.
double unitRoundoff(Precision precision)
{
    switch (precision) {
    case Precision::Fp8:
        return 0x1p-4;
    case Precision::Bf16:
        return 0x1p-8;
    case Precision::Fp16:
    case Precision::Tf32:
        return 0x1p-11;
    case Precision::Fp32:
    case Precision::Fp32x6:
        break;
    }
    return 0x1p-24;
}

} // namespace

EagerGradients eagerGradients(const ExperimentSpec& spec, const Device& device, LanguageModel& model,
                              const TokenBatch& batch, const at::Tensor& gradient)
{
    const bool hasBackward = spec.mode != Mode::Forward;
    const at::AutoGradMode grad(hasBackward);
    at::Tensor output;
    {
        const AutocastScope autocast(device.torch().type(), autocastDtype(spec.precision));
        output = model.forward(batch.tokens());
        if (hasBackward)
            output = spec.loss == LossKind::CrossEntropy ? at::cross_entropy_loss(output, batch.targets())
                                                         : at::sum(output);
    }
    if (!hasBackward)
        return {.output = output, .gradients = {}};
    return {.output = output.detach(),
            .gradients = torch::autograd::grad({output}, model.parameters(), {gradient})};
}

double relativeDifference(const at::Tensor& a, const at::Tensor& b)
{
    const double difference = at::linalg_vector_norm(a.to(at::kFloat) - b.to(at::kFloat)).item<double>();
    const double size = at::linalg_vector_norm(b.to(at::kFloat)).item<double>();
    return difference == 0 ? 0 : difference / size;
}

double roundingBound(const ExperimentSpec& spec)
{
    constexpr double kDeviations = 4;
    constexpr double kRoundingsOfLayer = 30;
    const double roundings = kRoundingsOfLayer * static_cast<double>(spec.layers + 1);
    const auto terms =
        static_cast<double>(std::max({2 * spec.dFf, 3 * spec.dModel, spec.vocab, spec.batch * spec.context}));
    return kDeviations * (unitRoundoff(spec.precision) * std::sqrt(roundings) +
                          unitRoundoff(Precision::Fp32) * std::sqrt(roundings * terms));
}

} // namespace tilescope::engine
