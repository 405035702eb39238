#include "core/engine/lm/fused_generation_ops.h"

#include "core/engine/common/set_up.h"
#include "core/engine/lm/lm.h"
#include "core/model/generation.h"
#include "kernels/include/generation.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <tuple>

namespace tilescope::engine {
namespace {

template <class Signature> c10::TypedOperatorHandle<Signature> generationOp(const char* name)
{
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using SumAndNorm = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

SumAndNorm addRmsNorm(const at::Tensor& x, const std::optional<at::Tensor>& addend, const at::Tensor& weight,
                      at::ScalarType dtype)
{
    static const auto call =
        generationOp<SumAndNorm(const at::Tensor&, const std::optional<at::Tensor>&, const at::Tensor&,
                                double, at::ScalarType)>("tilescope::add_rms_norm");
    return call.call(x, addend, weight, kNormEpsilon, dtype);
}

} // namespace

const at::Tensor& GenerationValue::tensor() const
{
    if (!lazy)
        return data;
    if (!lazy->sum.defined()) {
        lazy->sum = at::add(lazy->x, lazy->addend);
        *lazy = {.x = {}, .addend = {}, .sum = lazy->sum};
    }
    return lazy->sum;
}

FusedGenerationOps::FusedGenerationOps(const ExperimentSpec& spec, at::TensorOptions options)
    : GenerationOps(spec, options, Rotating::InPlace), elements_(c10::typeMetaToScalarType(options.dtype())),
      sums_(elements_ == at::kDouble ? at::kDouble : at::kFloat)
{
}

FusedGenerationOps::Tensor FusedGenerationOps::normWeight(const std::string& name, std::int64_t width)
{
    const Making making(MemoryCategory::Parameters, name);
    return GenerationOps::normWeight(name, width).to(sums_);
}

FusedGenerationOps::Tensor FusedGenerationOps::embedding(const Tensor& weight, const Tensor& tokens) const
{
    return GenerationOps::embedding(weight.tensor(), tokens.tensor()).to(sums_);
}

FusedGenerationOps::Tensor FusedGenerationOps::rmsNorm(const Tensor& x, const Tensor& weight) const
{
    if (!x.lazy || x.lazy->sum.defined())
        return std::get<0>(addRmsNorm(x.tensor(), {}, weight.tensor(), elements_));
    auto [y, sum, reciprocal] = addRmsNorm(x.lazy->x, x.lazy->addend, weight.tensor(), elements_);
    *x.lazy = {.x = {}, .addend = {}, .sum = std::move(sum)};
    return y;
}

FusedGenerationOps::Tensor FusedGenerationOps::mm(const Tensor& x, const Tensor& weight) const
{
    const bool hasFewRows = x.tensor().size(0) <= kernels::kMostProductRows;
    return hasFewRows ? rowsProduct(x.tensor(), weight.tensor())
                      : GenerationOps::mm(x.tensor(), weight.tensor());
}

FusedGenerationOps::Tensor FusedGenerationOps::add(const Tensor& x, const Tensor& y) const
{
    return Tensor(
        std::make_shared<Tensor::LazySum>(Tensor::LazySum{.x = x.tensor(), .addend = y.tensor(), .sum = {}}));
}

TensorTriple<FusedGenerationOps::Tensor> FusedGenerationOps::splitHeads(const Tensor& qkv) const
{
    const TensorTriple<at::Tensor> heads = headsRotatedInPlace(qkv.tensor());
    return {heads[0], heads[1], heads[2]};
}

FusedGenerationOps::Tensor FusedGenerationOps::swiGlu(const Tensor& gateUp) const
{
    static const auto call = generationOp<at::Tensor(const at::Tensor&)>("tilescope::swiglu");
    return call.call(gateUp.tensor());
}

FusedGenerationOps::Tensor FusedGenerationOps::rowsOfHead(const Tensor& x) const
{
    return isOneRow() ? x : Tensor(GenerationOps::rowsOfHead(x.tensor()));
}

} // namespace tilescope::engine
