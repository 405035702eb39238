#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/inspection.h"
#include "core/model/element_type.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>

namespace tilescope::engine {
namespace {

using at::Tensor;

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kInputs = 20;
constexpr std::int64_t kHidden = 10;
constexpr std::int64_t kClasses = 5;
constexpr std::int64_t kNormWidth = 4096;

std::string nameOf(const Tensor& tensor)
{
    const char* const name = c10::toString(tensor.scalar_type());
    const ElementType* const type = findElementType(&ElementType::torch, name);
    return type && !type->precision.empty() ? std::string(type->precision) : name;
}

struct ToyModel {
    Tensor first, normWeight, normBias, second;

    explicit ToyModel(const at::TensorOptions& options)
        : first(at::randn({kHidden, kInputs}, options).mul_(0.1).set_requires_grad(true)),
          normWeight(at::ones({kHidden}, options).set_requires_grad(true)),
          normBias(at::zeros({kHidden}, options).set_requires_grad(true)),
          second(at::randn({kClasses, kHidden}, options).mul_(0.1).set_requires_grad(true))
    {
    }
};

void inspectStep(const Device& device, at::ScalarType type, const std::string& key,
                 std::vector<EnvironmentEntry>& facts)
{
    const auto options = at::device(device.torch()).dtype(at::kFloat);
    const ToyModel model(options);
    const Tensor x = at::randn({kBatch, kInputs}, options);
    const Tensor target = at::randint(kClasses, {kBatch}, options.dtype(at::kLong));
    const auto note = [&](const char* what, const Tensor& value) {
        facts.push_back({key + what, nameOf(value)});
    };
    note("parameters", model.first);
    Tensor loss;
    {
        const AutocastScope autocast(device.torch().type(), type);
        const Tensor hidden = at::relu(at::linear(x, model.first));
        note("first_layer", hidden);
        const Tensor normed = at::layer_norm(hidden, {kHidden}, model.normWeight, model.normBias);
        note("layer_norm", normed);
        const Tensor logits = at::linear(normed, model.second);
        note("logits", logits);
        loss = at::cross_entropy_loss(logits, target);
        note("loss", loss);
    }
    torch::autograd::backward({loss}, {});
    note("gradients", model.first.grad());
}

/// Maximum difference of a layer norm in one precision from that in fp64, over values far from 0, whose mean
/// and variance are rounded in low precision.
double normError(const Tensor& values, at::ScalarType type)
{
    const Tensor exact = at::layer_norm(values.to(at::kDouble), {kNormWidth});
    const Tensor low = values.to(type);
    // Written out by hand: every intermediate has that precision.
    const Tensor centred = low - low.mean(-1, true);
    const Tensor normed = centred / (centred.square().mean(-1, true) + 1e-5).sqrt();
    return (normed.to(at::kDouble) - exact).abs().max().item<double>();
}

} // namespace

std::vector<EnvironmentEntry> inspectDtypes(const Device& device)
{
    std::vector<EnvironmentEntry> facts;
    inspectStep(device, at::kHalf, "result.fp16.", facts);
    inspectStep(device, at::kBFloat16, "result.bf16.", facts);
    const Tensor values = at::randn({16, kNormWidth}, at::device(device.torch()).dtype(at::kFloat)).add_(8);
    facts.push_back({"result.norm.fp32", threeDigits(normError(values, at::kFloat))});
    facts.push_back({"result.norm.fp16", threeDigits(normError(values, at::kHalf))});
    facts.push_back({"result.norm.bf16", threeDigits(normError(values, at::kBFloat16))});
    return facts;
}

} // namespace tilescope::engine
