#include "core/engine/lm/lm.h"

#include "core/base/error.h"
#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/set_up.h"
#include "core/model/attention_backend.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
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
                    .remedy = "choose heads that divide it"};
    if (spec.dModel / spec.heads % 2 != 0)
        throw Error{.what = c10::str("a head dim of ", spec.dModel / spec.heads,
                                     " does not support rotary positions"),
                    .remedy = "choose d_model and heads with an even quotient"};
}

double deviationOf(const LinearMap& map)
{
    return std::sqrt(2.0 / static_cast<double>(map.in + map.out / map.packed));
}

std::optional<at::Generator> weightSource(at::Device device, std::int64_t seed)
{
    std::optional<at::Generator> generator;
    if (device.is_cpu())
        generator = at::detail::createCPUGenerator();
    else if (device.is_cuda())
        generator = at::cuda::detail::createCUDAGenerator(device.index());
    if (generator)
        generator->set_current_seed(static_cast<std::uint64_t>(seed));
    return generator;
}

EagerOps::EagerOps(const ExperimentSpec& spec, at::TensorOptions options, const AttentionSpec& attention,
                   at::ScalarType attentionType, Parallelism* parallelism)
    : batch_(spec.batch), parts_(gridOf(spec).tensor), heads_(spec.heads / parts_),
      splitsProducts_(spec.precision == Precision::Fp32x6), options_(options),
      weightSource_(weightSource(options.device(), spec.seed)), parallelism_(parallelism),
      attention_(makeAttention(spec.backend, attention, options.dtype(attentionType))),
      groupsHeads_(traitsOf(spec.backend).groupsHeads)
{
    requireRotatable(spec);
    const std::int64_t headDim = spec.dModel / spec.heads;
    const Making making(MemoryCategory::Inputs, "rotation");
    rotation_ = makeRotation(spec.batch, heads_, spec.context, headDim, spec.ropeTheta,
                             1 / std::sqrt(static_cast<double>(headDim)), options);
}

// Contiguous, because lookups read whole rows.
Tensor EagerOps::embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width)
{
    const Making making(MemoryCategory::Parameters, name);
    return placed(name, at::empty({rows, width}, options_).normal_(0, 1, weightSource_));
}

Tensor EagerOps::normWeight(const std::string& name, std::int64_t width)
{
    const Making making(MemoryCategory::Parameters, name);
    return placed(name, at::ones({width}, options_));
}

// (in, out), stored transposed: the product needs no transposed view, and the layout in memory equals
// torch.nn.Linear's.
Tensor EagerOps::linearWeight(const std::string& name, const LinearMap& map)
{
    const Making making(MemoryCategory::Parameters, name);
    const Tensor weight = at::empty_strided({map.in, map.out}, {1, map.in}, options_)
                              .normal_(0, deviationOf(map), weightSource_);
    return placed(name, weight, &map);
}

Tensor EagerOps::placed(const std::string& name, const Tensor& whole, const LinearMap* map)
{
    weightElements_ += whole.numel();
    whole.set_requires_grad(true);
    return parallelism_ ? parallelism_->placed(name, whole, map) : whole;
}

Tensor EagerOps::rmsNorm(const Tensor& x, const Tensor& weight) const
{
    return std::get<0>(at::_fused_rms_norm(x, weight.sizes(), weight, kNormEpsilon));
}

bool EagerOps::addsProducts() const
{
    return splitsProducts_ || at::autocast::is_autocast_enabled(options_.device().type());
}

void EagerOps::visitHeld(const HoldVisitor& visit) const
{
    visit(MemoryCategory::Inputs, "rotation", rotation_.forward);
    visit(MemoryCategory::Inputs, "rotation of gradients", rotation_.backward);
    attention_->visitHeld(visit);
}

EagerOps eagerOps(const ExperimentSpec& spec, const Device& device, Parallelism* parallelism)
{
    AttentionSpec attention = attentionOf(spec);
    attention.heads /= gridOf(spec).tensor;
    attention.kvHeads /= gridOf(spec).tensor;
    return {spec, at::device(device.torch()).dtype(at::kFloat), attention,
            autocastDtype(spec.precision).value_or(at::kFloat), parallelism};
}

} // namespace tilescope::engine
