#include "core/engine/lm/lm.h"

#include "core/base/error.h"
#include "core/engine/common/set_up.h"
#include "core/model/attention_backend.h"

#include <ATen/autocast_mode.h>
#include <c10/util/StringUtil.h>

#include <cmath>

namespace tilescope::engine {
namespace {

using at::Tensor;

} // namespace

void requireRotatable(const ExperimentSpec& spec)
{
    if (spec.dModel % spec.heads != 0)
        throw Error{.what = c10::str(spec.heads, " heads do not divide d_model ", spec.dModel),
                    .mend = "choose heads that divide it"};
    if (spec.dModel / spec.heads % 2 != 0)
        throw Error{.what = c10::str("a head dim of ", spec.dModel / spec.heads,
                                     " does not support rotary positions"),
                    .mend = "choose d_model and heads with an even quotient"};
}

double deviationOf(const LinearMap& map)
{
    return std::sqrt(2.0 / static_cast<double>(map.in + map.out / map.packed));
}

EagerOps::EagerOps(const ExperimentSpec& spec, at::TensorOptions options, const AttentionCall& attention)
    : batch_(spec.batch), heads_(spec.heads), options_(options),
      attention_(makeAttention(spec.backend, attention)), groupsHeads_(traitsOf(spec.backend).groupsHeads)
{
    requireRotatable(spec);
    const std::int64_t headDim = spec.dModel / spec.heads;
    const Making making(MemoryCategory::Inputs, "rotation");
    rotation_ = makeRotation(spec.batch, spec.heads, spec.context, headDim, spec.ropeTheta,
                             1 / std::sqrt(static_cast<double>(headDim)), options);
}

// Contiguous, because it is read by rows.
Tensor EagerOps::embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width) const
{
    const Making making(MemoryCategory::Parameters, name);
    return at::empty({rows, width}, options_).normal_(0, 1).set_requires_grad(true);
}

Tensor EagerOps::normWeight(const std::string& name, std::int64_t width) const
{
    const Making making(MemoryCategory::Parameters, name);
    return at::ones({width}, options_).set_requires_grad(true);
}

// (in, out), stored transposed: the product needs no transposed view, and the layout in memory equals
// torch.nn.Linear's.
Tensor EagerOps::linearWeight(const std::string& name, const LinearMap& map) const
{
    const Making making(MemoryCategory::Parameters, name);
    return at::empty_strided({map.in, map.out}, {1, map.in}, options_)
        .normal_(0, deviationOf(map))
        .set_requires_grad(true);
}

Tensor EagerOps::rmsNorm(const Tensor& x, const Tensor& weight) const
{
    return std::get<0>(at::_fused_rms_norm(x, weight.sizes(), weight, kNormEpsilon));
}

bool EagerOps::castsProducts() const
{
    return at::autocast::is_autocast_enabled(options_.device().type());
}

void EagerOps::visitHeld(const HoldVisitor& visit) const
{
    visit(MemoryCategory::Inputs, "rotation", rotation_.forward);
    visit(MemoryCategory::Inputs, "rotation of gradients", rotation_.backward);
    attention_->visitHeld(visit);
}

std::int64_t parameterCount(const LanguageModel& model)
{
    std::int64_t count = 0;
    for (const Tensor& parameter : model.parameters())
        count += parameter.numel();
    return count;
}

} // namespace tilescope::engine
